"""Time, faults, dying nodes and misuse of an inline connection."""

import asyncio
import contextlib
import gc
import sqlite3
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiosqlite
import anyio
import pytest

from tests.support.sqlite_probes import connection_to, count, insert, refusal
from trunkline.sim.loop import NODE, Node, SimLoop, SimulationError, run
from trunkline.sim.store.inline_sqlite import abandon, make_inline

# ---------------------------------------------------------------- Time


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


# ---------------------------------------------------------------- Faults


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


# ---------------------------------------------------------------- Death


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


# ---------------------------------------------------------------- Misuse


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
