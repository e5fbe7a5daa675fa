"""How OpenClaw reads targets on each platform, and its two rulebooks of channels: only what differs from our rules."""

import re

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.channels import ChannelRulebook
from trunkline.core.channels.platforms.bluebubbles import BlueBubbles
from trunkline.core.channels.platforms.discord import Discord
from trunkline.core.channels.platforms.feishu import Feishu
from trunkline.core.channels.platforms.googlechat import GoogleChat
from trunkline.core.channels.platforms.imessage import IMessage
from trunkline.core.channels.platforms.imessage_common import APPLE_ACTIONS, CHAT_WORDS, SERVICES, without_services
from trunkline.core.channels.platforms.matrix import Matrix
from trunkline.core.channels.platforms.mattermost import Mattermost
from trunkline.core.channels.platforms.msteams import CHANNEL, MsTeams
from trunkline.core.channels.platforms.nextcloud_talk import NextcloudTalk
from trunkline.core.channels.platforms.nostr import Nostr
from trunkline.core.channels.platforms.signal import WORDS as SIGNAL_WORDS
from trunkline.core.channels.platforms.signal import Signal
from trunkline.core.channels.platforms.slack import MENTION, Slack, capitals
from trunkline.core.channels.platforms.telegram import NUMBER, PREFIXES, SHORT_TOPIC, TOPIC, Telegram, direct_topic
from trunkline.core.channels.platforms.tlon import Tlon
from trunkline.core.channels.platforms.voice import Voice
from trunkline.core.channels.platforms.whatsapp import GROUP, WhatsApp
from trunkline.core.channels.platforms.zalo import Zalo
from trunkline.core.channels.platforms.zalouser import ZaloPersonal
from trunkline.core.channels.rules import WEB_CHAT, Hints, OutboundPlace, ParsedTarget, given
from trunkline.core.profiles.openclaw.channels import base
from trunkline.core.values import Address, ChatKind

_NUMBER = re.compile(r"[+-]?[0-9]+")
_CHATS = ("chat_id", "chat_guid", "chat_identifier")
_USER_MENTION = re.compile(r"<@!?([0-9]+)>")
_DIGITS = re.compile(r"[0-9]+")
_DISCORD_WORDS = {"user": ChatKind.DIRECT, "discord": ChatKind.DIRECT, "channel": ChatKind.CHANNEL}
_FEISHU_WORDS = {"group": ChatKind.GROUP, "chat": ChatKind.GROUP, "user": ChatKind.DIRECT, "dm": ChatKind.DIRECT}
#: hexadecimal digits and dashes with at least one letter
_LIKE_UUID = re.compile(r"(?=.*[a-f])-*[0-9a-f][0-9a-f-]*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9]+")
_SLACK_WORDS = {"user": ChatKind.DIRECT, "slack": ChatKind.DIRECT, "channel": ChatKind.CHANNEL}
#: a link to somebody's or something's page
_LINK = re.compile(r"(?:https?://)?t\.me/([A-Za-z0-9_]+)/?", re.IGNORECASE)
_SIGNED = re.compile(r"-?[0-9]+")
_SCOPED = re.compile(r"-?[0-9]+:(-?[0-9]{1,18})")
_PERSON = re.compile(r"([0-9]+)(?:(?::[0-9]+)?@s\.whatsapp\.net|@lid)", re.IGNORECASE)


class OpenClawIMessage(base.Folding, IMessage, base.OpenClawRules):
    """The rules of iMessage. The bridge only sends."""

    lacks = frozenset(APPLE_ACTIONS) - {Action.SEND}

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Every chat is a group; any other text is a mail address or a phone number, perhaps only ``+``."""
        service, rest = self.kind_word(self.clean(text), SERVICES)
        word, value = self.kind_word(rest, tuple(CHAT_WORDS))
        if word:
            form = CHAT_WORDS[word]
            if form == "chat_id":
                # What follows the number is dropped.
                number = _NUMBER.match(value)
                value = str(int(number[0])) if number else ""
            found = self.target(ChatKind.GROUP, value, text, f"by the prefix {word}:")
            return msgspec.structs.replace(found, form=form)
        handle = without_services(rest)
        if not handle:
            raise self.wrong(text, f"it was understood as a handle (by the prefix {service}:), but there is none")
        return self.target(ChatKind.DIRECT, handle.lower() if "@" in handle else base.phone(handle), text, "by handle")

    def to(self, target: ParsedTarget) -> str:
        return f"{target.form}:{target.id}" if target.form else super().to(target)


class OpenClawBlueBubbles(base.Folding, BlueBubbles, base.OpenClawRules):
    """The rules of BlueBubbles."""

    lacks = frozenset({Action.UPLOAD_FILE})
    lenient = base.STRICT

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Each word has one spelling, handles are left unchanged, and To keeps the words."""
        bare = self.strip(self.clean(text))
        word, _ = self.kind_word(bare, (*_CHATS, "group"))
        if word:
            _, id = self.kind_word(bare, base.WORDS)  # noqa: A001 -- the word
            _, id = self.kind_word(id, _CHATS)  # noqa: A001
            found = self.target(ChatKind.GROUP, id, text, f"by the prefix {word}:")
        else:
            _, id = self.kind_word(bare, SERVICES)  # noqa: A001
            found = self.target(ChatKind.DIRECT, id, text, "by default")
        return msgspec.structs.replace(found, form=bare)

    def sender(self, target: ParsedTarget) -> str:
        """From, for groups without the platform's name."""
        return f"group:{target.id}" if target.form and target.kind is ChatKind.GROUP else super().sender(target)

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.form}" if target.form else super().to(target)


class OpenClawDiscord(Discord, base.OpenClawRules):
    """The rules of Discord."""

    lacks = frozenset({Action.REPLY, Action.SEND_ATTACHMENT, Action.UPLOAD_FILE})
    lenient = {  # noqa: RUF012 -- read only, like every table
        **base.OpenClawRules.lenient,
        Action.TIMEOUT: "durationMin|until",
        Action.SET_PRESENCE: "status|activityName|activityState",
    }

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Prefixes are case-sensitive, and anything but digits is a channel."""
        trimmed = self.clean(text)
        if mention := _USER_MENTION.fullmatch(trimmed):
            return self.target(ChatKind.DIRECT, mention[1], text, "by the mention")
        word, _, rest = trimmed.partition(":")
        if word in _DISCORD_WORDS and rest.strip():
            return self.target(_DISCORD_WORDS[word], rest, text, f"by the prefix {word}:")
        if trimmed.startswith("@"):
            if not _DIGITS.fullmatch(trimmed[1:].strip()):
                raise self.wrong(text, "expected an id after @")
            return self.target(ChatKind.DIRECT, trimmed[1:], text, "by the sign @")
        return self.bare(trimmed, text, hints)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """Channel and thread are reported separately, and keys contain the channel."""
        named = given(thread)
        own = named if target.kind is ChatKind.CHANNEL and named != target.id else None
        return base.KeyedPlace(
            conversation=own or target.id,
            parent=target.id if own else None,
            peer=target.id,
            thread_id=named,
            sender=self.sender(target),
            to=self.to(target),
        )


class OpenClawMatrix(base.Threadless, Matrix, base.OpenClawRules):
    """The rules of Matrix. March has no threads here."""

    lacks = frozenset(Matrix.actions) - {Action.SEND}

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Any text is an id, and a room unless a sign, a word or a directory says user."""
        stripped = self.strip(self.clean(text))
        word, id = self.kind_word(stripped, base.WORDS)  # noqa: A001 -- the word
        direct = hints.kind is ChatKind.DIRECT or word == "user" or stripped.startswith("@")
        how = f"by the prefix {word}:" if word else "according to a directory" if hints.kind else "by its sign"
        return self.target(ChatKind.DIRECT if direct else ChatKind.CHANNEL, id, text, how)

    def to(self, target: ParsedTarget) -> str:
        """To. Users are called rooms."""
        return f"room:{target.id}"


class AugustMatrix(OpenClawMatrix, base.AugustRules):
    """In August room ids keep their case, and there are threads; a reply starts one too."""

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower() if kind is ChatKind.DIRECT else id

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return Matrix.place(self, target, given(reply_to) or given(thread), None)


class OpenClawMsTeams(base.Threadless, MsTeams, base.OpenClawRules):
    """The rules of Microsoft Teams."""

    lacks = base.FORMS | {Action.EDIT, Action.DELETE}

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower() or "unknown"

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        return None

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Only ``user:`` is a user; what follows a semicolon is dropped."""
        word, rest = self.kind_word(self.strip(self.clean(text)), base.WORDS)
        if not rest:
            raise self.wrong(text, "there is no id")
        id = rest.partition(";")[0]  # noqa: A001 -- the word
        kind = ChatKind.CHANNEL if CHANNEL.search(id) else ChatKind.GROUP
        kind = ChatKind.DIRECT if word == "user" else kind
        return ParsedTarget(kind=kind, id=id, understood=f"a {kind.value} conversation, by word and id")

    def to(self, target: ParsedTarget) -> str:
        return super().to(target) if target.kind is ChatKind.DIRECT else f"conversation:{target.id}"


class OpenClawFeishu(Feishu, base.OpenClawRules):
    """The rules of Feishu."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A chat is a user unless a kind word says group."""
        bare = self.clean(text)
        for name in (self.channel, *self.prefixes):
            bare = self.kind_word(bare, (name,))[1]
        word, id = self.kind_word(bare, tuple(_FEISHU_WORDS))  # noqa: A001 -- the word
        how = f"by the prefix {word}:" if word else "by default"
        return self.target(_FEISHU_WORDS.get(word, ChatKind.DIRECT), id, text, how)

    def to(self, target: ParsedTarget) -> str:
        return target.id


class OpenClawGoogleChat(base.Folding, GoogleChat, base.OpenClawRules):
    """The rules of Google Chat, for which there is no resolver."""

    unknown = base.OpenClawAnyChannel("googlechat")

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        return base.OpenClawRules.key_thread(self, address)

    def key_account(self, account: str) -> str:
        return self.unknown.key_account(account)

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        return self.unknown.read(text, hints)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return self.unknown.place(target, thread, reply_to)


class AugustGoogleChat(OpenClawGoogleChat):
    """In August too there is no resolver."""

    unknown = base.AugustAnyChannel("googlechat")


class OpenClawMattermost(Mattermost, base.OpenClawRules):
    """The rules of Mattermost."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """The directory decides first; else all but users are channels, even ``dm:`` and ``group:``."""
        stripped = self.strip(self.clean(text))
        named = stripped.startswith("@") or stripped.lower().startswith("user:")
        direct = named if hints.kind is None else hints.kind is ChatKind.DIRECT
        bare = stripped[1:].strip() if stripped.startswith("@") else stripped
        word, id = self.kind_word(bare, base.WORDS)  # noqa: A001 -- the word
        how = "according to a directory" if hints.kind else f"by the prefix {word}:" if word else "by its sign"
        return self.target(ChatKind.DIRECT if direct else ChatKind.CHANNEL, id, text, how)


class OpenClawNextcloudTalk(NextcloudTalk, base.OpenClawRules):
    """The rules of Nextcloud Talk: every room is a group."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        _, token = self.kind_word(self.strip(self.clean(text)), ("room",))
        return self.target(ChatKind.GROUP, token, text, "by default")

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.id}"


class OpenClawNostr(base.Folding, Nostr, base.OpenClawRules):
    """The rules of Nostr: any text is a person, and two spellings of a key are two."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        return self.target(ChatKind.DIRECT, self.strip(self.clean(text)), text, "by default")


class OpenClawTlon(Tlon, base.OpenClawRules):
    """The rules of Tlon."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Any two parts are a nest, and any one part is a ship; the id after a word may be empty."""
        bare = self.strip(self.clean(text))
        if not bare:
            raise self.wrong(text, "there is nothing after the name of the platform")
        word, id = self.kind_word(bare, ("dm", "group", "room"))  # noqa: A001 -- the word
        group, parts = word in ("group", "room"), [part for part in id.split("/") if part]
        if word == "dm" or (not group and "/" not in id):
            kind, id = ChatKind.DIRECT, _tilde(id)  # noqa: A001
        elif id.startswith("chat/") or (not group and id.lower().startswith("chat/")):
            kind = ChatKind.GROUP
        elif len(parts) == 2:
            kind, id = ChatKind.GROUP, f"chat/{_tilde(parts[0])}/{parts[1]}"  # noqa: A001
        else:
            kind = ChatKind.GROUP if group else ChatKind.DIRECT
        return ParsedTarget(kind=kind, id=id, understood=f"a {kind.value} conversation, by the form of the text")


def _tilde(ship: str) -> str:
    """Any text with ``~`` in front."""
    return ship if not ship or ship.startswith("~") else f"~{ship}"


class OpenClawVoice(base.Threadless, Voice, base.OpenClawRules):
    """The rules of voice calls: a send names none."""


class OpenClawZalo(Zalo, base.OpenClawRules):
    """The rules of Zalo. To does not distinguish groups from users."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Only ``group:`` is a group; other kind words are stripped. The id may be empty."""
        bare = self.clean(text)
        # One name after another, so that `zl:zalo:` leaves `zalo:`.
        for name in (self.channel, *self.prefixes):
            bare = self.kind_word(bare, (name,))[1]
        if not bare:
            raise self.wrong(text, "there is nothing after the name of the platform")
        word, id = self.kind_word(bare, base.WORDS)  # noqa: A001 -- the word
        kind = ChatKind.GROUP if word == "group" else ChatKind.DIRECT
        return ParsedTarget(kind=kind, id=id, understood=f"a {kind.value} conversation, by the prefix {word}:")

    def to(self, target: ParsedTarget) -> str:
        return f"{self.channel}:{target.id}"


class OpenClawZaloPersonal(ZaloPersonal, OpenClawZalo):
    """The rules of Zalo Personal."""


class OpenClawSignal(base.Folding, Signal, base.OpenClawRules):
    """The rules of Signal."""

    lacks = base.FORMS | {Action.EDIT, Action.DELETE}
    lenient = base.STRICT

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """All but groups and UUIDs are phone numbers, even usernames."""
        word, id = self.kind_word(self.strip(self.clean(text)), ("group", "username", "u"))  # noqa: A001 -- the word
        if word == "group":
            found = self.target(ChatKind.GROUP, id, text, "by the prefix group:")
            return msgspec.structs.replace(found, form=f"group:{found.id}")
        if not id:
            raise self.wrong(text, "there is no recipient")
        _, id = self.kind_word(id, ("uuid",))  # noqa: A001
        if _LIKE_UUID.fullmatch(id):
            found = self.target(ChatKind.DIRECT, f"uuid:{id}", text, "by UUID")
            return msgspec.structs.replace(found, form=f"signal:{id}")
        found = self.target(ChatKind.DIRECT, base.phone(id), text, "by the digits in it, as a phone number")
        return msgspec.structs.replace(found, form=f"signal:{found.id}")

    def comparable(self, text: str) -> str:
        """Usernames and UUIDs stay what they are here."""
        word, id = self.kind_word(self.strip(text.strip()), SIGNAL_WORDS)  # noqa: A001 -- the word
        shown = {"username": "username:", "u": "username:", "group": "group:"}.get(word, "")
        return f"{shown}{id.strip()}".lower()

    def sender(self, target: ParsedTarget) -> str:
        """From, for groups without the platform's name, and for UUIDs without their prefix."""
        return target.form or super().sender(target)


class AugustSignal(OpenClawSignal, base.AugustRules):
    """In August ids of groups keep their case."""

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        return id.lower() if kind is ChatKind.DIRECT else id


class OpenClawSlack(Slack, base.OpenClawRules):
    """The rules of Slack."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Prefixes are case-sensitive, and anything else is a channel."""
        trimmed = self.clean(text)
        if (mention := MENTION.fullmatch(trimmed)) and mention[2] is None:
            return self.target(ChatKind.DIRECT, mention[1], text, "by the mention")
        word, _, rest = trimmed.partition(":")
        if word in _SLACK_WORDS and rest.strip():
            kind, id, how = _SLACK_WORDS[word], rest.strip(), f"by the prefix {word}:"  # noqa: A001 -- the word
        elif trimmed[0] in "@#":
            kind = ChatKind.DIRECT if trimmed[0] == "@" else ChatKind.CHANNEL
            id, how = trimmed[1:].strip(), f"by the sign {trimmed[0]}"  # noqa: A001
            if not _WORD.fullmatch(id):
                raise self.wrong(text, f"expected an id ({how}), but {id!r} is none")
        else:
            kind, id, how = ChatKind.CHANNEL, trimmed, "by default"  # noqa: A001
        if kind is ChatKind.CHANNEL and id[0] in "Gg" and id.upper() in capitals(hints.group_dms):
            found = self.target(ChatKind.GROUP, id, text, "by configuration")
            # Its chat is still called a channel.
            return msgspec.structs.replace(found, chat_type=ChatKind.CHANNEL)
        return self.target(kind, id, text, how)


class AugustSlack(OpenClawSlack, base.AugustRules):
    """In August a conversation with one user must be named by the user, and a reply goes before a thread."""

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        found = super().read(text, hints)
        if found.kind is ChatKind.CHANNEL and found.id[0] in "Dd":
            raise self.wrong(text, "it names a conversation with an unknown user")
        return found

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        return super().place(target, given(reply_to) or given(thread), None)


class OpenClawTelegram(Telegram, base.OpenClawRules):
    """The rules of Telegram."""

    lacks = base.FORMS | {Action.PIN, Action.UNPIN}

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        """The topic of a private chat is a thread whose id includes the chat."""
        if address.thread is None or address.kind is not ChatKind.DIRECT:
            return super().key_thread(address)
        return "thread", f"{address.parent or address.conversation}:{address.thread}"

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Any text is a chat; if it is not a number, it is a user unless a directory says otherwise."""
        stripped = PREFIXES.sub("", self.clean(text), count=1)
        topic = TOPIC.fullmatch(stripped) or SHORT_TOPIC.fullmatch(stripped)
        chat = (topic[1] if topic else stripped).strip()
        kind, how = ChatKind.DIRECT, "by default"
        if _SIGNED.fullmatch(chat):
            kind, how = (ChatKind.GROUP if chat.startswith("-") else ChatKind.DIRECT), "by its sign"
        elif hints.kind is not None:
            kind, how = (hints.kind if hints.kind is ChatKind.DIRECT else ChatKind.GROUP), "according to a directory"
        found = self.target(kind, chat, text, how)
        return msgspec.structs.replace(found, thread=str(_number(topic[2])) if topic else None)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> base.KeyedPlace:
        """The topic of a private chat is a suffix of its key; keys omit 0 and what is not a number."""
        number = _number(thread if target.thread is None else target.thread)
        tail = f":topic:{number}" if number else ""
        group = target.kind is ChatKind.GROUP
        return base.KeyedPlace(
            conversation=target.id,
            thread=str(number) if number else None,
            key_thread=None if not number else ("topic" if group else "thread", str(number)),
            in_peer=group,
            peer=target.id + (tail if group else ""),
            thread_id=number,
            sender=f"telegram:{'group:' if group else ''}{target.id}{tail}",
            to=f"telegram:{target.id}",
        )

    def comparable(self, text: str) -> str:
        """A link counts as the name in it."""
        link = _LINK.fullmatch(PREFIXES.sub("", text.strip(), count=1))
        return super().comparable(f"@{link[1]}" if link else text)


class AugustTelegram(OpenClawTelegram, base.AugustRules):
    """In August the key of a private chat's topic has the chat, as that of inbound messages, and To has the topic."""

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> base.KeyedPlace:
        placed = super().place(target, thread, reply_to)
        if placed.thread is None:
            return placed
        own = placed.key_thread if placed.in_peer else ("thread", f"{target.id}:{placed.thread}")
        return msgspec.structs.replace(placed, key_thread=own, to=f"{placed.to}:topic:{placed.thread}")


def _number(thread: str | None) -> int | str | None:
    """The number of a thread, alone or after its chat; the topic of a channel's direct messages keeps its name."""
    text = given(thread) or ""
    if direct_topic(text) is not None:
        return text
    scoped = _SCOPED.fullmatch(text)
    number = scoped[1] if scoped else text
    return int(number) if NUMBER.fullmatch(number) else None


class OpenClawWhatsApp(base.Folding, WhatsApp, base.OpenClawRules):
    """The rules of WhatsApp."""

    lacks = base.FORMS | {Action.EDIT, Action.DELETE}

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """A person is always a phone number, and any digits are one; other addresses have no route."""
        bare = self.strip(self.clean(text), repeat=True)
        if group := GROUP.fullmatch(bare):
            return ParsedTarget(kind=ChatKind.GROUP, id=f"{group[1]}@g.us", understood="a group, by its JID")
        if person := _PERSON.fullmatch(bare):
            return ParsedTarget(kind=ChatKind.DIRECT, id=f"+{person[1]}", understood="a user, by the digits of a JID")
        number = base.phone(bare)
        if "@" in bare or number == "+":
            raise self.wrong(text, "it is an address of another domain, or has no digits")
        return ParsedTarget(kind=ChatKind.DIRECT, id=number, understood="a user, by phone number")


_MARCH = (
    *(
        base.OpenClawAnyChannel,
        OpenClawBlueBubbles,
        OpenClawDiscord,
        OpenClawFeishu,
        OpenClawGoogleChat,
        OpenClawIMessage,
    ),
    *(OpenClawMatrix, OpenClawMattermost, OpenClawMsTeams, OpenClawNextcloudTalk, OpenClawNostr, OpenClawSignal),
    *(OpenClawSlack, OpenClawTelegram, OpenClawTlon, OpenClawVoice, OpenClawWhatsApp, OpenClawZalo),
    OpenClawZaloPersonal,
)
_AUGUST = (base.AugustAnyChannel, AugustGoogleChat, AugustMatrix, AugustSignal, AugustSlack, AugustTelegram)
MARCH_CHANNELS = ChannelRulebook(*_MARCH, base=base.OpenClawRules, mute=(WEB_CHAT,))
AUGUST_CHANNELS = ChannelRulebook(*_MARCH, *_AUGUST, base=base.AugustRules, mute=(WEB_CHAT,))
