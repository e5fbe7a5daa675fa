"""The state of a run after any of its events: a fold of the trace, with key frames so that any moment is near.

What only grows (transcripts, what people saw) is indexed once by `app.view.index.run_index`; folded here is what
changes:
sessions, intents, delegations, the process, closed places. Two folds to the same event give equal moments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from trunkline.app.view.index.places import PlaceKey
from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import (
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    MirrorAppended,
)
from trunkline.core.events.gateway import (
    DelegationAccepted,
    DelegationFinished,
    DelegationStarted,
    ProcessStarted,
    SessionCreated,
    SessionMoved,
    SessionReset,
    TranscriptAppended,
)
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.values import Address, HandOutcome, IntentKind, IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.script import BugEnabled
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadClosed, WorldSession

#: events between two key frames at least
FRAME_EVERY = 256
#: and at least a part of what a frame holds: what is kept of a long run would grow with its square otherwise
FRAME_PART = 4


class SessionSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One session: its conversation and how much was said in it."""

    key: str
    id: str
    agent: str = ""
    generation: int = 0
    #: ids of its earlier generations
    before: tuple[str, ...] = ()
    address: Address | None = None
    #: seq at which it was first heard of
    since: int
    #: entries that the agent was given in this generation: messages and results of hands
    heard: int = 0
    #: entries of this generation, mirrored from what a platform accepted
    said: int = 0
    last: float = 0.0


class IntentSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to be said, and what came of it."""

    id: str
    prepared: int
    intent_kind: IntentKind
    state: IntentState
    address: Address
    text: str
    chunks: int
    attempts: int = 0
    #: seqs of ``wire.accepted``: the platform's own story
    accepted: tuple[int, ...] = ()
    acked: int = 0
    mirror_key: str | None = None
    #: id of the session whose transcript holds only a part of it
    part_in: str = ""
    #: the last event that changed it
    last: int


class DelegationSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One task given to a hand."""

    id: str
    hand: str
    task: str = ""
    origin: Address | None = None
    session_key: str = ""
    accepted: int
    started: int | None = None
    finished: int | None = None
    outcome: HandOutcome | None = None


class RunSnapshot(msgspec.Struct, kw_only=True):
    """Everything that holds after event `seq`. Its values are frozen; treat the whole as frozen too."""

    seq: int = 0
    at: float = 0.0
    #: the gateway process that works, or did last; and those that run
    generation: int = 0
    living: tuple[int, ...] = ()
    sessions: dict[str, SessionSnapshot] = {}
    intents: dict[str, IntentSnapshot] = {}
    delegations: dict[str, DelegationSnapshot] = {}
    closed: dict[PlaceKey, str] = {}
    bugs: tuple[str, ...] = ()

    @property
    def alive(self) -> bool:
        """Whether a gateway process runs."""
        return bool(self.living)

    @property
    def size(self) -> int:
        """How much a copy copies."""
        return len(self.sessions) + len(self.intents) + len(self.delegations) + len(self.closed)

    def copy(self) -> RunSnapshot:
        """A moment of its own that can be folded further."""
        return RunSnapshot(
            seq=self.seq,
            at=self.at,
            generation=self.generation,
            living=self.living,
            sessions=dict(self.sessions),
            intents=dict(self.intents),
            delegations=dict(self.delegations),
            closed=dict(self.closed),
            bugs=self.bugs,
        )

    def advance(self, event: Event) -> None:
        """Fold one more event in."""
        self.seq, self.at = event.seq, event.at
        fold = _FOLDS.get(type(event.body))
        if fold is not None:
            fold(self, event, event.body)


class Snapshots:
    """Moments of a list of events: `at(seq)` for any seq, in any order, at the cost of one key-frame distance.

    The list may grow; a frame is made when somebody asks for a moment beyond it.
    """

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._frames: list[RunSnapshot] = [RunSnapshot()]
        self._next = FRAME_EVERY
        self._near = RunSnapshot()

    def at(self, seq: int) -> RunSnapshot:
        """The moment after event `seq`; 0 is before everything."""
        seq = max(0, min(seq, len(self._events)))
        start = self._frame_before(seq)
        if start.seq <= self._near.seq <= seq:
            start = self._near
        moment = start if start.seq == seq else self._forward(start.copy(), seq)
        self._near = moment
        return moment

    def _frame_before(self, seq: int) -> RunSnapshot:
        while self._next <= seq:
            frame = self._forward(self._frames[-1].copy(), self._next)
            self._frames.append(frame)
            self._next += max(FRAME_EVERY, frame.size // FRAME_PART)
        return self._frames[bisect_right(self._frames, seq, key=_seq) - 1]

    def _forward(self, moment: RunSnapshot, seq: int) -> RunSnapshot:
        for event in self._events[moment.seq : seq]:
            moment.advance(event)
        return moment


def _seq(moment: RunSnapshot) -> int:
    return moment.seq


# ---------------------------------------------------------------- one small function for each kind of event


def _bug(now: RunSnapshot, _event: Event, body: BugEnabled) -> None:
    now.bugs = (*now.bugs, body.bug)


def _process_started(now: RunSnapshot, event: Event, _body: ProcessStarted) -> None:
    if not now.living:
        now.generation = event.generation
    now.living = (*now.living, event.generation)


def _process_ended(now: RunSnapshot, event: Event, _body: Body) -> None:
    now.living = tuple(number for number in now.living if number != event.generation)


def _lease_taken(now: RunSnapshot, event: Event, _body: LeaseTaken) -> None:
    now.generation = event.generation


def _thread_closed(now: RunSnapshot, _event: Event, body: ThreadClosed) -> None:
    now.closed[body.address.lane] = body.how


def _session_created(now: RunSnapshot, event: Event, body: SessionCreated) -> None:
    known = now.sessions.get(body.session_key)
    fresh = known or _found(event, body.session_key, body.session_id)
    now.sessions[body.session_key] = msgspec.structs.replace(
        fresh, id=body.session_id, agent=body.agent, generation=body.generation, address=body.address
    )


def _session_reset(now: RunSnapshot, event: Event, body: SessionReset) -> None:
    known = now.sessions.get(body.session_key) or _found(event, body.session_key, body.session_id)
    now.sessions[body.session_key] = msgspec.structs.replace(
        known,
        id=body.session_id,
        generation=body.generation,
        before=(*known.before, body.before),
        heard=0,
        said=0,
        last=event.at,
    )


def _session_moved(now: RunSnapshot, event: Event, body: SessionMoved) -> None:
    old, new = body.old_key, body.session_key
    known = now.sessions.pop(new, None)
    moved = now.sessions.get(old) or known or _found(event, new, body.session_id)
    # It keeps its place in the order.
    now.sessions = {new if key == old else key: facts for key, facts in now.sessions.items()}
    now.sessions[new] = msgspec.structs.replace(moved, key=new, id=body.session_id)


def _session_stored(now: RunSnapshot, event: Event, body: WorldSession) -> None:
    found = _found(event, body.session_key, body.session_id)
    now.sessions[body.session_key] = msgspec.structs.replace(found, generation=1, address=body.address)


def _found(event: Event, key: str, session: str) -> SessionSnapshot:
    """A session that an earlier run made."""
    return SessionSnapshot(key=key, id=session, since=event.seq, last=event.at)


def _appended(now: RunSnapshot, event: Event, body: TranscriptAppended | MirrorAppended) -> None:
    key = body.session_key
    known = now.sessions.get(key) or _found(event, key, body.session_id)
    if body.session_id in known.before:
        return
    mirrored = isinstance(body, MirrorAppended)
    if isinstance(body, MirrorAppended) and _grows(now, event, body):
        return
    now.sessions[key] = msgspec.structs.replace(
        known, heard=known.heard + (not mirrored), said=known.said + mirrored, last=event.at
    )


def _grows(now: RunSnapshot, event: Event, body: MirrorAppended) -> bool:
    """Whether the line takes the place of one that held only a part; it is kept in mind that this one does."""
    known = now.intents.get(event.intent or "")
    if known is None:
        return False
    part = body.session_id if body.partial else ""
    now.intents[known.id] = msgspec.structs.replace(known, part_in=part)
    return known.part_in == body.session_id


def _delegation_accepted(now: RunSnapshot, event: Event, body: DelegationAccepted) -> None:
    if event.delegation is not None:
        now.delegations[event.delegation] = DelegationSnapshot(
            id=event.delegation,
            hand=body.hand,
            task=body.task,
            origin=body.origin,
            session_key=body.session_key,
            accepted=event.seq,
        )


def _delegation_started(now: RunSnapshot, event: Event, _body: DelegationStarted) -> None:
    known = now.delegations.get(event.delegation or "")
    if known is not None:
        now.delegations[known.id] = msgspec.structs.replace(known, started=event.seq)


def _delegation_finished(now: RunSnapshot, event: Event, body: DelegationFinished) -> None:
    known = now.delegations.get(event.delegation or "")
    if known is not None:
        now.delegations[known.id] = msgspec.structs.replace(known, finished=event.seq, outcome=body.outcome)


def _intent_prepared(now: RunSnapshot, event: Event, body: IntentPrepared) -> None:
    if event.intent is not None:
        now.intents[event.intent] = IntentSnapshot(
            id=event.intent,
            prepared=event.seq,
            intent_kind=body.intent_kind,
            state=IntentState.PREPARED,
            address=body.address,
            text=body.text,
            chunks=body.chunks,
            mirror_key=body.mirror_key,
            last=event.seq,
        )


def _change_intent(now: RunSnapshot, event: Event, **changes: Any) -> None:
    known = now.intents.get(event.intent or "")
    if known is not None:
        now.intents[known.id] = msgspec.structs.replace(known, last=event.seq, **changes)


def _attempt_started(now: RunSnapshot, event: Event, body: AttemptStarted) -> None:
    known = now.intents.get(event.intent or "")
    if known is not None:
        # A process that did not know of its end may send it again: what the store holds stays as it is.
        open_ = known.state in (IntentState.PREPARED, IntentState.SENDING)
        state = IntentState.SENDING if open_ else known.state
        _change_intent(now, event, state=state, attempts=max(known.attempts, body.attempt))


def _wire_accepted(now: RunSnapshot, event: Event, _body: WireAccepted) -> None:
    known = now.intents.get(event.intent or "")
    if known is not None:
        _change_intent(now, event, accepted=(*known.accepted, event.seq))


def _chunk_acked(now: RunSnapshot, event: Event, _body: ChunkAcked) -> None:
    known = now.intents.get(event.intent or "")
    if known is not None:
        _change_intent(now, event, acked=known.acked + 1)


def _intent_reopened(now: RunSnapshot, event: Event, _body: IntentReopened) -> None:
    _change_intent(now, event, state=IntentState.PREPARED)


def _intent_settled(now: RunSnapshot, event: Event, body: IntentSettled) -> None:
    _change_intent(now, event, state=body.state)


_FOLDS = cast(
    "dict[type[Body], Callable[[RunSnapshot, Event, Body], None]]",
    {
        BugEnabled: _bug,
        ProcessStarted: _process_started,
        ProcessCrashed: _process_ended,
        ProcessStopped: _process_ended,
        LeaseTaken: _lease_taken,
        ThreadClosed: _thread_closed,
        WorldSession: _session_stored,
        SessionCreated: _session_created,
        SessionReset: _session_reset,
        SessionMoved: _session_moved,
        TranscriptAppended: _appended,
        MirrorAppended: _appended,
        DelegationAccepted: _delegation_accepted,
        DelegationStarted: _delegation_started,
        DelegationFinished: _delegation_finished,
        IntentPrepared: _intent_prepared,
        AttemptStarted: _attempt_started,
        WireAccepted: _wire_accepted,
        ChunkAcked: _chunk_acked,
        IntentSettled: _intent_settled,
        IntentReopened: _intent_reopened,
    },
)
