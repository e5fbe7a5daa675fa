"""Keys in the ``openclaw`` form from the context of an inbound message.

What upstream files a message under when it knows no more than where it came from. Our own sessions come from addresses
(`trunkline.core.routing`).
"""

import re

import msgspec

from tests.conformance.upstream.key_store import GLOBAL
from tests.support.profiles import fold_key, keeps_case
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import CHANNELS, DEFAULT_AGENT, DEFAULT_MAIN_KEY, fold, main_text
from trunkline.core.values import ChatKind

_JID = "@g.us"
_GROUPS = {"group": ChatKind.GROUP, "channel": ChatKind.CHANNEL}
_OLD_DM = re.compile(r"\A((?:agent:[^:]+:)?discord:)dm:")
_DISCORD_CHANNEL = re.compile(r"((?:agent:[^:]+:)?discord:)channel:([^:]+)")


class MessageContext(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an inbound message."""

    #: From, e.g. ``slack:channel:C1``
    sender: str = ""
    #: ``direct`` (or ``dm``), ``group`` or ``channel``
    chat_type: str = ""
    #: the platform
    provider: str = ""
    #: the person's own id
    sender_id: str = ""
    #: the key that the message itself asks for
    session_key: str = ""


class GroupOfContext(msgspec.Struct, frozen=True, kw_only=True):
    """The group that a message came from."""

    channel: str
    kind: ChatKind
    id: str

    @property
    def key(self) -> str:
        """The part of a key after the agent."""
        return f"{self.channel}:{self.kind.value}:{self.id}"


def explicit_key(text: str, context: MessageContext, profile: Profile = Profile.OPENCLAW) -> str:
    """A key that a message asks for, folded.

    On Discord a direct message's key is given its present form: ``dm`` becomes ``direct``, and a channel whose id is
    the sender's becomes the conversation with the sender.
    """
    folded = fold_key(text, profile)
    if fold(context.chat_type) not in ("direct", "dm"):
        return folded
    folded = _OLD_DM.sub(r"\1direct:", folded)
    channel = _DISCORD_CHANNEL.fullmatch(folded)
    if channel is None or channel[2] != _discord_sender(context):
        return folded
    return f"{channel[1]}direct:{channel[2]}"


def _discord_sender(context: MessageContext) -> str:
    """The id of the person, or nothing."""
    sender = fold(context.sender)
    if ":channel:" in sender or ":group:" in sender or not sender.startswith("discord:"):
        sender = ""
    return fold(context.sender_id) or sender.removeprefix("discord:")


def group_of_context(context: MessageContext, profile: Profile = Profile.OPENCLAW) -> GroupOfContext | None:
    """The group of a message, or none. From names it only behind the name of a platform; else all of From is the id."""
    sender, told = context.sender.strip(), _GROUPS.get(fold(context.chat_type))
    jid = sender.lower().endswith(_JID)
    if told is None and not jid and ":group:" not in sender and ":channel:" not in sender:
        return None
    parts = [part for part in sender.split(":") if part]
    head = fold(parts[0]) if parts else ""
    known = head in CHANNELS
    channel = head if known else fold(context.provider) or ("whatsapp" if jid else "")
    named = _GROUPS.get(fold(parts[1])) if len(parts) > 1 else None
    kind = named or (ChatKind.CHANNEL if told is ChatKind.CHANNEL or ":channel:" in sender else ChatKind.GROUP)
    id = ":".join(parts[2 if named else 1 :]) if known else sender  # noqa: A001 -- the word
    id = id.strip() if keeps_case(channel, kind, profile) else fold(id)  # noqa: A001
    return GroupOfContext(channel=channel, kind=kind, id=id) if channel and id else None


def context_key(
    context: MessageContext,
    main_key: str = DEFAULT_MAIN_KEY,
    *,
    shared: bool = False,
    profile: Profile = Profile.OPENCLAW,
) -> str:
    """The key that a message is filed under: the one it asks for, its group's, else the main session.

    `shared`: all conversations share one global session.
    """
    if context.session_key.strip():
        return explicit_key(context.session_key, context, profile)
    if shared:
        return GLOBAL
    group = group_of_context(context, profile)
    return main_text(DEFAULT_AGENT, main_key) if group is None else f"agent:{DEFAULT_AGENT}:{group.key}"
