"""An inline connection answers like a real one."""

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import aiosqlite
import pytest

from tests.support.sqlite_probes import connection_to, count, insert, refusal
from trunkline.sim.loop import run
from trunkline.sim.store.inline_sqlite import make_inline

Answers = list[object]
Probe = Callable[[aiosqlite.Connection, Answers, threading.Event], Awaitable[None]]


async def probe_rows(db: aiosqlite.Connection, answers: Answers, gate: threading.Event) -> None:
    await db.execute("CREATE TABLE u (id INTEGER PRIMARY KEY, body TEXT)")
    cursor = await db.execute("INSERT INTO u (body) VALUES (?)", ("a",))
    answers += [cursor.lastrowid, cursor.rowcount]
    await db.executemany("INSERT INTO u (body) VALUES (?)", [("b",), ("c",)])
    answers.append(await db.execute_insert("INSERT INTO u (body) VALUES ('d')"))
    answers.append(await db.execute_fetchall("SELECT * FROM u"))
    async with db.execute("SELECT body FROM u WHERE id > ?", (1,)) as rows:
        answers.append(await rows.fetchone())
        answers.append(await rows.fetchmany(1))
        answers.append([row async for row in rows])
    db.row_factory = sqlite3.Row
    async with db.execute("SELECT id AS number FROM u LIMIT 1") as rows:
        row = await rows.fetchone()
        assert row is not None
        answers.append(row["number"])
    answers.append(db.total_changes)


async def probe_errors(db: aiosqlite.Connection, answers: Answers, gate: threading.Event) -> None:
    answers.append(await refusal(db.execute("SELECT nothing FROM nowhere")))
    answers.append(await refusal(db.execute("INSERT INTO t VALUES (1), (1)")))
    answers.append(await refusal(db.execute("SELECT ?", ())))
    answers.append(await db.execute_fetchall("SELECT count(*) FROM t"))


async def probe_functions(db: aiosqlite.Connection, answers: Answers, gate: threading.Event) -> None:
    await db.create_function("twice", 1, lambda number: number * 2)
    answers.append(await db.execute_fetchall("SELECT twice(21)"))
    await db.executescript("INSERT INTO t VALUES (7); INSERT INTO t VALUES (8);")
    answers.append([line async for line in db.iterdump()])


async def probe_transactions(db: aiosqlite.Connection, answers: Answers, gate: threading.Event) -> None:
    await db.execute("BEGIN")
    await db.execute("INSERT INTO t VALUES (1)")
    answers.append(db.in_transaction)
    await db.rollback()
    await db.execute("BEGIN")
    await db.execute("INSERT INTO t VALUES (2)")
    await db.commit()
    answers.append(db.in_transaction)
    answers.append(await db.execute_fetchall("SELECT * FROM t"))


class Watched:
    """Tells what is queued on a connection, in order, and can hold its thread meanwhile."""

    def __init__(self, db: aiosqlite.Connection, gate: threading.Event) -> None:
        self.db, self.gate = db, gate
        self.queued: list[Any] = []
        self._execute = db._execute
        db._execute = self._note_and_execute  # type: ignore[method-assign]

    async def _note_and_execute(self, function: Any, *args: Any, **options: Any) -> Any:
        self.queued.append(args)
        return await self._execute(function, *args, **options)

    async def until_queued(self, number: int) -> None:
        while len(self.queued) < number:  # noqa: ASYNC110 - an event would have to be set by the code under test
            await asyncio.sleep(0)

    async def cancel_while_queued(self, work: Coroutine[Any, Any, Any]) -> str:
        """Cancel an operation that waits behind another one; tell what its awaiter sees."""
        await self.db.create_function("pass_gate", 0, lambda: self.gate.wait(30))
        self.queued.clear()
        first = asyncio.ensure_future(self.db.execute_fetchall("SELECT pass_gate()"))
        await self.until_queued(1)
        task = asyncio.ensure_future(work)
        await self.until_queued(2)
        task.cancel()
        self.gate.set()
        ending = (await asyncio.gather(task, return_exceptions=True))[0]
        await first
        return type(ending).__name__


async def probe_cancelled_statement_still_runs(
    db: aiosqlite.Connection, answers: Answers, gate: threading.Event
) -> None:
    answers.append(await Watched(db, gate).cancel_while_queued(insert(db, 5)))
    answers.append(await db.execute_fetchall("SELECT * FROM t"))


async def probe_cancelled_commit_still_commits(
    db: aiosqlite.Connection, answers: Answers, gate: threading.Event
) -> None:
    await db.execute("BEGIN")
    await insert(db, 6)
    answers.append(await Watched(db, gate).cancel_while_queued(db.commit()))
    await db.execute_fetchall("SELECT 1")
    answers.append(db.in_transaction)


async def probe_queued_statements_keep_their_order(
    db: aiosqlite.Connection, answers: Answers, gate: threading.Event
) -> None:
    watched = Watched(db, gate)
    await asyncio.gather(*(insert(db, number) for number in range(20)))
    queued = [parameters[0] for _, parameters in watched.queued]
    answers.append(sorted(queued))
    answers.append([row[0] for row in await db.execute_fetchall("SELECT x FROM t ORDER BY rowid")] == queued)


async def probe_closing(db: aiosqlite.Connection, answers: Answers, gate: threading.Event) -> None:
    cursor = await db.execute("SELECT 1")
    await db.execute("BEGIN")
    await insert(db, 9)  # lost: never committed
    await db.close()
    await db.close()
    answers.append(await refusal(db.execute("SELECT 1")))
    answers.append(await refusal(db.commit()))
    answers.append(await refusal(cursor.fetchone()))
    answers.append(await refusal(db))


async def probe_closing_with_work_queued(db: aiosqlite.Connection, answers: Answers, gate: threading.Event) -> None:
    watched = Watched(db, gate)
    queued = asyncio.ensure_future(insert(db, 3))
    await watched.until_queued(1)
    await db.close()
    answers.append(await refusal(queued))


async def probe_closing_twice_at_once(db: aiosqlite.Connection, answers: Answers, gate: threading.Event) -> None:
    """The second stop is put behind the first, after which nobody looks: its awaiter waits for ever."""
    closers = [asyncio.ensure_future(db.close()) for _ in range(2)]
    done, waiting = await asyncio.wait(closers, timeout=0.2)
    answers += [len(done), len(waiting)]
    for closer in waiting:
        closer.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


PROBES = [found for name, found in sorted(globals().items()) if name.startswith("probe_")]


async def answer(probe: Probe, db: aiosqlite.Connection, gate: threading.Event) -> Answers:
    answers: Answers = []
    async with db:
        await db.execute("CREATE TABLE t (x INTEGER UNIQUE)")
        await probe(db, answers, gate)
    return answers


def on_thread(probe: Probe, path: Path) -> Answers:
    answers = asyncio.run(answer(probe, connection_to(path), threading.Event()))
    return [*answers, count(path)]


def inline(probe: Probe, path: Path, latency: Callable[[], float] | None) -> Answers:
    db, gate = connection_to(path), threading.Event()
    make_inline(db, latency=latency)
    gate.set()  # there is no thread to hold: a job cannot run before the turn is over that queued it
    answers = run(lambda loop: answer(probe, db, gate))
    return [*answers, count(path)]


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__)
@pytest.mark.parametrize("latency", [None, lambda: 0.0, lambda: 0.001], ids=["none", "zero", "1 ms"])
def test_an_inline_connection_answers_as_a_real_one(
    probe: Probe, latency: Callable[[], float] | None, tmp_path: Path
) -> None:
    assert inline(probe, tmp_path / "inline.db", latency) == on_thread(probe, tmp_path / "real.db")


def test_the_probes_see_what_they_are_meant_to_see(tmp_path: Path) -> None:
    """Against a probe that is equal on both sides because it sees nothing."""
    assert inline(probe_cancelled_statement_still_runs, tmp_path / "1.db", None) == ["CancelledError", [(5,)], 1]
    assert inline(probe_cancelled_commit_still_commits, tmp_path / "2.db", None) == ["CancelledError", False, 1]
    closed = inline(probe_closing, tmp_path / "3.db", None)
    assert closed[:2] == ["ValueError: no active connection", "ValueError: no active connection"]
    assert closed[-2:] == ["RuntimeError: threads can only be started once", 0]
