"""What differs between platforms, one object per platform: target grammar, peer kinds, threads, From/To, limits.

A *target* is the text by which an agent, an operator or an API client names where a message goes, e.g. ``channel:C1``.
`read` parses it into a `ParsedTarget`, `place` adds the thread, and `write` is the inverse: for every place that an
inbound message can come from, reading the written form gives the same place (invariant S1). `ChannelRules` itself is
the generic rule set, for platforms without a module of their own. The rules are those of the default profile; where
upstream differs, its rule stands beside ours.
"""

from __future__ import annotations

import functools
import re
import unicodedata

import msgspec

from trunkline.core.errors import AmbiguousTarget, TargetError
from trunkline.core.profiles import Profile
from trunkline.core.values import Address, Capabilities, ChatKind, Chunker

#: words before a colon that say what kind of conversation follows, in any case
KIND_WORDS: dict[str, ChatKind] = {
    "user": ChatKind.DIRECT,
    "dm": ChatKind.DIRECT,
    "group": ChatKind.GROUP,
    "room": ChatKind.GROUP,
    "channel": ChatKind.CHANNEL,
    "conversation": ChatKind.CHANNEL,
    "thread": ChatKind.CHANNEL,
}
#: the account where none is named
DEFAULT_ACCOUNT = "default"
_INTERNAL = "webchat"
#: how texts are cut on platforms without a file: the chunker, and the usual length of a chunk
_CHUNKS = {
    "googlechat": (Chunker.MARKDOWN, 4000),
    "line": (Chunker.MARKDOWN, 5000),
    "twitch": (Chunker.TEXT, 500),
}
#: Unicode categories that no id has: control characters, halves of characters, line and paragraph ends
_UNREADABLE = ("Cc", "Cs", "Zl", "Zp")


def given(text: str | None) -> str | None:
    """An id without spaces around, or none when nothing is left."""
    return (text or "").strip() or None


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a target besides its text."""

    #: what a directory says that it is
    kind: ChatKind | None = None
    #: ids that the configuration lists as multi-person direct messages
    group_dms: frozenset[str] = frozenset()
    #: ids that the configuration lists as channels
    rooms: frozenset[str] = frozenset()
    profile: Profile = Profile.TRUNKLINE


class ParsedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What a target names."""

    #: kind of the conversation, as session keys have it
    kind: ChatKind
    #: the platform's own id, byte for byte
    id: str
    #: a thread or topic that the text itself names
    thread: str | None = None
    #: kind as chat types have it, where it differs from `kind`
    chat_type: ChatKind | None = None
    #: the text from which `to` is made, where the id alone does not tell
    form: str = ""
    #: how the text was understood, for people: ``a user, by the prefix user:``
    understood: str


class OutboundPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A target with its thread: where a message goes, and how it is written down."""

    conversation: str
    thread: str | None = None
    parent: str | None = None
    #: the thread as the session key has it: word and id
    key_thread: tuple[str, str] | None = None
    #: upstream: the thread is part of the peer (a forum topic), not a suffix, so the base key has it too
    in_peer: bool = False
    #: the peer as reports name it; a Telegram topic is part of it
    peer: str
    #: the thread as reports name it
    thread_id: str | int | None = None
    #: From: who an inbound message of this place would be from
    sender: str
    #: To: the place, as a target
    to: str


class CurrentConversation(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation that an agent works in while it sends: where an unnamed thread may be inherited from."""

    #: as an inbound message names it, e.g. ``C1`` or ``telegram:-100``
    conversation: str | None = None
    thread: str | None = None
    #: ``off``, ``first`` or ``all``: which answers go to threads
    reply_mode: str = "off"
    #: the turn has answered already
    has_replied: bool = False


class TargetText(msgspec.Struct, frozen=True, kw_only=True):
    """A place as text: a target, and the thread that goes with it."""

    target: str
    thread: str | None = None


class InboundPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where an inbound message is, made of the platform's own facts by the `read_inbound` of a channel's file."""

    address: Address
    #: it answers in a thread that was there before it
    is_thread_reply: bool = False
    #: the message that an answer hangs on: the root of the thread, else the message itself
    reply_to: str | None = None
    #: the thread that an answer goes to
    message_thread: str | None = None
    #: a thread's new session starts from that of its room
    inherits_parent: bool = False
    #: see `trunkline.core.values.Envelope.threaded`
    threaded: bool = True
    #: upstream: where no binding claims it, the direct conversation is keyed by account, channel and peer
    isolates: bool = False


@functools.lru_cache(maxsize=128)
def _in_front(names: tuple[str, ...], repeat: bool) -> re.Pattern[str]:
    """The platform's names in front of a target."""
    words = "|".join(re.escape(name) for name in names)
    once = rf"(?:{words}):\s*"
    return re.compile(rf"\A(?:{once})+" if repeat else rf"\A{once}", re.IGNORECASE)


class ChannelRules:
    """The rules of one platform. Subclasses override what is particular; this is the generic rule set."""

    #: platform name, lower case
    channel: str = ""
    #: names before a colon that mean this platform, besides `channel`
    prefixes: tuple[str, ...] = ()
    #: accepted forms of a target, for error messages
    forms: tuple[str, ...] = ("user:ID", "group:ID", "channel:ID", "ID (a user)")
    #: ids that differ only in case are different conversations
    case_sensitive: bool = True
    #: word for a thread in a key: ``thread`` or ``topic``
    thread_word: str = "thread"
    #: conversations have threads that are places of their own
    has_threads: bool = False
    #: a thread opened on a message has the message's id, so its address is known before it exists
    thread_id_is_message_id: bool = False
    #: a thread is a conversation of its own with a parent, not a part of its room
    thread_is_conversation: bool = False
    #: what the real platform offers; an adapter may state less
    capabilities: Capabilities = Capabilities()
    #: how texts are cut, unless the adapter says otherwise
    chunker: Chunker = Chunker.TEXT
    #: usual length of a chunk, in UTF-16 code units, where the platform takes more; none: as much as it takes
    chunk_limit: int | None = None
    #: empty lines before a text are not sent
    strips_leading_blank_lines: bool = False
    #: the gateway's own web chat, whose texts are cut only where they get too long
    internal: bool = False

    def __init__(self, channel: str | None = None) -> None:
        if channel is not None:
            self.channel = channel
            self.internal = channel == _INTERNAL
            self.chunker, self.chunk_limit = _CHUNKS.get(channel, (self.chunker, self.chunk_limit))
            # Whether an unknown platform has threads is for its adapter to know: one that is named is one.
            self.has_threads = True

    @property
    def generic(self) -> bool:
        """Whether these are the rules of platforms without a file."""
        return type(self) is ChannelRules

    @property
    def text_limit(self) -> int:
        """Longest text of one message."""
        return self.capabilities.text_limit

    # ------------------------------------------------------------ ids and keys

    def fold(self, kind: ChatKind, id: str, profile: Profile = Profile.TRUNKLINE) -> str:  # noqa: A002 -- the word
        """An id as session keys have it: folded where case means nothing. Upstream folds everywhere."""
        return id.lower() if profile.upstream or not self.case_sensitive else id

    def key_thread(self, address: Address, profile: Profile = Profile.TRUNKLINE) -> tuple[str, str] | None:
        """The thread of a place as its session key has it."""
        if address.thread is None:
            return None
        return self.thread_word, self.fold(address.kind, address.thread, profile)

    def key_account(self, account: str, profile: Profile) -> str:
        """The account that the key of an outbound message has."""
        # Upstream (March) forgets the account on platforms without a resolver of their own, and falls back.
        forgets = profile.upstream and not profile.august and self.generic
        return DEFAULT_ACCOUNT if forgets else account

    def thread_on(self, place: Address, message_id: str) -> Address:
        """The thread that is opened on a message; only where `thread_id_is_message_id`."""
        if self.thread_is_conversation:
            return msgspec.structs.replace(place, conversation=message_id, parent=place.conversation)
        return msgspec.structs.replace(place, thread=message_id)

    # ------------------------------------------------------------ targets

    def read(self, text: str, hints: Hints) -> ParsedTarget:
        """What a target names. Raises `TargetError`, or `AmbiguousTarget` where more must be said."""
        march = hints.profile.upstream and not hints.profile.august
        word, bare = self.kind_word(self.strip(self.clean(text)), _MARCH_WORDS if march else tuple(KIND_WORDS))
        # Upstream (March) takes the kind from the directory only, so that ``room:Lobby`` is a person.
        kind = hints.kind or (None if march else KIND_WORDS.get(word))
        how = "as a directory says" if hints.kind else f"by the prefix {word}:" if kind else "for want of a prefix"
        return self.target(kind or ChatKind.DIRECT, bare, text, how)

    def place(self, target: ParsedTarget, thread: str | None, reply_to: str | None, profile: Profile) -> OutboundPlace:
        """Where a target with a thread is. Threads and replies are left out where the platform has none."""
        # Upstream knows of no threads on platforms without a resolver of their own.
        threads = self.has_threads and not (profile.upstream and self.generic)
        own = (target.thread or thread) if threads else None
        return OutboundPlace(
            conversation=target.id,
            thread=own,
            key_thread=None if own is None else (self.thread_word, self.fold(target.kind, own, profile)),
            peer=target.id,
            thread_id=own,
            sender=self.sender(target),
            to=self.to(target, profile),
        )

    def inherit(self, target: ParsedTarget, current: CurrentConversation) -> str | None:
        """The thread that a send without one inherits from the conversation that the agent works in."""
        return None

    def write(self, address: Address) -> TargetText:
        """A place as a target that `read` and `place` bring back."""
        target = ParsedTarget(kind=address.kind, id=address.conversation, understood="written")
        return TargetText(target=self.to(target, Profile.TRUNKLINE), thread=address.thread)

    def sender(self, target: ParsedTarget) -> str:
        """From: who an inbound message of this conversation would be from."""
        kind = "" if target.kind is ChatKind.DIRECT else f"{target.kind.value}:"
        return f"{self.channel}:{kind}{target.id}"

    def to(self, target: ParsedTarget, profile: Profile) -> str:
        """To: the conversation, as a target."""
        if target.kind is ChatKind.DIRECT:
            return f"user:{target.id}"
        # Upstream calls groups channels too.
        return f"{ChatKind.CHANNEL.value if profile.upstream else target.kind.value}:{target.id}"

    # ------------------------------------------------------------ helpers for reading

    def clean(self, text: str) -> str:
        """The text without spaces around. Raises `TargetError` for a blank one and for control characters."""
        trimmed = text.strip()
        if not trimmed:
            raise self.wrong(text, "it is empty")
        # What is printable is soon known to have none.
        if not trimmed.isprintable() and any(unicodedata.category(char) in _UNREADABLE for char in trimmed):
            raise self.wrong(text, "it has control characters")
        return trimmed

    def strip(self, text: str, *, repeat: bool = False) -> str:
        """The text without the platform's name in front (any case), once or as often as it is there."""
        if ":" not in text:
            return text
        return _in_front((self.channel, *self.prefixes), repeat).sub("", text, count=1)

    def kind_word(self, text: str, words: tuple[str, ...] = tuple(KIND_WORDS)) -> tuple[str, str]:
        """The kind word in front (any case) and the rest; an empty word when there is none."""
        word, colon, rest = text.partition(":")
        if colon and word.lower() in words:
            return word.lower(), rest.strip()
        return "", text

    def target(self, kind: ChatKind, id: str, text: str, how: str) -> ParsedTarget:  # noqa: A002 -- the word
        """A target with an id. Raises `TargetError` for an empty one."""
        if not id.strip():
            raise self.wrong(text, f"it was understood as a {_WORDS[kind]} ({how}), and there is no id")
        return ParsedTarget(kind=kind, id=id.strip(), understood=f"a {_WORDS[kind]}, {how}")

    def wrong(self, text: str, why: str) -> TargetError:
        """The error for a target that cannot be read: what was understood, and which forms are accepted."""
        return TargetError(f"{text!r} on {self.channel}: {why}. Accepted: {', '.join(self.forms)}")

    def ambiguous(self, text: str, why: str) -> AmbiguousTarget:
        """The error for a target that can mean several things."""
        return AmbiguousTarget(f"{text!r} on {self.channel}: {why}. Accepted: {', '.join(self.forms)}")


#: upstream (March): the kind words that are cut off
_MARCH_WORDS = ("user", "channel", "group", "conversation", "room", "dm")
_WORDS = {ChatKind.DIRECT: "user", ChatKind.GROUP: "group", ChatKind.CHANNEL: "channel"}
