"""Defects in what is stored of a delivery: receipts that are lost, and transcripts that tell something else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from trunkline.core.events import EventSink
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.reasons import Reason
from trunkline.core.store import Db, SqliteStore
from trunkline.core.store.records import IntentRow, NewSession, SessionRow, Settled, Work
from trunkline.core.store.sqlite.connection import Write
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.sql.bulk_writes import Acking
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.values import DelegationId, HandResult, IntentId, IntentState
from trunkline.sim.bugs.base import Bug
from trunkline.sim.bugs.queue import replay_uncounted
from trunkline.sim.bugs.store import keeping
from trunkline.sim.run.wiring import Wiring

T = TypeVar("T")


class _CarelessWriter(Writer):
    """A receipt that the disk refuses is given up, and nobody hears of it."""

    async def _commit(self, writes: list[Write]) -> list[Any]:
        if not all(isinstance(write.given, Acking) for write in writes):
            return await super()._commit(writes)
        try:
            return await self._db.transact(writes)
        except sqlite3.OperationalError:
            return [0] * len(writes)


class CarelessStore(SqliteStore):
    """Stores receipts where that is no trouble."""

    def __init__(self, connect: Callable[[], Db], events: EventSink) -> None:
        super().__init__(connect, events)
        self._writer = _CarelessWriter(self._db, events)


def _install_careless(wiring: Wiring) -> None:
    wiring.make_store = CarelessStore
    wiring.replace(recover=replay_uncounted)


class TwoWritersStore(SqliteStore):
    """The turn writes its answer into the transcript, and the delivery does so too: they have no key in common."""

    async def finish_turn(
        self,
        work: Work,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[tuple[IntentId, ...]], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """With a line for each answer."""
        answer = await super().finish_turn(work, intents, now, story, then=then)
        session = await self.session(work.session_key)
        for intent in intents if session is not None else ():
            assert session is not None
            await self._remember(session, "\n".join(intent.chunks), intent.id, now)
        return answer

    async def _remember(self, session: SessionRow, text: str, intent: IntentId, now: float) -> None:
        body = MirrorAppended(session_id=session.id, session_key=session.key, text=text)
        await self._writer.write(
            lambda c: append(c, session.id, "assistant", text, f"{intent}/again", now),
            lambda _: self._events.record(body, intent=intent),
        )


class RememberingAgainStore(TwoWritersStore):
    """The context is built anew for the result of a hand, and what was said last is taken for something new."""

    async def finish_turn(
        self,
        work: Work,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[tuple[IntentId, ...]], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """As it should be."""
        return await SqliteStore.finish_turn(self, work, intents, now, story, then=then)

    async def finish_delegation(
        self,
        delegation: DelegationId,
        result: HandResult,
        callback: tuple[Work, str, NewSession] | None,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[Any], T],
        *,
        then: Callable[[T], None] | None = None,
        kept: bool = False,
    ) -> T:
        """And the last answer is remembered once more."""
        answer = await super().finish_delegation(
            delegation, result, callback, intents, now, story, then=then, kept=kept
        )
        session = None if callback is None else await self.session(callback[0].session_key)
        if session is not None:
            said = [line for line in await self.history(session.id) if line.role == "assistant"]
            if said:
                await self._remember(session, said[-1].text, IntentId(said[-1].ref), now)
        return answer


class WholeTextStore(SqliteStore):
    """Remembers what was to be said, however much of it was."""

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
        """With all chunks."""
        whole = "\n".join(intent.chunks)

        def told(settled: Settled) -> T:
            return story(msgspec.structs.replace(settled, mirror_text=whole))

        answer = await super().end_intent(
            intent, state, reason, mirror, now, told, mirror_due=mirror_due, notice=notice
        )
        await self._writer.write(
            lambda c: c.execute("UPDATE transcript SET text = ? WHERE ref = ?", (whole, intent.id)), lambda _: None
        )
        return answer


MIRROR_BUGS = (
    Bug(
        name="two-writers",
        reports=("B063",),
        sentence="The turn and the delivery both write the answer into the transcript, without a common key.",
        caught_by=("M1",),
        install=keeping(TwoWritersStore),
    ),
    Bug(
        name="wake-mirrors-again",
        reports=("B064",),
        sentence="A context that is built anew is taken for a delivery: the old answer is remembered as a new one.",
        caught_by=("M2",),
        install=keeping(RememberingAgainStore),
    ),
    Bug(
        name="whole-text-remembered",
        reports=("B066",),
        sentence="The transcript has the whole text, though the platform refused a part of it.",
        caught_by=("M2",),
        install=keeping(WholeTextStore),
    ),
    Bug(
        name="ack-failure-swallowed",
        reports=("B109",),
        sentence="A receipt that cannot be stored is given up in silence, and its message is sent at every start.",
        caught_by=("D1", "L5", "V1"),
        install=_install_careless,
    ),
)
