"""What the gateway asks of a store: verbs of the domain, each one transaction.

`story` is called with the verb's answer right after the commit, by the thread that committed, and before anybody who
waits is woken: durable facts are told in the order in which they became durable. What it returns is returned. `then` is
called with it on the loop, for all verbs in the order of their commits: that is the order of turns and deliveries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from trunkline.core.keys import Migration, StoredKey
from trunkline.core.reasons import Reason
from trunkline.core.store.binding_port import BindingStore
from trunkline.core.store.records import (
    Admission,
    Begun,
    DelegationRow,
    Finish,
    IntentFate,
    IntentRow,
    Loaded,
    NewSession,
    OpenIntent,
    Reset,
    SendRow,
    SessionRow,
    Settled,
    TranscriptLine,
    Unfinished,
    Work,
)
from trunkline.core.store.sqlite.lease import Claim
from trunkline.core.store.sqlite.sql.queue_admin import Filter, Nudge, Pruned, QueueRow, Shown, Verdict
from trunkline.core.values import DelegationId, HandResult, InboundId, IntentId, IntentState, Receipt, SessionId

T = TypeVar("T")


class Store(BindingStore, Protocol):
    """Durable state. Raises `core.errors.StoreError` when it cannot be used; a failing write is retried inside."""

    async def open(self) -> None:
        """Open, and bring an older store up to date. Raises `StoreTooNew` and leaves a newer one untouched.

        One that another process has is brought up to date by `claim`, once it is taken.
        """
        ...

    async def close(self) -> None: ...

    async def run(self) -> None:
        """The writer: runs as long as the gateway does."""
        ...

    async def claim(self, now: float, lasts: float) -> Claim:
        """Take the store, for this process alone, until `now + lasts`; or learn who holds it.

        From then on every write is refused with `LeaseLost` once another process has taken the store: nothing is
        stored, and `run` ends with that error. A store that was never claimed is used by whoever opens it. `close`
        gives it back.
        """
        ...

    async def renew(self, now: float, lasts: float) -> None:
        """Keep the claimed store until `now + lasts`.

        Raises `LeaseLost` when another process has taken it, and another `StoreError` when that cannot be written
        now.
        """
        ...

    async def unfinished(self) -> Unfinished: ...

    async def set_aside(self, left: Unfinished, now: float, story: Callable[[None], T]) -> T:
        """Have what cannot be read of what is unfinished not come again; a task of these has the outcome `lost`."""
        ...

    async def open_intents(self, after: int, limit: int) -> tuple[OpenIntent, ...]:
        """Open intents in the order in which they were created, from the one after number `after` on."""
        ...

    async def load_intents(self, ids: Sequence[IntentId]) -> Loaded:
        """Intents with their texts, in the order in which they were created."""
        ...

    async def bury(
        self, intent: IntentId, state: IntentState, reason: Reason, now: float, story: Callable[[None], T]
    ) -> T:
        """End an open intent whose row cannot be read. Nobody can be told of it, nor can it be mirrored."""
        ...

    async def admit(
        self,
        work: Work,
        identity: str,
        session: NewSession,
        now: float,
        story: Callable[[Admission], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Store a message once, with its session and its transcript line; a known identity stores nothing."""
        ...

    async def finish_turn(
        self,
        work: Work,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[tuple[IntentId, ...]], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """The turn is over: its intents and the end of its work in one. The story gets the ids that were new."""
        ...

    async def enqueue(
        self, intent: IntentRow, now: float, story: Callable[[bool], T], *, then: Callable[[T], None] | None = None
    ) -> T:
        """Store a prepared intent; the story gets whether it is new (a re-run turn queues nothing twice)."""
        ...

    async def mark_sending(self, intent: IntentRow, now: float) -> None:
        """From now on a crash leaves this intent ambiguous."""
        ...

    async def ack_chunk(
        self,
        intent: IntentRow,
        receipt: Receipt,
        mirror: NewSession | None,
        now: float,
        story: Callable[[Settled], T],
        *,
        then: Callable[[T], None] | None = None,
        mirror_due: bool = False,
    ) -> T:
        """Receipt of the next chunk; with the last one, mirror and end of the intent in the same transaction.

        `mirror_due`: the mirror was refused, and is to be stored later; see `mirror_now`.
        """
        ...

    def settle(
        self,
        intent: IntentRow,
        receipt: Receipt,
        mirror: NewSession | None,
        now: float,
        story: Callable[[Settled], T],
        *,
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """As `ack_chunk`, for the last chunk, without anybody who waits.

        `then` is called with the story's answer, in the order of the commits; or `failed` with the error of a write
        that was refused for its own fault.
        """
        ...

    async def defer(
        self, intent: IntentRow, next_at: float, reason: Reason, now: float, story: Callable[[None], T]
    ) -> T:
        """Try again later; attempts are kept."""
        ...

    async def end_intent(
        self,
        intent: IntentRow,
        state: IntentState,
        reason: Reason,
        mirror: NewSession | None,
        now: float,
        story: Callable[[Settled], T],
        *,
        mirror_due: bool = False,
        notice: IntentRow | None = None,
    ) -> T:
        """A final state other than delivered; what was accepted so far is mirrored as partial.

        `notice`: an intent that is stored with it.
        """
        ...

    async def due_mirrors(self) -> tuple[IntentRow, ...]:
        """Intents whose mirror is to be stored later; those of which nothing was accepted have none."""
        ...

    async def mirror_now(self, intent: IntentRow, mirror: NewSession, now: float, story: Callable[[Settled], T]) -> T:
        """Store a mirror that was refused before."""
        ...

    async def untold(self, after: int, limit: int) -> tuple[tuple[int, IntentRow, IntentFate], ...]:
        """Intents that have ended and whose hooks were not told, with their numbers, from the one after `after` on."""
        ...

    async def mark_told(self, intent: IntentId, story: Callable[[bool], T]) -> T:
        """The hooks were told how an intent ended; the story gets whether this is news."""
        ...

    def note_told(self, intent: IntentId, story: Callable[[bool], None]) -> None:
        """As `mark_told`, without anybody who waits."""
        ...

    async def accept_delegation(self, row: DelegationRow, story: Callable[[bool], T]) -> T:
        """Store a task before its hand starts; the story gets whether it is new."""
        ...

    async def start_delegation(self, delegation: DelegationId) -> None: ...

    async def finish_delegation(
        self,
        delegation: DelegationId,
        result: HandResult,
        callback: tuple[Work, str, NewSession] | None,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[Finish], T],
        *,
        then: Callable[[T], None] | None = None,
        kept: bool = False,
    ) -> T:
        """The first result, with what it sets going, in one; a later result changes nothing.

        `kept`: its text is told nobody, and is stored.
        """
        ...

    async def ensure_session(self, session: NewSession, now: float, story: Callable[[SessionRow], T]) -> T:
        """The session of a key, created at most once."""
        ...

    async def session(self, session_key: str) -> SessionRow | None: ...

    async def session_by_id(self, session: SessionId) -> SessionRow | None:
        """The session with this id under the key that it has today; none when its key has another one."""
        ...

    async def reset_session(self, session: NewSession, now: float, story: Callable[[Reset | None], T]) -> T:
        """Start a session anew, in the next generation and under a new id.

        A session that is still under the key which its place had by an older configuration is moved first. The story
        gets none when there is nothing to reset.
        """
        ...

    async def migrate_keys(
        self,
        codec: str,
        plan: Callable[[Sequence[StoredKey]], Migration],
        now: float,
        story: Callable[[Migration | None], T],
    ) -> T:
        """Bring keys that were written in another form than `codec` up to date, in one.

        The story gets none when there are none. A key that the plan calls unreadable stays, and is not planned again.
        """
        ...

    async def history(self, session: SessionId) -> tuple[TranscriptLine, ...]:
        """The transcript of a session by its id, whatever its key."""
        ...

    async def misplace(
        self, intent: IntentRow, receipt: Receipt, mirror: NewSession | None, now: float, story: Callable[[Settled], T]
    ) -> T:
        """The receipt of the next chunk shows another place: the intent ends so, and is mirrored where it is seen."""
        ...

    async def find_send(self, key: str) -> SendRow | None: ...

    async def begin_send(
        self,
        send: SendRow,
        intent: IntentRow,
        entry: NewSession | None,
        again: Callable[[IntentState], bool],
        now: float,
        story: Callable[[Begun], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Store a client's send, its intent, and the session that it goes to, in one.

        `send` and `intent` are of the first try. Where the key has sent before, nothing is stored, unless `again` says
        of the state in which that try is that another one may be made. An intent that hooks have seen (`untold`) is
        stored under its own id only: as the try that it was made for.
        """
        ...

    async def intent_fate(self, intent: IntentId) -> IntentFate | None: ...

    async def transcript(self, session_key: str) -> tuple[TranscriptLine, ...]: ...

    async def intent_state(self, intent: IntentId) -> IntentState | None: ...

    async def find_inbound(self, identity: str) -> InboundId | None: ...

    # ------------------------------------------------------------ operators, and keeping the store in order

    async def list_intents(self, which: Filter, *, after: int = 0, limit: int = 100) -> tuple[QueueRow, ...]:
        """Intents, open and ended, in the order in which they were created."""
        ...

    async def show_intent(self, intent: str) -> Shown:
        """One intent with its receipts. Raises `UnknownName`."""
        ...

    async def retry_intent(self, intent: str, now: float) -> None:
        """Have an intent that has ended tried again. Raises `UnknownName`, or `IllegalTransition`: nothing changed."""
        ...

    async def resolve_intent(self, intent: str, verdict: Verdict, now: float, *, provider_id: str = "") -> None:
        """Say what became of the chunk in doubt. Raises `UnknownName`, or `IllegalTransition`: nothing changed."""
        ...

    async def purge_intents(self, which: Filter, story: Callable[[int], T]) -> T:
        """Remove some intents that have ended; the story gets how many, fewer than `operate.BATCH` if it was all."""
        ...

    async def nudges_wait(self) -> bool:
        """Whether an operator has changed something that nobody has taken up yet; see `nudged`."""
        ...

    async def nudged(self, story: Callable[[tuple[Nudge, ...]], T]) -> T:
        """Some of what operators have changed since this was asked last; none: that is all."""
        ...

    async def prune(self, cutoff: float, story: Callable[[Pruned], T]) -> T:
        """Remove some of what ended before a time, and of what is remembered of messages received."""
        ...
