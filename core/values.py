"""The basic values of the gateway: addresses, peers, envelopes, requests, receipts.

All are `msgspec.Struct`s: immutable, hashable, keyword-only, and serialisable as JSON. Ids keep the platform's own
bytes; only session keys fold and encode them (`core.keys`, docs/architecture.md, "Session keys").
"""

from enum import StrEnum
from typing import NewType

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.message_parts import FilePart, MessageParts, Part

InboundId = NewType("InboundId", str)
TurnId = NewType("TurnId", str)
IntentId = NewType("IntentId", str)
DelegationId = NewType("DelegationId", str)
SessionId = NewType("SessionId", str)


class ChatKind(StrEnum):
    """The kind of a conversation."""

    DIRECT = "direct"
    GROUP = "group"
    CHANNEL = "channel"


class Address(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A place on a platform, seen through an account: where a message comes from or goes to.

    `conversation` and `thread` are the platform's own ids, byte for byte. A Telegram topic is a `thread` of its
    group. A Discord thread is a conversation of its own whose `parent` is its channel.
    """

    #: platform name, lower case, e.g. ``discord``
    channel: str
    #: the gateway's account (bot) on that platform
    account: str
    kind: ChatKind
    conversation: str
    thread: str | None = None
    parent: str | None = None

    @property
    def lane(self) -> tuple[str, str, str, str]:
        """The unit of strict FIFO delivery: channel, account, conversation, thread (``""`` for none)."""
        return (self.channel, self.account, self.conversation, self.thread or "")

    def __str__(self) -> str:
        """Readable form for reports: ``discord:default/123/7``."""
        tail = f"/{self.thread}" if self.thread else ""
        return f"{self.channel}:{self.account}/{self.conversation}{tail}"


class Peer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The author of a message: the platform's id and a display name."""

    id: str
    name: str = ""


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A webhook for posts of the gateway under another name than the bot's. Holds no secret."""

    #: the platform's id of the webhook
    id: str
    #: the name that people see
    name: str

    def __str__(self) -> str:
        """Readable form for events and reports."""
        return f"webhook {self.id} as {self.name}"


class DeedKind(StrEnum):
    """The kind of a deed."""

    EDIT = "edit"
    DELETE = "delete"
    REACT = "react"
    UNREACT = "unreact"


class Deed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The deed of a person on an earlier message: an edit, a deletion, a reaction."""

    kind: DeedKind
    #: id of that message
    of: str


class Envelope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An inbound message from an adapter, before any decision."""

    address: Address
    peer: Peer
    #: the platform's message id; may change on replay where `Capabilities.stable_ids` is false
    message_id: str
    #: the person's own words; a message with parts may have none
    text: str
    #: the platform's create time, seconds
    sent_at: float
    reply_to: str | None = None
    guild: str | None = None
    team: str | None = None
    roles: tuple[str, ...] = ()
    #: whether `address.thread` is a real thread or topic. False: it is only the id of a reply chain, which the platform
    #: puts on messages of conversations without threads, and refuses in sends
    threaded: bool = True
    #: a bot or webhook wrote it
    bot: bool = False
    #: id of the webhook that wrote it
    webhook: str | None = None
    #: id of the message that this message replaces: a proxy deleted that message and posted this one instead
    stands_for: str | None = None
    #: id of the message whose button was pressed: then `text` is its value, and `message_id` identifies the press
    pressed: str | None = None
    #: seq of the event that caused it, from adapters that write to the gateway's own log
    cause: int | None = None
    #: only a client says who wrote it: the author has no right that others have not
    claimed: bool = False
    #: what the message has beside its text
    parts: tuple[Part, ...] = ()
    #: names what the person does at once with other messages; see `trunkline.core.channels.acts`
    act: str | None = None
    #: what the person does to another message: then `text` is its new text or the emoji, and `message_id` identifies
    #: the deed. Its thread and, of a deletion, who did it (an empty id of the peer) may be unknown
    deed: Deed | None = None

    @property
    def files(self) -> tuple[FilePart, ...]:
        return tuple(part for part in self.parts if isinstance(part, FilePart))

    @property
    def subject(self) -> str:
        """Id of the message to quote in an answer, and to open a thread on."""
        return self.message_id if self.pressed is None else self.pressed


class WorkKind(StrEnum):
    """Why a turn runs."""

    #: a peer wrote a message
    MESSAGE = "message"
    #: a hand that the agent delegated to has ended
    CALLBACK = "callback"
    #: an operator or a program woke the agent; there is no place to answer to
    WAKE = "wake"
    #: the heartbeat woke the agent; what it returns goes to the heartbeat's target
    HEARTBEAT = "heartbeat"
    #: an entry of the schedule woke the agent
    CRON = "cron"
    #: another agent delegated a task to this agent; what it returns is the result
    TASK = "task"
    #: a peer gave the gateway itself a command, e.g. ``/focus``; no agent works on it
    CONTROL = "control"


class IntentKind(StrEnum):
    """The part of the gateway which created an intent."""

    #: the final text of a turn
    REPLY = "reply"
    #: the message tool, during a turn
    TOOL = "tool"
    #: a hand's result posted unchanged, without a turn of the requester
    ANNOUNCE = "announce"
    #: a client's send, outside any turn
    SEND = "send"
    #: what a heartbeat returned
    HEARTBEAT = "heartbeat"
    #: the gateway's own notice that a message could not be delivered to its place
    NOTICE = "notice"
    #: what could not be said in a call any more, at the second channel of the same person
    SECOND = "second"


class IntentState(StrEnum):
    """The state of an intent; `trunkline.core.states.intent` has the table of transitions."""

    #: hooks and chunking are done and committed; no attempt is on the wire
    PREPARED = "prepared"
    #: an attempt on a chunk may be on the wire
    SENDING = "sending"
    #: every chunk has a durable receipt
    DELIVERED = "delivered"
    #: some chunks have a receipt, the others will not be sent
    PARTIAL = "partial"
    #: the platform rejected it for good
    FAILED = "failed"
    #: attempts used up
    DEAD = "dead"
    #: too old to be sent
    EXPIRED = "expired"
    #: withdrawn before anything was sent
    CANCELLED = "cancelled"
    #: it may or may not have been accepted: parked for an operator
    UNKNOWN = "unknown"
    #: accepted, but the receipt shows another place than requested
    MISPLACED = "misplaced"


class Idempotency(StrEnum):
    """The way of an adapter to resolve a send with a lost response."""

    #: the platform accepts a second send with the same key only once
    KEY = "key"
    #: recent sends can be looked up by key
    LOOKUP = "lookup"
    #: neither, so an ambiguous send stays ambiguous
    NONE = "none"


class Capability(StrEnum):
    """A kind of content, or an ability, of an adapter."""

    TEXT = "text"
    MEDIA = "media"
    POLL = "poll"
    PAYLOAD = "payload"
    THREADS = "threads"
    SILENT = "silent"
    #: buttons below a message
    BUTTONS = "buttons"
    #: cards, as platform-specific JSON
    CARDS = "cards"
    #: interactive components, as platform-specific JSON
    COMPONENTS = "components"
    #: embeds below a message
    EMBEDS = "embeds"
    #: receipts name the message; without this capability a response without a message id is a receipt too
    MESSAGE_IDS = "message-ids"


class Transport(StrEnum):
    """The path by which a chunk reaches its platform."""

    DIRECT = "direct"
    GATEWAY = "gateway"


class DeliveryMode(StrEnum):
    """The transports of an adapter."""

    DIRECT = "direct"
    GATEWAY = "gateway"
    #: direct first, and the gateway path only for what provably did not reach the platform directly
    HYBRID = "hybrid"

    @property
    def first(self) -> Transport:
        """The transport to try first."""
        return Transport.GATEWAY if self is DeliveryMode.GATEWAY else Transport.DIRECT


class Chunker(StrEnum):
    """How a text is split: as plain text, as Markdown with code fences kept balanced, or at ends of sentences."""

    TEXT = "text"
    MARKDOWN = "markdown"
    SENTENCES = "sentences"


class ChunkMode(StrEnum):
    """The places to split a text: only at the limit, or also at every paragraph."""

    LENGTH = "length"
    NEWLINE = "newline"


class Markup(StrEnum):
    """The form in which a platform takes Markdown: unchanged, as HTML, or as plain text with style ranges."""

    AS_IS = "as-is"
    HTML = "html"
    STYLED = "styled"


class StyleKind(StrEnum):
    """The style of a range of text."""

    BOLD = "bold"
    ITALIC = "italic"
    STRIKETHROUGH = "strikethrough"
    MONOSPACE = "monospace"
    SPOILER = "spoiler"


class Style(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A styled range of a chunk, in UTF-16 code units from the start."""

    kind: StyleKind
    start: int
    length: int


class Piece(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A prepared chunk: the text, and other forms for the platform."""

    text: str
    html: str | None = None
    styles: tuple[Style, ...] = ()


class Poll(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A question with options to choose from."""

    question: str
    options: tuple[str, ...]
    max_selections: int = 1
    duration_hours: int | None = None
    duration_seconds: int | None = None
    #: nobody sees who voted for what; None: as the platform does it
    anonymous: bool | None = None


_USUAL = frozenset({Capability.TEXT, Capability.MEDIA, Capability.THREADS, Capability.MESSAGE_IDS})


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The abilities of an adapter and its platform; decisions read these, never the adapter's name."""

    can: frozenset[Capability] = _USUAL
    #: the actions that the adapter carries out or answers beside plain sends (`core.channels.Actions`, `Queries`)
    actions: frozenset[Action] = frozenset()
    mode: DeliveryMode = DeliveryMode.DIRECT
    idempotency: Idempotency = Idempotency.NONE
    #: seconds for which the platform remembers idempotency keys; None: forever. A chunk in doubt for longer than this
    #: is not resent under its key
    key_seconds: float | None = None
    #: how texts are split; None: as the channel's rules say
    chunker: Chunker | None = None
    markup: Markup = Markup.AS_IS
    #: maximum number of poll options; None: no limit
    poll_options: int | None = None
    #: seconds for which a request may still be accepted after its response timed out
    in_flight_seconds: float = 30.0
    #: minimum seconds before a request in doubt is made again under its key
    repeat_after: float = 0.0
    #: a replayed message keeps its original id
    stable_ids: bool = True
    text_limit: int = 4000
    #: maximum length of a text with files, and of a text with buttons; None: as of any text
    caption_limit: int | None = None
    button_text_limit: int | None = None
    #: a thread can be opened on a message, and opening it again returns the same thread
    opens_threads: bool = False
    #: what can be done about a lost response of a send under a webhook identity; None: there are no identities
    identities: Idempotency | None = None


class SendRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A chunk to send to a platform. A resend carries the same bytes and the same key."""

    address: Address
    text: str
    #: idempotency key, stable over retries, restarts and processes
    key: str
    intent: IntentId
    chunk: int
    attempt: int
    reply_to: str | None = None
    #: URLs or paths of the files to send with this chunk
    media: tuple[str, ...] = ()
    transport: Transport = Transport.DIRECT
    #: the text as HTML, or its styles, if `Capabilities.markup` requires them
    html: str | None = None
    styles: tuple[Style, ...] = ()
    poll: Poll | None = None
    #: platform-specific JSON
    payload: str | None = None
    #: buttons, a card, an effect, ...; only with the first chunk
    parts: MessageParts | None = None
    #: who posts; None: the bot. An adapter never posts under another identity: it raises `IdentityGone`
    identity: Identity | None = None
    #: the person for whom a report of delegated work is, whose name the platform may show; None: not known
    recipient: Peer | None = None
    #: seq of the attempt in the gateway's log
    cause: int | None = None


class Receipt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The platform's confirmation of an accepted chunk: the message id and the place of the message."""

    provider_id: str
    address: Address
    #: the platform's id of the poll in the message
    poll_id: str | None = None
    #: the platform has taken the message back since; see `core.channels.LateOutcomes`
    lost: bool = False


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The description of a session's conversation; the same for sessions created by inbound and outbound messages.

    `sender` and `to` are From and To of an inbound message of the conversation; see `trunkline.core.channels`.
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


class TranscriptLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of a session's transcript; `ref`: the id of the inbound message or intent, or ``delivery/<intent>``.

    `was`: what it said before its message was edited, oldest first. `deleted`: its message was deleted.
    `by`: who wrote it, as agents see them; only where the reader asked for it, and None once its inbound is pruned.
    """

    role: str
    text: str
    ref: str
    partial: bool
    at: float
    was: tuple[str, ...] = ()
    deleted: bool = False
    by: Peer | None = None
