"""Rules of a platform, one object each: target grammar, peer kinds, threads, From/To, limits.

A *target* is the text by which an agent, an operator or an API client names where a message goes, e.g. ``channel:C1``.
`read` parses it into a `ParsedTarget`, `place` adds the thread, and `write` is the inverse: for every place that an
inbound message can come from, reading the written form gives the same place (invariant S1). `ChannelRules` itself is
the generic rule set, for platforms without a module of their own. A profile with other rules has subclasses of these
(`trunkline.core.channels.registry.ChannelRulebook`).
"""

import functools
import re
import unicodedata

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.channels.channel_actions import USUAL_ACTIONS, ActionTable, ChannelAction, PollFeatures
from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker

#: words before a colon that state the kind of conversation, in any case
KIND_WORDS: dict[str, ChatKind] = {
    "user": ChatKind.DIRECT,
    "dm": ChatKind.DIRECT,
    "group": ChatKind.GROUP,
    "room": ChatKind.GROUP,
    "channel": ChatKind.CHANNEL,
    "conversation": ChatKind.CHANNEL,
    "thread": ChatKind.CHANNEL,
}
#: the account to use if none is named
DEFAULT_ACCOUNT = "default"
#: the gateway's own web chat, a channel where an account serves it
WEB_CHAT = "webchat"
#: chunker and usual chunk length of platforms without a module
_CHUNKS = {"line": (Chunker.MARKDOWN, 5000), "twitch": (Chunker.TEXT, 500)}
#: Unicode categories that no id has: control characters, surrogates, line and paragraph separators
_UNREADABLE = ("Cc", "Cs", "Zl", "Zp")


def given(text: str | None) -> str | None:
    """An id without surrounding spaces; None if nothing is left."""
    return (text or "").strip() or None


class Hints(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Facts about a target besides the text."""

    #: its kind according to a directory
    kind: ChatKind | None = None
    #: ids that the configuration lists as multi-person direct messages
    group_dms: frozenset[str] = frozenset()
    #: ids that the configuration lists as channels
    rooms: frozenset[str] = frozenset()


class ParsedTarget(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    #: kind of the conversation in session keys
    kind: ChatKind
    #: the platform's own id, byte for byte
    id: str
    #: thread or topic named in the text
    thread: str | None = None
    #: kind of the conversation in session entries, if it differs from `kind`
    chat_type: ChatKind | None = None
    #: the text for `to`, if the id alone is not enough
    form: str = ""
    #: explanation for people: ``a user, by the prefix user:``
    understood: str


class OutboundPlace(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    conversation: str
    thread: str | None = None
    parent: str | None = None
    #: the peer in reports, including a Telegram topic
    peer: str
    #: the thread in reports
    thread_id: str | int | None = None
    #: From of an inbound message of this place
    sender: str
    #: To of a message to this place, as a target
    to: str


class CurrentConversation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The conversation that an agent works in while it sends; a send may inherit its thread."""

    #: its id in an inbound message, e.g. ``C1`` or ``telegram:-100``
    conversation: str | None = None
    thread: str | None = None
    #: ``off``, ``first`` or ``all``: which answers go to threads
    reply_mode: str = "off"
    #: whether the turn has already answered
    has_replied: bool = False


class TargetText(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    target: str
    thread: str | None = None


class InboundPlace(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The place of an inbound message, from the platform's own facts; see `read_inbound` of a channel's module."""

    address: Address
    #: whether it is a reply in an existing thread
    is_thread_reply: bool = False
    #: the message that an answer replies to: the root of the thread, else the message itself
    reply_to: str | None = None
    message_thread: str | None = None
    #: whether a thread's new session starts with the transcript of its room
    inherits_parent: bool = False
    #: see `trunkline.core.values.Envelope.threaded`
    threaded: bool = True


@functools.lru_cache(maxsize=128)
def _in_front(names: tuple[str, ...], repeat: bool) -> re.Pattern[str]:
    """A pattern for the platform's names before a target."""
    words = "|".join(re.escape(name) for name in names)
    once = rf"(?:{words}):\s*"
    return re.compile(rf"\A(?:{once})+" if repeat else rf"\A{once}", re.IGNORECASE)


class ChannelRules:
    """The rules of one platform. Subclasses override the differences; this is the generic rule set."""

    #: platform name, lower case
    channel: str = ""
    #: other names of the platform before a colon, besides `channel`
    prefixes: tuple[str, ...] = ()
    #: accepted forms of a target, for error messages
    forms: tuple[str, ...] = ("user:ID", "group:ID", "channel:ID", "ID (a user)")
    #: whether ids that differ only in case are different conversations
    case_sensitive: bool = True
    #: the word for a thread in session keys: ``thread`` or ``topic``
    thread_word: str = "thread"
    #: whether conversations have threads that are separate places
    has_threads: bool = False
    #: whether a thread opened on a message has the message's id, so that its address is known in advance
    thread_id_is_message_id: bool = False
    #: whether a thread is a conversation of its own with a parent, not a part of its room
    thread_is_conversation: bool = False
    #: capabilities of the real platform; an adapter may have fewer
    capabilities: Capabilities = Capabilities()
    #: how texts are split, unless the adapter says otherwise
    chunker: Chunker = Chunker.TEXT
    #: usual chunk length, in UTF-16 code units, if below the platform's limit; None: the platform's limit
    chunk_limit: int | None = None
    #: whether empty lines before a text are dropped
    strips_leading_whitespace: bool = False
    #: whether the spaces before the first word are kept then
    keeps_indent: bool = False
    #: the actions of the message tool on it
    actions: ActionTable = USUAL_ACTIONS
    #: what its messages can have besides text and files
    features: frozenset[Feature] = frozenset()
    polls: PollFeatures = PollFeatures(hours=True)
    #: the error for an action that it has not
    unsupported: str = "Message action {action} not supported for channel {channel}."
    #: whether it is the gateway's own web chat, whose texts are split only where they get too long
    internal: bool = False

    def __init__(self, channel: str | None = None) -> None:
        if channel is not None:
            self.channel = channel
            self.internal = channel == WEB_CHAT
            self.chunker, self.chunk_limit = _CHUNKS.get(channel, (self.chunker, self.chunk_limit))
            # An unknown platform may have threads; if a send names one, it is used.
            self.has_threads = True

    @property
    def generic(self) -> bool:
        return type(self) is ChannelRules

    @property
    def gates(self) -> tuple[str, ...]:
        """The switches of its actions in the configuration, sorted by name."""
        gates = {gate for entry in self.actions.values() for gate in (entry.gate, entry.of_others)}
        return tuple(sorted(gate for gate in gates if gate is not None))

    @property
    def without_table(self) -> bool:
        """Whether nothing is known of its actions but what its adapters can do."""
        return self.actions is USUAL_ACTIONS

    @property
    def text_limit(self) -> int:
        """Maximum length of one message, in UTF-16 code units."""
        return self.capabilities.text_limit

    def action(self, which: Action) -> ChannelAction | None:
        """The platform's support for an action of the message tool; None if it has none."""
        return self.actions.get(which)

    def fold(self, kind: ChatKind, id: str) -> str:  # noqa: A002 -- the word
        """The form of an id in session keys: lower case where case is insignificant."""
        return id if self.case_sensitive else id.lower()

    def key_thread(self, address: Address) -> tuple[str, str] | None:
        return None if address.thread is None else (self.thread_word, self.fold(address.kind, address.thread))

    def thread_on(self, place: Address, message_id: str) -> Address:
        """The address of the thread opened on a message; requires `thread_id_is_message_id`."""
        if self.thread_is_conversation:
            return msgspec.structs.replace(place, conversation=message_id, parent=place.conversation)
        return msgspec.structs.replace(place, thread=message_id)

    def room_above(self, thread: Address) -> Address:
        """The conversation that a thread belongs to: where the message of `thread_on` is."""
        if not self.thread_is_conversation:
            return msgspec.structs.replace(thread, thread=None)
        return msgspec.structs.replace(thread, conversation=thread.parent or thread.conversation, parent=None)

    def unusable_reference(self, action: Action, place: Address, message_id: str, *, author: bool) -> str | None:
        """What the platform lacks in order to find the message that an action means; None if nothing.

        `author`: whether it is known who wrote the message.
        """
        return None

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """Parse a target. Raises `TargetError`, or `AmbiguousTarget` if the text is not specific enough."""
        word, bare = self.kind_word(self.strip(self.clean(text)))
        kind = hints.kind or KIND_WORDS.get(word)
        how = "according to a directory" if hints.kind else f"by the prefix {word}:" if kind else "by default"
        return self.target(kind or ChatKind.DIRECT, bare, text, how)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None) -> OutboundPlace:
        """The place of a target with a thread. Threads and replies are ignored if the platform has none."""
        own = (target.thread or thread) if self.has_threads else None
        return OutboundPlace(
            conversation=target.id,
            thread=own,
            peer=target.id,
            thread_id=own,
            sender=self.sender(target),
            to=self.to(target),
        )

    def inherit(self, target: ParsedTarget, current: CurrentConversation) -> str | None:
        """The thread that a send without one inherits from the current conversation."""
        return None

    def write(self, address: Address) -> TargetText:
        """A place as text; `read` and `place` are the inverse."""
        target = ParsedTarget(kind=address.kind, id=address.conversation, understood="written")
        return TargetText(target=self.to(target), thread=address.thread)

    def target_by_alias(self, name: str, value: str) -> str:
        """The target that another parameter of an action names, e.g. `chatId`."""
        return value

    def sender(self, target: ParsedTarget) -> str:
        """From of an inbound message of this conversation."""
        kind = "" if target.kind is ChatKind.DIRECT else f"{target.kind.value}:"
        return f"{self.channel}:{kind}{target.id}"

    def to(self, target: ParsedTarget) -> str:
        """To: the conversation as a target."""
        return f"{'user' if target.kind is ChatKind.DIRECT else target.kind.value}:{target.id}"

    def clean(self, text: str) -> str:
        """The text without surrounding spaces. Raises `TargetError` if it is blank or has control characters."""
        trimmed = text.strip()
        if not trimmed:
            raise self.wrong(text, "it is empty")
        # The cheap check first.
        if not trimmed.isprintable() and any(unicodedata.category(char) in _UNREADABLE for char in trimmed):
            raise self.wrong(text, "it has control characters")
        return trimmed

    def strip(self, text: str, *, repeat: bool = False) -> str:
        """The text without the platform's name before it (any case), once or repeatedly."""
        if ":" not in text:
            return text
        return _in_front((self.channel, *self.prefixes), repeat).sub("", text, count=1)

    def kind_word(self, text: str, words: tuple[str, ...] = tuple(KIND_WORDS)) -> tuple[str, str]:
        """The kind word before the text (any case) and the rest; an empty word if there is none."""
        word, colon, rest = text.partition(":")
        if colon and word.lower() in words:
            return word.lower(), rest.strip()
        return "", text

    def target(self, kind: ChatKind, id: str, text: str, how: str) -> ParsedTarget:  # noqa: A002 -- the word
        """A parsed target. Raises `TargetError` for an empty id."""
        if not id.strip():
            raise self.wrong(text, f"it was understood as a {_WORDS[kind]} ({how}), but there is no id")
        return ParsedTarget(kind=kind, id=id.strip(), understood=f"a {_WORDS[kind]}, {how}")

    def wrong(self, text: str, why: str) -> TargetError:
        """The error for an invalid target, with the accepted forms."""
        return TargetError(f"{text!r} on {self.channel}: {why}. Accepted: {', '.join(self.forms)}")

    def ambiguous(self, text: str, why: str) -> AmbiguousTarget:
        """The error for an ambiguous target, with the accepted forms."""
        return AmbiguousTarget(f"{text!r} on {self.channel}: {why}. Accepted: {', '.join(self.forms)}")


_WORDS = {ChatKind.DIRECT: "user", ChatKind.GROUP: "group", ChatKind.CHANNEL: "channel"}
