"""What the gateway asks of a store: verbs of the domain, each one transaction.

`story` is called with the verb's answer right after the commit, by the thread that committed, and before anybody who
waits is woken: durable facts are told in the order in which they became durable. What it returns is returned. `then` is
called with it on the loop, for all verbs in the order of their commits: that is the order of turns and deliveries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from core.keys import Migration, StoredKey
from core.reasons import Reason
from core.store.rows import (
    Admission,
    DelegationRow,
    Finish,
    IntentFate,
    IntentRow,
    NewSession,
    Reset,
    SendRow,
    SessionRow,
    Settled,
    TranscriptLine,
    Unfinished,
    Work,
)
from core.values import DelegationId, HandResult, InboundId, IntentId, IntentState, Receipt, SessionId

T = TypeVar("T")


class Store(Protocol):
    """Durable state. Raises `core.errors.StoreError` when it cannot be used; a failing write is retried inside."""

    async def open(self) -> None:
        """Open, and bring an older store up to date. Raises `StoreTooNew` and leaves a newer one untouched."""
        ...

    async def close(self) -> None: ...

    async def run(self) -> None:
        """The writer: runs as long as the gateway does."""
        ...

    async def unfinished(self) -> Unfinished: ...

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
        self, intent: IntentRow, receipt: Receipt, mirror: NewSession | None, now: float, story: Callable[[Settled], T]
    ) -> T:
        """Receipt of the next chunk; with the last one, mirror and end of the intent in the same transaction."""
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
    ) -> T:
        """A final state other than delivered; what was accepted so far is mirrored as partial."""
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
    ) -> T:
        """The first result, with what it sets going, in one; a later result changes nothing."""
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
        now: float,
        story: Callable[[bool], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Store a client's send and its intent in one; the story gets whether the intent is new."""
        ...

    async def intent_fate(self, intent: IntentId) -> IntentFate | None: ...

    async def transcript(self, session_key: str) -> tuple[TranscriptLine, ...]: ...

    async def intent_state(self, intent: IntentId) -> IntentState | None: ...

    async def find_inbound(self, identity: str) -> InboundId | None: ...
