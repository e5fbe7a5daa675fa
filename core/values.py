"""Frozen values that the whole gateway speaks in: addresses, peers, envelopes, requests, receipts.

All of them are `msgspec.Struct`s: immutable, hashable, keyword-only, and readable as JSON. Identifiers on the
wire keep the platform's own bytes; folding and encoding belong to session keys only (`core.keys`, DESIGN section 4).
"""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

InboundId = NewType("InboundId", str)
TurnId = NewType("TurnId", str)
IntentId = NewType("IntentId", str)
DelegationId = NewType("DelegationId", str)
SessionId = NewType("SessionId", str)


class ChatKind(StrEnum):
    """What a conversation is to its members."""

    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"


class Address(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One place on one platform, seen through one account: where a message came from or goes to.

    `conversation` and `thread` are the platform's own ids, byte for byte. A Telegram topic is a `thread` of its
    group. A Discord thread is a conversation of its own whose `parent` is the channel it hangs under.
    """

    #: platform name, lower case, e.g. ``discord``
    channel: str
    #: which of the gateway's accounts (bots) on that platform
    account: str
    kind: ChatKind
    conversation: str
    thread: str | None = None
    parent: str | None = None

    @property
    def lane(self) -> tuple[str, str, str, str]:
        """The unit of strict FIFO delivery: channel, account, conversation, thread (``""`` when none)."""
        return (self.channel, self.account, self.conversation, self.thread or "")

    def __str__(self) -> str:
        """Readable form for reports: ``discord:default/123/7``."""
        tail = f"/{self.thread}" if self.thread else ""
        return f"{self.channel}:{self.account}/{self.conversation}{tail}"


class Peer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Who speaks: the platform's id and a display name."""

    id: str
    name: str = ""


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Somebody else than the bot who speaks for the gateway: a webhook, under a name of its own. No secrets."""

    #: the platform's id of it
    id: str
    #: what people see
    name: str

    def __str__(self) -> str:
        """Readable form for events and reports."""
        return f"webhook {self.id} as {self.name}"


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One inbound message as an adapter hands it over, before any decision."""

    address: Address
    peer: Peer
    #: the platform's message id; may change on replay where `Capabilities.stable_ids` is false
    message_id: str
    text: str
    #: the platform's create time, seconds
    sent_at: float
    reply_to: str | None = None
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()
    #: `address.thread` is a thread or topic of the conversation. False: only the id of a chain of replies, which the
    #: platform puts on messages of conversations that have no threads, and refuses in sends (B090)
    threaded: bool = True
    #: a bot or a webhook wrote it, no person
    bot: bool = False
    #: id of the webhook that wrote it
    webhook: str | None = None
    #: the message that this one stands for: a proxy has taken that one away and posted this instead (B136)
    stands_for: str | None = None
    #: seq of the event that brought it, from adapters that write to the gateway's own log
    cause: int | None = None


class WorkKind(StrEnum):
    """Why a turn runs."""

    #: a peer spoke
    MESSAGE = "message"
    #: a hand that the agent delegated to has ended (seed 004)
    CALLBACK = "callback"
    #: a schedule or an operator woke the agent: there is no place to answer to
    WAKE = "wake"
    #: a peer gave the gateway itself a command, e.g. ``/focus``: no agent works on it
    CONTROL = "control"


class IntentKind(StrEnum):
    """Which path of the gateway wants to say something."""

    #: the final text of a turn
    REPLY = "reply"
    #: the message tool, during a turn
    TOOL = "tool"
    #: a hand's result posted as it is, without a turn of the requester
    ANNOUNCE = "announce"
    #: a send that a client of the gateway asked for, outside of any turn
    SEND = "send"
    #: a short word of the gateway itself that something could not be said where it belongs
    NOTICE = "notice"


class IntentState(StrEnum):
    """Where an intent stands; the transitions are the table in `trunkline.core.delivery.states`."""

    #: hooks and chunking are done and committed; nothing was sent
    PREPARED = "prepared"
    #: an attempt on a chunk may be on the wire
    SENDING = "sending"
    #: every chunk has a durable receipt
    DELIVERED = "delivered"
    #: some chunks have a receipt, the others will not be sent
    PARTIAL = "partial"
    #: the platform refused for good
    FAILED = "failed"
    #: attempts used up
    DEAD = "dead"
    #: too old to be sent
    EXPIRED = "expired"
    #: withdrawn before anything was sent
    CANCELLED = "cancelled"
    #: it may or may not have been accepted, and nobody can tell: parked for a person
    UNKNOWN = "unknown"
    #: accepted, and the receipt shows another place than the one that was asked for
    MISPLACED = "misplaced"


class Idempotency(StrEnum):
    """What an adapter can do about a send whose response was lost (DESIGN section 5.3)."""

    #: the platform refuses a second send with the same key
    KEY = "key"
    #: recent sends can be looked up by key
    LOOKUP = "lookup"
    #: neither: an ambiguous send stays ambiguous
    NONE = "none"


class Capability(StrEnum):
    """One thing that an adapter can send or do (seed 003)."""

    TEXT = "text"
    MEDIA = "media"
    POLL = "poll"
    #: something that only this platform knows, as JSON
    PAYLOAD = "payload"
    EDIT = "edit"
    REACTIONS = "reactions"
    THREADS = "threads"
    #: a receipt names the message; without it an answer that names none is a receipt too
    MESSAGE_IDS = "message-ids"


class Transport(StrEnum):
    """By which way a chunk goes to its platform."""

    DIRECT = "direct"
    GATEWAY = "gateway"


class DeliveryMode(StrEnum):
    """Which transports an adapter has (seed 003)."""

    DIRECT = "direct"
    GATEWAY = "gateway"
    #: direct; by the gateway path only what provably did not reach the platform on the direct one
    HYBRID = "hybrid"

    @property
    def first(self) -> Transport:
        """The transport that is tried first."""
        return Transport.GATEWAY if self is DeliveryMode.GATEWAY else Transport.DIRECT


class Chunker(StrEnum):
    """How a text is cut: as it is, or with code fences kept balanced."""

    TEXT = "text"
    MARKDOWN = "markdown"


class ChunkMode(StrEnum):
    """Where a text is cut: where it gets too long, or at every paragraph as well."""

    LENGTH = "length"
    NEWLINE = "newline"


class Markup(StrEnum):
    """What a platform makes of Markdown: takes it as it is, or wants HTML, or plain text with style ranges."""

    AS_IS = "as-is"
    HTML = "html"
    STYLED = "styled"


class StyleKind(StrEnum):
    """How a range of a text looks."""

    BOLD = "bold"
    ITALIC = "italic"
    STRIKETHROUGH = "strikethrough"
    MONOSPACE = "monospace"
    SPOILER = "spoiler"


class Style(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A styled range of a chunk, in UTF-16 code units from its start."""

    kind: StyleKind
    start: int
    length: int


class Piece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chunk as it is prepared: its text, and the forms that its platform wants beside it."""

    text: str
    html: str | None = None
    styles: tuple[Style, ...] = ()


class Poll(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question with options to choose from."""

    question: str
    options: tuple[str, ...]
    max_selections: int = 1
    duration_hours: int | None = None


_USUAL = frozenset({Capability.TEXT, Capability.MEDIA, Capability.THREADS, Capability.MESSAGE_IDS})


class Capabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What an adapter's platform can do; decisions read this, never the adapter's name."""

    can: frozenset[Capability] = _USUAL
    mode: DeliveryMode = DeliveryMode.DIRECT
    idempotency: Idempotency = Idempotency.NONE
    #: seconds for which the platform remembers idempotency keys; none: for good. A chunk that is in doubt longer than
    #: this is not sent again under its key
    key_seconds: float | None = None
    #: how texts are cut; none: as usual on the channel
    chunker: Chunker | None = None
    markup: Markup = Markup.AS_IS
    #: most options of a poll; none: no limit
    poll_options: int | None = None
    #: longest time, seconds, that a request on the wire may still be accepted after its response was given up
    in_flight_seconds: float = 30.0
    #: a replayed message comes back under the id it first had
    stable_ids: bool = True
    text_limit: int = 4000
    #: a thread can be opened on a message, and opening it again gives the same thread
    opens_threads: bool = False
    #: what can be done about a lost response of a send under another identity; none: there are no identities
    identities: Idempotency | None = None


class SendRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One chunk on its way to a platform. A resend of the chunk carries the same bytes and the same key."""

    address: Address
    text: str
    #: idempotency key, stable over retries, restarts and processes
    key: str
    intent: IntentId
    chunk: int
    attempt: int
    reply_to: str | None = None
    #: addresses (URLs or paths) of files that go with this chunk
    media: tuple[str, ...] = ()
    transport: Transport = Transport.DIRECT
    #: the text as HTML, or its styles, where `Capabilities.markup` asks for them
    html: str | None = None
    styles: tuple[Style, ...] = ()
    poll: Poll | None = None
    #: JSON that only this platform knows
    payload: str | None = None
    #: who speaks; none: the bot. An adapter never sends under another one: it raises `IdentityGone`
    identity: Identity | None = None
    #: seq of the attempt in the gateway's log
    cause: int | None = None


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a platform said when it accepted a chunk: its message id and the place it put it."""

    provider_id: str
    address: Address


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a session says of its conversation; the same whether an inbound or an outbound message made it (seed 000).

    `sender` and `to` are From and To as an inbound message of the conversation has them; see `trunkline.core.channels`.
    """

    provider: str
    surface: str
    sender: str
    to: str
    chat_type: ChatKind
    account: str | None = None
    thread: str | int | None = None
    originating_channel: str
    originating_to: str


class HandOutcome(StrEnum):
    """How a delegated run ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    #: the process that ran it died
    LOST = "lost"


class HandResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a hand gave back."""

    outcome: HandOutcome
    text: str


class TranscriptLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a session's transcript; `ref` is the inbound or intent that it came from."""

    role: str
    text: str
    ref: str
    partial: bool
    at: float
