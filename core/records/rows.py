"""Rows of the store, as values: work (what starts turns), intents, delegations, and the answers to its commands."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from trunkline.core import values
from trunkline.core.actions.requests import ActionPart
from trunkline.core.message_parts import MessageParts, Part
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.heartbeat import HeartbeatRun
from trunkline.core.records.inbound import RouteNote
from trunkline.core.records.origin import Origin
from trunkline.core.records.reserved_sender import as_person
from trunkline.core.states.delegation import CallbackState, HandOutcome


class ChangedLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line that was changed; its old text is kept with it."""

    session_id: values.SessionId
    session_key: str
    #: the intent or the message of a person that wrote it
    line: str
    before: str
    #: the new text; empty for a deletion
    text: str = ""
    deleted: bool = False


class CallbackFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The delegation that a callback turn reports on."""

    delegation: values.DelegationId
    hand: str
    outcome: HandOutcome
    #: the caller's own name for the delegation
    label: str = ""


class Work(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The work of a turn, with everything that was decided at its admission (invariant R3)."""

    id: values.InboundId
    kind: values.WorkKind
    agent: str
    session_key: str
    #: its author by the platform's own id; agents see `sender`
    peer: values.Peer
    text: str
    message_id: str = ""
    #: where the message came from; none for wake-ups
    place: values.Address | None = None
    #: where an answer without a target goes; none: nowhere
    reply_to: values.Address | None = None
    reply_reason: Reason = Reason.REPLY_TO_ORIGIN
    #: the thread of `home` is opened on this message before anything is said there
    open_on: str | None = None
    callback: CallbackFacts | None = None
    #: the binding that led it to its session, or that its answer goes to
    binding: str | None = None
    heartbeat: HeartbeatRun | None = None
    #: of a callback, and of a task that another agent delegated: the origin of the delegation
    origin: Origin | None = None
    #: the delegation that its session works on, and how many delegations stand above this turn
    serves: values.DelegationId | None = None
    depth: int = 0
    #: how many turns lead to this one from the last message of a person
    chain: int = 0
    #: `text` is the beginning of a long result, with a note that says so; the whole text is stored under this hash
    text_ref: str | None = None
    #: how a message was routed; none: it is none, or an earlier version stored it
    route: RouteNote | None = None
    #: see `Envelope.claimed`
    claimed: bool = False
    #: of a message: what it has beside its text; `text` names each in words
    parts: tuple[Part, ...] = ()
    #: it was said in several messages of the platform
    several: bool = False

    @property
    def turn(self) -> values.TurnId:
        """Id of the turn it starts; the same when the turn runs again after a crash."""
        return values.TurnId(f"t-{self.id}")

    @property
    def sender(self) -> values.Peer:
        """The author as agents see them: a person whose id or name looks like that of a hand or a caller is escaped."""
        return as_person(self.peer) if self.kind in (values.WorkKind.MESSAGE, values.WorkKind.CONTROL) else self.peer

    @property
    def asked_by(self) -> values.Peer | None:
        """The person for whom it is done, as agents see them; none: it has no requester."""
        if self.kind in (values.WorkKind.MESSAGE, values.WorkKind.CONTROL):
            return self.sender
        return None if self.origin is None else self.origin.asked_by

    @property
    def current_message(self) -> str | None:
        """The platform's id of the message to answer, in its own place; None: there is none."""
        place, to = self.place, self.reply_to
        here = self.kind is values.WorkKind.MESSAGE and place is not None and to is not None and place.lane == to.lane
        return self.message_id or None if here else None

    @property
    def home(self) -> values.Address | None:
        """The place that its session belongs to.

        The answer of a callback may go elsewhere: to a bound conversation, in which its turn may delegate once more.
        """
        if self.kind is not values.WorkKind.CALLBACK:
            return self.reply_to
        return self.place if self.place is None or self.origin is None else self.origin.reply_to


class LastTurn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The newest turn of a session that a message or a result has started."""

    id: values.InboundId
    session: values.SessionId
    #: see `Work.chain`
    chain: int
    #: seconds; when it was admitted
    at: float


class BotChain(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The configured bounds of a chain in which bots answer each other: its length, and the pause that ends one."""

    longest: int
    pause: float

    def place_after(self, last: LastTurn | None, now: float) -> int:
        """The place of a bot's message in the chain of its session."""
        return 1 + (0 if last is None or now - last.at > self.pause else last.chain)


class Participant(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A person who writes in a session that people may share."""

    #: the linked name, else the platform's id
    name: str
    #: maps a stored name to the name it has under today's identity links
    today: Callable[[str], str]


class NewSession(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A session to be created when there is none for its key."""

    key: str
    agent: str
    #: id that it gets when it is created now
    id: values.SessionId
    #: the place that asks for it; none: no place is tied to it
    address: values.Address | None
    #: the entry that describes the place, made when the session is created
    entry_of: Callable[[values.Address], values.SessionEntry] | None = None
    #: the key that today's configuration gives a place: decides whether a session under an older key moves to this one.
    #: None: no place is tied to it
    key_of: Callable[[values.Address], str] | None = None
    #: the writer, in a session that people may share; see `SessionRow.people`
    participant: Participant | None = None
    #: form of the key
    codec: str = "v1"


class LeftSession(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The session that a place had before, and that did not move with it."""

    key: str
    id: str


class SessionRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stored session; `created`: by this command."""

    key: str
    id: values.SessionId
    generation: int
    created: bool
    #: the key that it had until this command
    moved_from: str | None = None
    #: the session that the place had until this command
    left: LeftSession | None = None
    #: how many people share it, set once for each person after the first; else 0
    people: int = 0


class ResetResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A reset session: the session that its key has now, and the id of the one before."""

    row: SessionRow
    before: values.SessionId


_NUMBERED = re.compile(r"\+[0-9]+\Z")


def send_intent(key: str, tries: int) -> values.IntentId:
    """The intent id of a try of a client's send. Different keys never share one, whatever they end in."""
    first = tries == 1 and not _NUMBERED.search(key)
    return values.IntentId(f"send:{key}" if first else f"send:{key}+{tries}")


def send_key(intent: str) -> str | None:
    """The key of the client's send that an intent belongs to; none: it belongs to no send."""
    if not intent.startswith("send:"):
        return None
    return _NUMBERED.sub("", intent.removeprefix("send:"))


class SendRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The latest try of a client's send."""

    key: str
    intent: values.IntentId
    tries: int
    session_key: str | None
    channel: str


class IntentFate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Where an intent stands, and what the platform gave for it."""

    state: values.IntentState
    reason: Reason | None
    receipts: tuple[values.Receipt, ...]


class SendAdmission(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a client's send. `new`: a try was stored, `intent`; else `fate` is that of the latest try."""

    new: bool
    send: SendRow
    intent: "IntentRow | None" = None
    fate: IntentFate | None = None
    #: the session of the target, where the command asked for it
    session: SessionRow | None = None


class Admission(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to an inbound. `first`: it repeats that one, and nothing was stored."""

    session: SessionRow | None
    first: values.InboundId | None = None
    #: the binding it came by, with its new idle deadline
    touched: SessionBindingRecord | None = None
    #: the place in its chain that a bot's message got
    chain: int = 0
    #: the last turn of a chain that is at its end: nothing was stored
    over: LastTurn | None = None


class ContentPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The content of an intent, which the platform gets. It never changes once the intent is prepared."""

    #: a poll, or a payload that only the platform understands, has its text as its only chunk
    chunks: tuple[str, ...] = ()
    #: the chunks as HTML or with styles; empty where all of them go as they are
    forms: tuple[values.Piece, ...] = ()
    media: tuple[str, ...] = ()
    poll: values.Poll | None = None
    payload: str | None = None
    #: the message that it quotes
    reply_to: str | None = None

    @property
    def text(self) -> str:
        """The whole text, a line for each chunk."""
        return "\n".join(self.chunks)


class ProgressPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The progress of an intent: all that its delivery changes, but for the identity that speaks."""

    state: values.IntentState = values.IntentState.PREPARED
    #: how many leading chunks have a receipt
    acked: int = 0
    attempts: int = 0
    #: of these, attempts whose outcome is unknown since the process ended
    interrupted: int = 0
    #: deferred until this time, because of `reason`
    next_at: float | None = None
    reason: Reason | None = None
    #: the thread is opened on this message before the next chunk is sent
    open_on: str | None = None
    #: the transport that took over from the adapter's first one
    transport: values.Transport | None = None
    #: the next attempt is marked as a possible repeat
    marked: bool = False
    #: since this time an attempt is in doubt: it may have been accepted
    doubt_at: float | None = None


class BoundPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The session binding of an intent, and its notice. The store keeps it as JSON: few intents have one."""

    binding: str | None = None
    #: the identity that speaks there; none: the bot
    identity: values.Identity | None = None
    #: where a short notice goes when it cannot be delivered where it belongs; none: nowhere
    notice_to: values.Address | None = None
    #: the notice's thread is opened on this message first
    notice_open_on: str | None = None


class ExtraPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The fields of an intent that few intents have. The store keeps them together, as JSON."""

    parts: MessageParts | None = None
    #: it changes something instead of sending a message
    action: ActionPart | None = None
    #: of a message that reports a delegation: the person who asked for it
    recipient: values.Peer | None = None
    #: sends of its turn before it in its conversation, with the same words: it goes only if people have none of them
    unless: tuple[values.IntentId, ...] = ()


class IntentRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """An intent as it is stored: its place and its sender, its content and its progress."""

    id: values.IntentId
    kind: values.IntentKind
    address: values.Address
    agent: str
    #: session that mirrors it; none: no mirror
    mirror_key: str | None
    #: session id at admission; kept even if the key later points elsewhere
    session: values.SessionId | None = None
    #: the caller named the session itself
    named_session: bool = False
    turn: values.TurnId | None = None
    inbound: values.InboundId | None = None
    delegation: values.DelegationId | None = None
    #: one attempt a chunk, and no more
    best_effort: bool = False
    #: hooks are still to be notified how it ends
    hooks_pending: bool = False
    created_at: float
    #: time of the last write; set when the row is read
    updated_at: float = 0.0
    content: ContentPart = ContentPart()
    progress: ProgressPart = ProgressPart()
    bound: BoundPart = BoundPart()
    extra: ExtraPart = ExtraPart()

    @property
    def is_last(self) -> bool:
        """Whether the receipt of the next chunk ends it."""
        return self.progress.acked + 1 == len(self.content.chunks)

    @property
    def is_cancelled(self) -> bool:
        """Whether a hook has cancelled it."""
        return self.progress.state is values.IntentState.CANCELLED

    @property
    def is_invisible(self) -> bool:
        """Whether its preparation has left nothing that people would see. It is not stored."""
        return not self.content.chunks and not self.is_cancelled

    def with_progress(self, **changes: Any) -> "IntentRow":
        """The intent with these fields of its progress."""
        return structs.replace(self, progress=structs.replace(self.progress, **changes))

    def key(self, chunk: int) -> str:
        """Idempotency key of a chunk on the wire: stable over retries, restarts and processes."""
        return f"{self.id}/{chunk}"


class BrokenIntent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An intent whose row cannot be read, and why. `row` has what can be read; the rest is empty."""

    problem: str
    row: IntentRow
    receipts: tuple[values.Receipt, ...] = ()


class LoadedIntents(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Intents read from the store. `broken`: the rows that cannot be read."""

    rows: tuple[IntentRow, ...]
    broken: dict[values.IntentId, BrokenIntent] = msgspec.field(default_factory=dict[values.IntentId, BrokenIntent])


class StoredIntent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An intent and its receipts."""

    row: IntentRow
    receipts: tuple[values.Receipt, ...]


class Noted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The line about a bad end in the session that sent the message. `woken`: the work that was admitted there."""

    session: SessionRow
    text: str
    woken: Work | None = None


class CallbackChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How the callback of a delegation has changed with a write."""

    delegation: values.DelegationId
    before: CallbackState
    state: CallbackState
    reason: Reason | None = None


class Settlement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a write that settles a chunk or an intent: the session that mirrors the text, if any."""

    mirror: SessionRow | None
    mirror_text: str = ""
    #: the binding of the intent, with its new idle deadline
    touched: SessionBindingRecord | None = None
    #: none: there is no such line, or the transcript has it already
    noted: Noted | None = None
    #: the line that an edit or a deletion changed
    changed: ChangedLine | None = None
    #: whether the notice is new: an intent that ends once more has posted it before
    noticed: bool = False
    #: of an intent that reports a delegation
    callback: CallbackChange | None = None


class BindResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer to `Bind`. `new` false: the same request made `record` before."""

    new: bool
    record: SessionBindingRecord
    #: the binding that the conversation had until now
    ended: SessionBindingRecord | None = None
    #: the session that it is bound to, when it was created with it
    session: SessionRow | None = None


class StoredBindings(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Bindings read from the store. `broken`: by id the rows that cannot be read, and why."""

    rows: tuple[SessionBindingRecord, ...]
    broken: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class BrokenRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row that cannot be read, and why; `id` as far as it can be read."""

    n: int
    id: str
    problem: str


class Runs(msgspec.Struct, frozen=True, gc=False):
    """The runs of a turn, but for the first, or of a hand, which the death of a process has ended."""

    ended: int = 0
    #: of these, the ones that count against it
    charged: int = 0
    #: one more had begun when the process died: 1 a moment before, 2 a while before
    begun: int = 0

    def after_death(self, *, charged: bool) -> "Runs":
        """The runs once the death of the process is counted."""
        return Runs(self.ended + 1, self.charged + charged) if self.begun else self


class Unfinished(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The work, intents and delegations that an earlier process left open, each in order of creation."""

    #: with the session that each belongs to
    works: tuple[tuple[Work, values.SessionId], ...]
    #: how many intents are open; see `ListOpenIntents`
    intents: int
    delegations: tuple[DelegationRow, ...]
    #: the rows of both that cannot be read; `SetAsideBroken` closes them
    broken_works: tuple[BrokenRow, ...] = ()
    broken_delegations: tuple[BrokenRow, ...] = ()
    #: notices that have ended without a receipt, with their places
    unheard: tuple[tuple[values.IntentId, values.Address], ...] = ()
    #: by id of work or delegation; `CountRuns` is still to be written
    runs: Mapping[str, "Runs"] = {}
