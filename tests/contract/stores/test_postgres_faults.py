"""What can happen between a gateway and its PostgreSQL server, and between two gateways on one."""

import contextlib
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import pytest

from tests.contract.store_kit.bench import all_at_once
from tests.support.cutting_proxy import Cut, CuttingProxy, cutting
from tests.support.factories import delegation
from tests.support.postgres import PASSWORD, URL_PASSWORD, Server, running
from trunkline.core.errors import LeaseLost, StoreError, StoreTooNew, UsageError
from trunkline.core.events import EventLog
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind
from trunkline.core.store.delegations import AcceptDelegation, ReadPosts
from trunkline.core.store.hand_worker import HandWorker
from trunkline.core.store.port import answer
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.postgres.migrate import open_server
from trunkline.core.store.postgres.store import PostgresStore, connect_server
from trunkline.core.store.queries import HasNudges
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql
from trunkline.core.store.sqlite.offline.opening import in_transaction

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running() as started:
        yield started


class Owner:
    def __init__(self, url: str) -> None:
        self.log = EventLog(lambda: 0.0)
        self.db = connect_server(url)
        self.store = PostgresStore(lambda: self.db, self.log.recorder("gateway"))
        self.ended = anyio.Event()
        #: numbers whose story was recorded, in order
        self.told: list[int] = []

    async def add(self, number: int) -> None:
        """Add a number to a table that takes the same one twice."""
        op = RunSql[None](op=lambda c: c.execute("INSERT INTO added (number) VALUES (?)", (number,)) and None)
        await self.store.write(op, lambda _: self.told.append(number))

    async def added(self) -> list[int]:
        sql = "SELECT number FROM added ORDER BY at"
        return await self.store.read(ReadSql(op=lambda c: [number for (number,) in c.execute(sql).fetchall()]))

    @property
    def refusals(self) -> list[str]:
        return [event.body.error for event in self.log.events if isinstance(event.body, StoreFailed)]


@asynccontextmanager
async def owner(url: str) -> AsyncGenerator[Owner]:
    it = Owner(url)
    await it.store.open()

    async def write() -> None:
        with contextlib.suppress(LeaseLost):
            await it.store.run()
        it.ended.set()

    try:
        await it.db.run(lambda c: c.execute("CREATE TABLE IF NOT EXISTS added (number bigint, at bigserial)"))
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            yield it
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await it.store.close()


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 -- it changes in the thread of the connection
            await anyio.sleep(0.01)


@pytest.fixture
def proxy(server: Server) -> Generator[CuttingProxy]:
    with cutting(server.port) as proxied:
        yield proxied


# ---------------------------------------------------------------- a COMMIT without an answer


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_commit_that_is_cut_off_is_made_once(server: Server, proxy: CuttingProxy, cut: Cut) -> None:
    async with owner(server.url(port=proxy.port)) as it:
        assert (await it.store.claim(0.0, 60.0)).taken
        for number in range(0, 60, 3):
            proxy.next_cut = cut
            await all_at_once(*(lambda n=n: it.add(n) for n in range(number, number + 3)))
        assert proxy.cuts == 20
        assert it.told == list(range(60))
        assert sorted(await it.added()) == list(range(60))
        # It is still the holder, with a lock of its new session.
        await it.store.renew(0.0, 60.0)


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_commit_stays_in_doubt_while_the_server_cannot_be_asked(
    server: Server, proxy: CuttingProxy, cut: Cut
) -> None:
    async with owner(server.url(port=proxy.port)) as it, anyio.create_task_group() as group:
        proxy.next_cut, proxy.shut_then = cut, True
        group.start_soon(it.add, 1)
        await until(lambda: len(it.refusals) >= 2)
        assert it.told == []
        assert "not known yet" in it.store.refusal
        group.start_soon(it.add, 2)
        await anyio.sleep(0.05)
        proxy.shut = False
        await until(lambda: len(it.told) == 2)
        assert it.told == await it.added() == [1, 2]
        assert it.store.refusal == ""


@pytest.mark.parametrize("xid", [1 << 60, 100_000])
async def test_a_commit_that_the_server_does_not_know_ends_the_store(server: Server, xid: int) -> None:
    async def end() -> None:
        async with owner(server.url()) as it:
            cast("Any", it.db)._conn.doubt = str(xid)
            await it.add(1)

    with pytest.raises(ExceptionGroup) as group:
        await end()
    assert group.group_contains(StoreError, match="does not know the last commit")


async def test_a_transaction_that_has_failed_is_never_taken_for_committed(server: Server) -> None:
    def swallow(c: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):
            c.execute("INSERT INTO nowhere VALUES (1)")

    async with owner(server.url()) as it:
        with pytest.raises(sqlite3.IntegrityError, match="nothing was committed"):
            await it.store.write(RunSql[None](op=swallow), answer)
        await it.add(1)
        assert await it.added() == [1]


# ---------------------------------------------------------------- a server that is started again


@pytest.mark.parametrize("mode", ["immediate", "fast"])
async def test_a_restart_of_the_server_under_load_loses_and_doubles_nothing(mode: str) -> None:
    with running(durable=True) as server:
        async with owner(server.url()) as it:
            assert (await it.store.claim(0.0, 60.0)).taken
            count, stop = 0, False

            async def keep_adding() -> None:
                nonlocal count
                while not stop:
                    number, count = count, count + 1
                    await it.add(number)

            async with anyio.create_task_group() as group:
                for _ in range(10):
                    group.start_soon(keep_adding)
                for _ in range(2):
                    enough = len(it.told) + 50
                    await until(lambda enough=enough: len(it.told) >= enough)
                    await anyio.to_thread.run_sync(server.stop, mode)
                    with anyio.fail_after(20):
                        await until(lambda: it.store.refusal != "")
                    await anyio.to_thread.run_sync(server.start)
                    # A read during the restart is answered after it.
                    assert await it.store.read(HasNudges()) is False
                stop = True
            assert sorted(it.told) == list(range(count))
            assert sorted(await it.added()) == list(range(count))


# ---------------------------------------------------------------- two owners


async def test_a_holder_whose_session_ends_is_replaced_at_once(server: Server) -> None:
    url = server.url()
    async with owner(url) as first, owner(url) as second:
        assert (await first.store.claim(0.0, 60.0)).taken
        assert not (await second.store.claim(0.0, 60.0)).taken
        # What the server sees when the process is killed.
        await anyio.to_thread.run_sync(cast("Any", first.db)._conn.raw.close)
        await anyio.sleep(0.1)
        found = await second.store.claim(0.0, 60.0)
        assert (found.taken, found.reason, found.lease.token) == (True, Reason.HOLDER_DEAD, 2)
        with pytest.raises(LeaseLost):
            await first.add(1)
        assert await second.added() == []


@pytest.mark.parametrize("clock", [0.0, 1e12])
async def test_the_lease_of_a_frozen_holder_ends_by_the_servers_clock(server: Server, clock: float) -> None:
    url = server.url()
    async with owner(url) as first, owner(url) as second:
        assert (await first.store.claim(clock, 1.0)).taken
        await first.store.renew(clock, 1.0)
        assert not (await second.store.claim(clock, 1.0)).taken
        await anyio.sleep(1.1)
        found = await second.store.claim(clock, 60.0)
        assert (found.taken, found.reason) == (True, Reason.LEASE_EXPIRED)
        # It has the lock as well, so that its own death can be proven at once.
        assert await second.store.read(ReadSql(op=lambda c: c.execute("SELECT lock FROM lease").fetchone())) == (
            "session",
        )
        with pytest.raises(LeaseLost):
            await first.add(1)
        await first.ended.wait()
        assert await second.added() == []


@pytest.mark.parametrize("piped", [False, True])
async def test_a_holder_that_freezes_in_a_transaction_holds_up_nobody(server: Server, *, piped: bool) -> None:
    url = server.url()
    thawed = anyio.Event()

    def freeze(c: sqlite3.Connection) -> None:
        c.execute("INSERT INTO added (number) VALUES (1)")
        if piped:
            # As `executemany` does it: the server waits for more, and takes that for no idleness.
            raw = cast("PgConnection", c).raw.pgconn
            raw.enter_pipeline_mode()
            raw.send_query_params(b"SELECT 1", None)
            raw.send_flush_request()
            raw.flush()
        time.sleep(4.0)

    async with owner(url) as first, owner(url) as second, anyio.create_task_group() as group:
        assert (await first.store.claim(0.0, 1.0)).taken

        async def write() -> None:
            with pytest.raises(LeaseLost):
                await first.store.write(RunSql[None](op=freeze), answer)
            thawed.set()

        group.start_soon(write)
        await anyio.sleep(1.1)
        with anyio.fail_after(2.9):
            found = await second.store.claim(0.0, 60.0)
        assert found.taken
        assert not thawed.is_set()
        await second.add(2)
        await thawed.wait()
        assert await second.added() == [2]


async def test_a_holder_that_was_cut_off_has_its_lock_again_with_its_next_statement(server: Server) -> None:
    url = server.url()
    async with owner(url) as first, owner(url) as second:
        assert (await first.store.claim(0.0, 60.0)).taken
        await anyio.to_thread.run_sync(cast("Any", first.db)._conn.raw.close)
        await first.add(1)
        found = await second.store.claim(0.0, 60.0)
        assert (found.taken, found.reason) == (False, Reason.LEASE_HELD)
        await first.add(2)
        assert await second.added() == [1, 2]


async def test_a_waiting_process_that_loses_a_race_frees_the_lock(server: Server) -> None:
    url = server.url()
    async with owner(url) as first, owner(url) as second, owner(url) as third:
        assert (await first.store.claim(0.0, 60.0)).taken
        first.db.process_lock.drop()
        found = await all_at_once(lambda: second.store.claim(0.0, 60.0), lambda: third.store.claim(0.0, 60.0))
        taken = [claim.taken for claim in found]
        assert sorted(taken) == [False, True]
        # The loser does not keep what proves the death of the winner.
        winner, loser = (second, third) if taken[0] else (third, second)
        await winner.store.renew(0.0, 60.0)
        winner.db.process_lock.drop()
        assert (await loser.store.claim(0.0, 60.0)).reason is Reason.HOLDER_DEAD


async def test_a_process_that_was_cut_off_itself_proves_nobody_dead(server: Server) -> None:
    url = server.url()
    async with owner(url) as first, owner(url) as second:
        assert (await first.store.claim(0.0, 60.0)).taken
        for it in (second, first):
            await anyio.to_thread.run_sync(cast("Any", it.db)._conn.raw.close)
        await anyio.sleep(0.1)
        assert not (await second.store.claim(0.0, 60.0)).taken
        await first.store.renew(0.0, 60.0)
        await first.add(1)
        assert await first.added() == [1]


# ---------------------------------------------------------------- what a start says


async def refused(url: str, kind: type[Exception] = StoreError) -> str:
    """What `open` says; never with the password."""
    store = PostgresStore(lambda: connect_server(url), EventLog(lambda: 0.0).recorder("gateway"))
    with pytest.raises(kind) as error:
        await store.open()
    said = str(error.value)
    assert PASSWORD not in said
    assert URL_PASSWORD not in said
    return said


async def test_what_is_wrong_with_a_server_is_said_without_the_password(server: Server) -> None:
    url = server.url("s")
    assert "password authentication failed" in await refused(url.replace("trunkline:a", "trunkline:b"))
    assert 'database "nowhere" does not exist' in await refused(url.replace("/postgres?", "/nowhere?"))
    assert "refused" in await refused(url.replace(f":{server.port}", ":1"))
    with pytest.raises(UsageError, match="small letters"):
        connect_server(url.replace("schema=s", "schema=S;"))
    with pytest.raises(UsageError, match="postgresql://USER@HOST"):
        connect_server("postgresql://[")
    assert "none of libpq" in await refused(url.replace("?", "?nonsense=1&"), UsageError)
    raw = PgConnection(server_address(url)).raw
    raw.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
    raw.execute("CREATE ROLE guest LOGIN PASSWORD 'x'")
    raw.close()
    assert "encoding" in await refused(url.replace("/postgres?", "/ascii?"))
    guest = url.replace(urlsplit(url).netloc.partition("@")[0], "guest:x")
    assert "permission denied for database" in await refused(guest)


async def test_a_store_of_a_newer_version_is_left_alone(server: Server) -> None:
    url = server.url()
    async with owner(url) as it:
        await it.db.run(lambda c: c.execute("UPDATE store_version SET version = 999"))
    store = PostgresStore(lambda: connect_server(url), EventLog(lambda: 0.0).recorder("gateway"))
    with pytest.raises(StoreTooNew, match="version 999"):
        await store.open()


async def test_two_gateways_that_start_at_once_make_one_store(server: Server) -> None:
    url = server.url()
    async with owner(url) as one, owner(url) as two:
        await one.add(1)
        assert await two.added() == [1]
    others = [connect_server(fresh) for fresh in [server.url()] * 4]
    stores = [PostgresStore(lambda db=db: db, EventLog(lambda: 0.0).recorder("gateway")) for db in others]
    answers = await all_at_once(*(store.open for store in stores))
    for store in stores:
        await store.close()
    assert answers == [None] * 4


async def test_what_another_process_leaves_is_heard_once_a_transaction(server: Server) -> None:
    """Also after the connection to which notifications come was lost; what is left in another schema is not heard."""
    url, other = server.url(), server.url()
    calls: list[float] = []

    def leave(where: str, table: str, times: int) -> None:
        with open_server(where) as c, in_transaction(c):
            for number in range(times):
                if table == "nudges":
                    c.execute("INSERT INTO nudges (intent_id, verb, before) VALUES (?, 'retry', '')", (str(number),))
                else:
                    c.execute(
                        "INSERT INTO hand_posts (delegation_id, verb, text, by, at) VALUES (?, 'answer', '', '', 0)",
                        (str(number),),
                    )

    async def heard(times: int) -> None:
        await until(lambda: len(calls) >= times)
        await anyio.sleep(0.2)
        assert len(calls) == times

    async with owner(other), owner(url) as it, anyio.create_task_group() as group:
        group.start_soon(it.store.listen, lambda: calls.append(time.monotonic()))
        await heard(1)
        began = time.monotonic()
        await anyio.to_thread.run_sync(leave, url, "nudges", 3)
        await until(lambda: len(calls) == 2)
        assert calls[-1] - began < 1.0
        await anyio.to_thread.run_sync(leave, other, "nudges", 1)
        await anyio.to_thread.run_sync(leave, url, "hand_posts", 2)
        await heard(3)
        with open_server(url) as c:
            c.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
        await until(lambda: len(calls) >= 5)
        before = len(calls)
        await anyio.to_thread.run_sync(leave, url, "nudges", 1)
        await heard(before + 1)
        group.cancel_scope.cancel()


async def test_a_worker_takes_a_task_from_a_server_and_answers_there(server: Server) -> None:
    url = server.url()
    async with owner(url) as it:
        await it.store.write(AcceptDelegation(row=delegation(kind=HandKind.WORKER)), answer)
        calls: list[int] = []
        async with anyio.create_task_group() as group:
            group.start_soon(it.store.listen, lambda: calls.append(1))
            await until(lambda: len(calls) == 1)

            def work() -> list[bool]:
                worker = HandWorker(url, name="w1")
                task = worker.take("clerk")
                assert task is not None and worker.take("clerk") is None
                worker.progress(task.delegation, task.ticket or "", "half")
                return [worker.answer(task.delegation, task.ticket, text) for text in ("three", "four")]

            assert await anyio.to_thread.run_sync(work) == [True, False]
            # Not for the take that found nothing.
            await until(lambda: len(calls) >= 2)
            group.cancel_scope.cancel()
        left = [post.text for post in await it.store.read(ReadPosts())]
        assert left == ["", "half", "three", "four"]
    with pytest.raises(StoreError, match="no gateway has used it"):
        await anyio.to_thread.run_sync(HandWorker(server.url()).take, "clerk")
