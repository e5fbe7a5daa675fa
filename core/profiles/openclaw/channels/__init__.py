"""How OpenClaw names conversations: subclasses of our rules of channels, with only what differs."""

from trunkline.core.channels import ChannelRulebook
from trunkline.core.channels.rules import WEB_CHAT
from trunkline.core.profiles.openclaw.channels.apple import OpenClawBlueBubbles, OpenClawIMessage
from trunkline.core.profiles.openclaw.channels.base import (
    AugustAnyChannel,
    AugustRules,
    OpenClawAnyChannel,
    OpenClawRules,
)
from trunkline.core.profiles.openclaw.channels.discord import OpenClawDiscord
from trunkline.core.profiles.openclaw.channels.matrix import AugustMatrix, OpenClawMatrix
from trunkline.core.profiles.openclaw.channels.msteams import OpenClawMsTeams
from trunkline.core.profiles.openclaw.channels.others import (
    AugustGoogleChat,
    OpenClawFeishu,
    OpenClawGoogleChat,
    OpenClawMattermost,
    OpenClawNextcloudTalk,
    OpenClawNostr,
    OpenClawTlon,
    OpenClawVoice,
    OpenClawZalo,
    OpenClawZaloPersonal,
)
from trunkline.core.profiles.openclaw.channels.signal import AugustSignal, OpenClawSignal
from trunkline.core.profiles.openclaw.channels.slack import AugustSlack, OpenClawSlack
from trunkline.core.profiles.openclaw.channels.telegram import AugustTelegram, OpenClawTelegram
from trunkline.core.profiles.openclaw.channels.whatsapp import OpenClawWhatsApp

_MARCH = (
    OpenClawAnyChannel,
    OpenClawBlueBubbles,
    OpenClawDiscord,
    OpenClawFeishu,
    OpenClawGoogleChat,
    OpenClawIMessage,
    OpenClawMatrix,
    OpenClawMattermost,
    OpenClawMsTeams,
    OpenClawNextcloudTalk,
    OpenClawNostr,
    OpenClawSignal,
    OpenClawSlack,
    OpenClawTelegram,
    OpenClawTlon,
    OpenClawVoice,
    OpenClawWhatsApp,
    OpenClawZalo,
    OpenClawZaloPersonal,
)
_AUGUST = (AugustAnyChannel, AugustGoogleChat, AugustMatrix, AugustSignal, AugustSlack, AugustTelegram)
MARCH_CHANNELS = ChannelRulebook(*_MARCH, base=OpenClawRules, mute=(WEB_CHAT,))
AUGUST_CHANNELS = ChannelRulebook(*_MARCH, *_AUGUST, base=AugustRules, mute=(WEB_CHAT,))
