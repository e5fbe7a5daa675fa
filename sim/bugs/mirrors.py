"""Defects in what is stored of a delivery: lost receipts, and transcripts that differ from what was sent."""

import sqlite3
from typing import Any

import msgspec

from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.records.rows import SessionRow, Settlement
from trunkline.core.store.commands import AckChunk, EndIntent, FinishTurn
from trunkline.core.store.delegations import FinishDelegation
from trunkline.core.store.queries import FindSession, ReadTranscript
from trunkline.core.store.sqlite.connection import PendingWrite
from trunkline.core.store.sqlite.group_commit import Writer
from trunkline.core.store.sqlite.handlers import RunSql
from trunkline.core.store.sqlite.sql.transcript import append
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import IntentId
from trunkline.sim.bugs.base import bug, replacing_write
from trunkline.sim.bugs.queue import replay_uncounted, send_unjudged
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.store.rewired import RewiredStore


class _CarelessWriter(Writer):
    """Gives up a receipt that the disk refuses, without an event."""

    async def _commit(self, writes: list[PendingWrite]) -> list[Any]:
        if not all(isinstance(write.command, AckChunk) and write.failed is not None for write in writes):
            return await super()._commit(writes)
        try:
            return await self._db.transact(writes)
        except sqlite3.OperationalError:
            return [0] * len(writes)


class CarelessStore(SqliteStore):
    """Stores receipts when that is no trouble."""

    def _make_writer(self) -> Writer:
        return _CarelessWriter(self._db, self._events)


@bug("two-writers", replacing_write(FinishTurn), reports=("B063",), caught_by=("M1",))
async def _finish_and_remember(store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
    """The turn and the delivery both write the answer into the transcript, without a common key."""
    answer = await store.inner.write(command, story, then)
    session = await store.inner.read(FindSession(key=command.work.session_key))
    for intent in command.intents if session is not None else ():
        assert session is not None
        await _remember(store, session, intent.content.text, intent.id, command.now)
    return answer


@bug("wake-mirrors-again", replacing_write(FinishDelegation), reports=("B064",), caught_by=("M2",))
async def _callback_remembers_again(store: RewiredStore, command: FinishDelegation, story: Any, then: Any) -> Any:
    """A context that is rebuilt is taken for a delivery: the old answer is remembered as a new one."""
    answer = await store.inner.write(command, story, then)
    callback = command.callback
    session = None if callback is None else await store.inner.read(FindSession(key=callback.work.session_key))
    if session is not None:
        lines = await store.inner.read(ReadTranscript(session=session.id))
        answers = [line for line in lines if line.role == "assistant"]
        if answers:
            await _remember(store, session, answers[-1].text, IntentId(answers[-1].ref), command.now)
    return answer


async def _remember(store: RewiredStore, session: SessionRow, text: str, intent: IntentId, now: float) -> None:
    body = MirrorAppended(session_id=session.id, session_key=session.key, text=text)
    await store.inner.write(
        RunSql(op=lambda c: append(c, session.id, "assistant", text, f"{intent}/again", now)),
        lambda _: store.events.record(body, intent=intent),
    )


@bug("whole-text-remembered", replacing_write(EndIntent), reports=("B066",), caught_by=("M2",))
async def _end_with_whole_text(store: RewiredStore, command: EndIntent, story: Any, then: Any) -> Any:
    """The transcript has the whole text, though the platform refused a part of it."""
    intent = command.intent
    whole = intent.content.text

    def with_whole_text(settled: Settlement) -> Any:
        return story(msgspec.structs.replace(settled, mirror_text=whole))

    answer = await store.inner.write(command, with_whole_text, then)
    await store.inner.write(
        RunSql(op=lambda c: c.execute("UPDATE transcript SET text = ? WHERE ref = ?", (whole, intent.id))),
        lambda _: None,
    )
    return answer


@bug("ack-failure-swallowed", reports=("B109",), caught_by=("D1", "L5", "V1"))
def _install_careless(wiring: Wiring) -> None:
    """A receipt that cannot be stored is given up in silence, and its message is sent at every start."""
    wiring.make_store = CarelessStore
    wiring.replace(recover=replay_uncounted, before_attempt=send_unjudged)


@bug("end-without-a-note", replacing_write(EndIntent), caught_by=("M2",))
async def _end_without_note(store: RewiredStore, command: EndIntent, story: Any, then: Any) -> Any:
    """What did not arrive is forgotten: the agent believes that it was said."""
    return await store.inner.write(msgspec.structs.replace(command, note=None, wake=None), story, then)
