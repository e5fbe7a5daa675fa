"""What the store keeps, as values: work (what starts turns), intents, delegations, and the answers of its verbs."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from trunkline.core.agent import CallbackFacts
from trunkline.core.bindings.records import SessionBindingRecord
from trunkline.core.hands.states import DelegationState
from trunkline.core.reasons import Reason
from trunkline.core.values import (
    Address,
    DelegationId,
    HandOutcome,
    Identity,
    InboundId,
    IntentId,
    IntentKind,
    IntentState,
    Peer,
    Piece,
    Poll,
    Receipt,
    SessionEntry,
    SessionId,
    TranscriptLine,
    Transport,
    TurnId,
    WorkKind,
)


class Work(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that starts a turn, with everything that the turn was promised at admission (invariant R3)."""

    id: InboundId
    kind: WorkKind
    agent: str
    session_key: str
    peer: Peer
    text: str
    message_id: str = ""
    #: where it was said; none for wake-ups
    place: Address | None = None
    #: where an answer without a target goes; none: nowhere
    reply_to: Address | None = None
    reply_reason: Reason = Reason.REPLY_TO_ORIGIN
    #: the answer's thread is opened on this message first
    open_on: str | None = None
    callback: CallbackFacts | None = None
    #: the binding by which it came to its session, or to which its answer goes
    binding: str | None = None

    @property
    def turn(self) -> TurnId:
        """Id of the turn it starts; the same when the turn is run again after a crash."""
        return TurnId(f"t-{self.id}")


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who comes into a session that people may share."""

    #: the linked name, else the platform's id
    name: str
    #: the name that somebody who was noted before has under today's links
    today: Callable[[str], str]


class NewSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session to be created when there is none for its key."""

    key: str
    agent: str
    #: id that it gets when it is created now
    id: SessionId
    #: the place that asks for it; none: no place is tied to it
    address: Address | None
    #: what the session says of its place; asked when it is created
    entry_of: Callable[[Address], SessionEntry] | None = None
    #: the key that the configuration gives a place now: whether a session under an older key goes on under this one.
    #: None: no place is tied to it
    key_of: Callable[[Address], str] | None = None
    #: who comes into a session that people may share; see `SessionRow.people`
    person: Person | None = None
    #: form of the key
    codec: str = "v1"


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """The session that a place had before, and that it could not take along."""

    key: str
    id: str


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A session that exists; `created`: by this very call."""

    key: str
    id: SessionId
    generation: int
    created: bool
    #: it had this key until this call
    moved_from: str | None = None
    #: the place had that session until this call
    left: Left | None = None
    #: how many people share it, told once to each who comes as second or later; else 0
    people: int = 0


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """A session that started anew: the session that its key has now, and the one before."""

    row: SessionRow
    before: SessionId


_NUMBERED = re.compile(r"\+[0-9]+\Z")


def send_intent(key: str, tries: int) -> IntentId:
    """The id of the intent of a try of a client's send. Different keys never share one, whatever they end in."""
    first = tries == 1 and not _NUMBERED.search(key)
    return IntentId(f"send:{key}" if first else f"send:{key}+{tries}")


def send_key(intent: str) -> str | None:
    """The key of the client's send whose try an intent is; none: it is the try of no send."""
    if not intent.startswith("send:"):
        return None
    return _NUMBERED.sub("", intent.removeprefix("send:"))


class SendRow(msgspec.Struct, frozen=True, kw_only=True):
    """The latest try of a client's send."""

    key: str
    intent: IntentId
    tries: int
    session_key: str | None
    channel: str


class IntentFate(msgspec.Struct, frozen=True, kw_only=True):
    """Where an intent stands, and what the platform gave for it."""

    state: IntentState
    reason: Reason | None
    receipts: tuple[Receipt, ...]


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a client's send. `new`: this call stored a try, `intent`; else `fate` is the latest one's."""

    new: bool
    send: SendRow
    intent: IntentRow | None = None
    fate: IntentFate | None = None
    #: the session of the target, where it was asked for
    session: SessionRow | None = None


class Admission(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an inbound message. `first`: it repeats that one, and nothing was stored."""

    session: SessionRow | None
    first: InboundId | None = None
    #: the binding by which it came, whose idle deadline has moved
    touched: SessionBindingRecord | None = None


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a hand's result. `first`: it counts. `session`: of the callback that it sets going.

    `replaced`: nothing was stored, because the session of the requester is not that of its key any more.
    """

    first: bool
    replaced: bool = False
    session: SessionRow | None = None


class BoundPart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an intent has besides, if it belongs to a bound conversation, or may be told of elsewhere."""

    binding: str | None = None
    identity: Identity | None = None
    notice_to: Address | None = None


class IntentRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing to be said, as prepared: its chunks never change any more.

    A poll, or a payload that only the platform knows, has its text as its only chunk.
    """

    id: IntentId
    kind: IntentKind
    state: IntentState = IntentState.PREPARED
    address: Address
    chunks: tuple[str, ...]
    #: how many leading chunks have a receipt
    acked: int = 0
    attempts: int = 0
    #: put off until then, because of `reason`
    next_at: float | None = None
    reason: Reason | None = None
    agent: str
    #: session that mirrors it; none: no mirror
    mirror_key: str | None
    #: that very session, also when its key has another one by then
    session: SessionId | None = None
    #: the caller named the session itself
    named_session: bool = False
    media: tuple[str, ...] = ()
    turn: TurnId | None = None
    inbound: InboundId | None = None
    delegation: DelegationId | None = None
    reply_to: str | None = None
    open_on: str | None = None
    #: the chunks as HTML or with styles; empty where all of them go as they are
    forms: tuple[Piece, ...] = ()
    poll: Poll | None = None
    #: JSON that only the platform knows
    payload: str | None = None
    #: one attempt a chunk, and no more
    best_effort: bool = False
    #: the transport that took over from the adapter's first one
    transport: Transport | None = None
    #: the next attempt is marked as a possible repeat
    marked: bool = False
    #: since then nobody knows of an attempt whether it was accepted
    doubt_at: float | None = None
    #: hooks are to be told how it ends
    untold: bool = False
    #: the binding that it is said for, and who speaks there; none: the bot
    binding: str | None = None
    identity: Identity | None = None
    #: where a short notice goes when it cannot be said where it belongs; none: nowhere
    notice_to: Address | None = None
    created_at: float
    #: last written then; set when it is read
    updated_at: float = 0.0

    @property
    def bound(self) -> BoundPart | None:
        """Binding, identity and place of a notice; none where it has none of them."""
        if self.binding is None and self.identity is None and self.notice_to is None:
            return None
        return BoundPart(binding=self.binding, identity=self.identity, notice_to=self.notice_to)

    def key(self, chunk: int) -> str:
        """Idempotency key of a chunk on the wire: stable over retries, restarts and processes."""
        return f"{self.id}/{chunk}"


class OpenIntent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An open intent without its texts: enough to hold its place in its conversation."""

    n: int
    id: IntentId
    address: Address


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """Intents as they were read. `broken`: those whose rows cannot be read, and why."""

    rows: tuple[IntentRow, ...]
    broken: dict[IntentId, str] = msgspec.field(default_factory=dict[IntentId, str])


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What a settling write did: the session that holds the mirrored text, if any."""

    mirror: SessionRow | None
    mirror_text: str = ""
    #: the binding that it was said for, whose idle deadline has moved
    touched: SessionBindingRecord | None = None


class DelegationRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task given to a hand. `origin` is frozen at the tool call (seed 004)."""

    id: DelegationId
    state: DelegationState = DelegationState.ACCEPTED
    hand: str
    task: str
    agent: str
    session_key: str
    #: the session that delegated: its result belongs to no other
    session: SessionId | None = None
    turn: TurnId
    inbound: InboundId
    origin: Address | None
    outcome: HandOutcome | None = None
    result: str | None = None
    #: key of the session of its own that it has, where it was given one with a conversation bound to it (seed 002)
    child_key: str | None = None
    accepted_at: float


class BrokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row that cannot be read, and why; `id`: as far as that can be."""

    n: int
    id: str
    problem: str


class Unfinished(msgspec.Struct, frozen=True, kw_only=True):
    """What an earlier process left open, each in order of creation."""

    #: with the session that each belongs to
    works: tuple[tuple[Work, SessionId], ...]
    #: how many intents are open; see `Store.open_intents`
    intents: int
    delegations: tuple[DelegationRow, ...]
    #: what cannot be read of both: it is to be set aside
    broken_works: tuple[BrokenRow, ...] = ()
    broken_delegations: tuple[BrokenRow, ...] = ()


__all__ = [
    "Admission",
    "Begun",
    "BoundPart",
    "BrokenRow",
    "DelegationRow",
    "Finish",
    "IntentFate",
    "IntentRow",
    "Left",
    "Loaded",
    "NewSession",
    "OpenIntent",
    "Person",
    "Reset",
    "SendRow",
    "SessionRow",
    "Settled",
    "TranscriptLine",
    "Unfinished",
    "Work",
    "send_intent",
    "send_key",
]
