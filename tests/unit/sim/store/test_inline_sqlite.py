"""The inline connection: one probe program gives the same answers on it and on a real aiosqlite connection."""

import asyncio
import contextlib
import gc
import sqlite3
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import aiosqlite
import anyio
import pytest

from trunkline.sim.loop import NODE, Node, SimLoop, SimulationError, run
from trunkline.sim.store.inline_sqlite import abandon, make_inline

Answers = list[object]
Probe = Callable[[aiosqlite.Connection, Answers, threading.Event], Awaitable[None]]


def connection_to(path: Path | str) -> aiosqlite.Connection:
    return aiosqlite.Connection(partial(sqlite3.connect, path, isolation_level=None), 64)


def count(path: Path | str) -> int:
    """How many rows the file holds, seen from outside."""
    with contextlib.closing(sqlite3.connect(path)) as raw:
        return raw.execute("SELECT count(*) FROM t").fetchone()[0]


async def refusal(awaitable: Awaitable[object]) -> str:
    """What an operation is refused with."""
    try:
        result = await awaitable
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return f"{type(error).__name__}: {error}"
    return f"not refused: {result!r}"


# The probes: each is run on both kinds of connection and must answer the same.


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


async def insert(db: aiosqlite.Connection, number: int) -> None:
    await db.execute("INSERT INTO t VALUES (?)", (number,))


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


# Time


async def opened(loop: SimLoop, **options: Any) -> aiosqlite.Connection:
    del loop
    db = connection_to(":memory:")
    make_inline(db, **options)
    await db
    await db.execute("CREATE TABLE t (x)")
    return db


def test_statements_take_their_latency_one_after_the_other() -> None:
    async def main(loop: SimLoop) -> list[float]:
        db = await opened(loop, latency=lambda: 0.5)
        start, ends = loop.time(), list[float]()

        async def work(number: int) -> None:
            await insert(db, number)
            ends.append(loop.time() - start)

        async with anyio.create_task_group() as group:
            for number in range(3):
                group.start_soon(work, number)
        await anyio.sleep(10)
        start = loop.time()
        await work(4)
        await db.close()
        return ends

    assert run(main) == [0.5, 1.0, 1.5, 0.5]


def test_without_latency_no_time_passes() -> None:
    async def main(loop: SimLoop) -> float:
        db = await opened(loop)
        for number in range(100):
            await insert(db, number)
        await db.close()
        return loop.time()

    assert run(main) == 0


# Faults


def test_what_the_hook_raises_reaches_the_awaiter_in_place_of_the_result() -> None:
    full = False

    def before(job: Callable[..., object]) -> None:
        if full:
            raise sqlite3.OperationalError("database or disk is full")

    async def main(loop: SimLoop) -> list[object]:
        nonlocal full
        db = await opened(loop, before=before)
        full = True
        answers: list[object] = [await refusal(insert(db, 1))]
        full = False
        answers.append(await db.execute_fetchall("SELECT count(*) FROM t"))
        await db.close()
        return answers

    assert run(main) == ["OperationalError: database or disk is full", [(0,)]]


def test_the_hook_sees_every_job_of_the_connection() -> None:
    jobs: list[Callable[..., object]] = []

    async def main(loop: SimLoop) -> None:
        db = await opened(loop, before=jobs.append)
        await db.close()

    run(main)
    names = [getattr(getattr(job, "func", job), "__name__", "?") for job in jobs]
    assert names[:3] == ["connect", "execute", "close"]
    assert len(names) == 4  # the last one stops the thread, under a name that differs between releases


# Death


def test_what_a_dead_node_queued_never_runs() -> None:
    raw = sqlite3.connect(":memory:", isolation_level=None)

    async def main(loop: SimLoop) -> list[str]:
        db = aiosqlite.Connection(lambda: raw, 64)
        make_inline(db, latency=lambda: 1.0)
        node, log = Node("gateway"), list[str]()

        async def process() -> None:
            await db
            await db.execute("CREATE TABLE t (x)")
            log.append("created")
            await insert(db, 1)
            log.append("inserted")

        loop.create_task(process(), context=node.context())
        await anyio.sleep(2.5)
        node.kill()
        await anyio.sleep(10)
        log.append(str(raw.execute("SELECT count(*) FROM t").fetchone()[0]))
        return log

    assert run(main) == ["created", "0"]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        raw.execute("SELECT 1")


def test_a_job_that_kills_its_node_is_heard_by_nobody() -> None:
    async def main(loop: SimLoop) -> list[str]:
        node, log = Node("gateway"), list[str]()

        class Crash(BaseException):
            pass

        def before(job: Callable[..., object]) -> None:
            if getattr(getattr(job, "func", None), "__name__", "") == "commit":
                node.kill()
                raise Crash

        async def process() -> None:
            assert NODE.get() is node
            try:
                db = await opened(loop, before=before)
                log.append("open")
                await db.commit()
                log.append("committed")
            finally:
                log.append("finally" if node.alive else "closed after the run")

        loop.create_task(process(), context=node.context())
        await anyio.sleep(10)
        return list(log)

    assert run(main) == ["open"]


def test_an_abandoned_connection_refuses_and_its_file_is_free(tmp_path: Path) -> None:
    path = tmp_path / "t.db"

    async def main(loop: SimLoop) -> list[str]:
        db = connection_to(path)
        make_inline(db)
        await db
        await db.execute("CREATE TABLE t (x)")
        await db.execute("BEGIN IMMEDIATE")
        await insert(db, 1)
        abandon(db)
        abandon(db)
        await db.close()
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as raw, raw:
            raw.execute("INSERT INTO t VALUES (2)")
        return [await refusal(insert(db, 3))]

    assert run(main) == ["ValueError: no active connection"]
    assert count(path) == 1


def test_a_connection_that_is_never_closed_is_closed_with_the_run(recwarn: pytest.WarningsRecorder) -> None:
    opened_raw: list[sqlite3.Connection] = []

    def connect() -> sqlite3.Connection:
        opened_raw.append(sqlite3.connect(":memory:"))
        return opened_raw[-1]

    async def main(loop: SimLoop) -> None:
        db = aiosqlite.Connection(connect, 64)
        make_inline(db)
        await db

    run(main)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened_raw[0].execute("SELECT 1")
    assert not recwarn.list


def test_after_the_run_a_connection_can_be_used_by_mistake_without_effect() -> None:
    ran: list[int] = []

    async def main(loop: SimLoop) -> aiosqlite.Connection:
        return await opened(loop)

    db = run(main)
    db._tx.put_nowait((None, lambda: ran.append(1)))
    assert ran == []


def test_a_closed_connection_is_not_kept_until_the_end_of_the_run() -> None:
    async def main(loop: SimLoop) -> bool:
        db = await opened(loop)
        await db.close()
        kept = weakref.ref(db)
        del db
        gc.collect()
        return kept() is None

    assert run(main)


# Misuse


def test_an_open_connection_cannot_be_made_inline() -> None:
    async def main() -> None:
        async with connection_to(":memory:") as db:
            with pytest.raises(SimulationError, match="before it is opened"):
                make_inline(db)

    asyncio.run(main())


def test_an_inline_connection_needs_a_simulated_loop() -> None:
    async def main() -> str:
        db = connection_to(":memory:")
        make_inline(db)
        return await refusal(db)

    assert asyncio.run(main()).startswith("SimulationError: an inline connection needs a SimLoop")
