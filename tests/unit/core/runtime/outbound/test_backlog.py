"""A long queue in a real gateway: a window of it in memory, a limit to it, all of it after a restart, broken rows."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import intent, open_intents
from tests.support.hooks import Told, hooks
from tests.support.sending import Platform, made, message, serving, texts
from tests.support.small_gateway import Running
from tests.support.stores import on_read
from trunkline import QueueFilter, SendStatus
from trunkline.core.errors import SendFailed
from trunkline.core.events.delivery import BacklogWaiting, IntentSettled, RecoveryDecided
from trunkline.core.events.gateway import ProcessRecovered
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import LoadedIntents
from trunkline.core.runtime.outbound import delivery_loop as delivery_module
from trunkline.core.store.queries import FindIntentFate, FindSend, ListOpenIntents, LoadIntents
from trunkline.core.values import IntentId, IntentState

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def platform(anyio_backend: str) -> Iterator[Platform]:
    tiny = Platform()
    yield tiny
    tiny.close()


def by_place(platform: Platform) -> dict[str, list[str]]:
    """What each conversation got, in order."""
    got: dict[str, list[str]] = defaultdict(list)
    for request in platform.sent:
        got[request.address.conversation].append(request.text)
    return got


async def fill(running: Running, count: int, places: int) -> dict[str, list[str]]:
    """Queue messages, in turn to several conversations; what each of them is to get, in order."""
    wanted: dict[str, list[str]] = defaultdict(list)
    for n in range(count):
        place = str(1000 + n % places)
        wanted[place].append(f"text {n}")
        await running.gateway.enqueue(message(f"user:{place}", f"text {n}", f"k{n}"))
    return wanted


# ---------------------------------------------------------------- a window of it


@pytest.mark.parametrize("places", [1, 7, 50])
async def test_what_is_beyond_the_window_is_delivered_in_its_order(path: Path, platform: Platform, places: int) -> None:
    platform.hold()
    async with serving(path, platform, delivery={"window": 2}) as running:
        wanted = await fill(running, 50, places)
        backlog = running.gateway._intents
        assert (backlog.count, backlog.held) == (50, 2)
        platform.held.set()
        await running.until(IntentSettled, 50)
        assert by_place(platform) == wanted
        # Nothing is kept of it, nor of this one.
        await running.gateway.send(message("user:9", "last", "last"))
        assert (backlog.count, backlog.held, backlog.by_lane, backlog._loaded, backlog._wanted) == (0, 0, {}, {}, {})


async def test_the_texts_of_a_window_only_are_held(path: Path, platform: Platform) -> None:
    platform.hold()
    async with serving(path, platform, delivery={"window": 3}) as running:
        await fill(running, 40, 4)
        lanes = running.gateway._intents.lanes._lanes
        held = [item for waiting in lanes.values() for item in waiting if item.row is not None]
        # Those that are being sent have been loaded for that.
        assert len(held) <= 3 + 4
        assert sum(len(waiting) for waiting in lanes.values()) == 40
        platform.held.set()
        await running.until(IntentSettled, 40)
    assert len(set(texts(platform))) == 40


async def test_a_window_is_filled_again_when_there_is_room_in_it(path: Path, platform: Platform) -> None:
    async with serving(path, platform, delivery={"window": 1}) as running:
        for n in range(5):
            await running.gateway.send(message(key=f"k{n}"))
            assert running.gateway._intents.held == 0
    assert len(platform.sent) == 5


async def test_nobody_reads_for_all_the_others(anyio_backend: str) -> None:
    class Shelf:
        """A store that reads only when it is told to."""

        def __init__(self) -> None:
            self.asked: list[tuple[str, ...]] = []
            self.go = anyio.Semaphore(0)

        async def read(self, query: LoadIntents) -> LoadedIntents:
            self.asked.append(tuple(query.ids))
            await self.go.acquire()
            return LoadedIntents(rows=tuple(intent(one) for one in query.ids if one != "gone"), broken={})

    shelf = Shelf()
    backlog, got = open_intents(store=shelf), dict[str, Any]()

    async def load(name: str) -> None:
        found = await backlog.load(IntentId(name))
        got[name] = None if found is None else found.id  # pyright: ignore[reportAttributeAccessIssue]

    async with anyio.create_task_group() as group:
        group.start_soon(load, "a")
        await anyio.wait_all_tasks_blocked()
        for name in ("b", "gone", "c"):
            group.start_soon(load, name)
        await anyio.wait_all_tasks_blocked()
        assert shelf.asked == [("a",)]
        shelf.go.release()
        await anyio.wait_all_tasks_blocked()
        # The first one goes on, and those that came meanwhile are read together.
        assert (got, shelf.asked[1:]) == ({"a": "a"}, [("b", "gone", "c")])
        group.start_soon(load, "d")
        await anyio.wait_all_tasks_blocked()
        shelf.go.release()
        await anyio.wait_all_tasks_blocked()
        assert got == {"a": "a", "b": "b", "gone": None, "c": "c"}
        shelf.go.release()
        await anyio.wait_all_tasks_blocked()
        assert (got["d"], shelf.asked[2:]) == ("d", [("d",)])
    shelf.go.release()
    await load("e")
    assert (backlog._loaded, backlog._wanted, backlog._loading) == ({}, {}, False)


# ---------------------------------------------------------------- a limit to it


LIMITS: list[Any] = [
    pytest.param({"max_backlog": 3}, 3, id="in all"),
    pytest.param({"max_backlog_per_conversation": 3}, 1, id="in a conversation"),
]


@pytest.mark.parametrize(("limits", "places"), LIMITS)
async def test_a_new_send_waits_for_room_and_that_is_recorded_once(
    path: Path, platform: Platform, limits: dict[str, int], places: int
) -> None:
    platform.hold()
    async with serving(path, platform, delivery=limits) as running:
        wanted = await fill(running, 3, places)
        async with anyio.create_task_group() as group:
            group.start_soon(running.gateway.send, message("user:1000", "late", "late"))
            [waiting] = await running.until(BacklogWaiting)
            assert (waiting.open, waiting.limit) == (3, 3)
            assert await running.store.read(FindSend(key="late")) is None
            platform.held.set()
        assert len(running.recorded(BacklogWaiting)) == 1
    wanted["1000"].append("late")
    assert by_place(platform) == wanted


async def test_a_conversation_that_is_full_holds_up_no_other(path: Path, platform: Platform) -> None:
    platform.hold()
    async with serving(path, platform, delivery={"max_backlog_per_conversation": 2}) as running:
        await fill(running, 2, 1)
        async with anyio.create_task_group() as group:
            group.start_soon(running.gateway.enqueue, message("user:1000", "late", "late"))
            await running.until(BacklogWaiting)
            await running.gateway.enqueue(message("user:2000", "other", "other"))
            platform.held.set()
        await running.until(IntentSettled, 4)
    assert by_place(platform) == {"1000": ["text 0", "text 1", "late"], "2000": ["other"]}


async def test_a_caller_that_waits_for_room_and_goes_away_leaves_nothing(path: Path, platform: Platform) -> None:
    platform.hold()
    async with serving(path, platform, delivery={"max_backlog": 1}) as running:
        await fill(running, 1, 1)
        async with anyio.create_task_group() as group:
            group.start_soon(running.gateway.send, message(key="gone"))
            await running.until(BacklogWaiting)
            group.cancel_scope.cancel()
        platform.held.set()
        await running.until(IntentSettled)
        assert (await running.gateway.send(message(text="again", key="gone"))).cached is False
    assert texts(platform) == ["text 0", "again"]


async def test_a_caller_that_waits_for_room_when_the_gateway_ends_gets_an_error(path: Path, platform: Platform) -> None:
    platform.hold()
    caught: list[SendFailed] = []

    async def late(running: Running) -> None:
        try:
            await running.gateway.send(message(key="late"))
        except SendFailed as error:
            caught.append(error)

    async with anyio.create_task_group() as group, serving(path, platform, delivery={"max_backlog": 1}) as running:
        await fill(running, 1, 1)
        group.start_soon(late, running)
        await running.until(BacklogWaiting)
    assert [error.facts for error in caught] == [
        "send 'late': the gateway ended before the result; retry with the same key"
    ]


# ---------------------------------------------------------------- all of it after a restart


@pytest.mark.parametrize("window", [2, 1000])
async def test_more_than_a_page_is_recovered_in_its_order(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(delivery_module, "_PAGE", 7)
    platform.hold()
    async with serving(path, platform) as running:
        wanted = await fill(running, 50, 6)
        await platform.arrived.wait()
    platform.held.set()
    async with serving(path, platform, delivery={"window": window}) as running:
        await running.until(IntentSettled, 50)
        [recovered] = running.recorded(ProcessRecovered)
        decided = running.recorded(RecoveryDecided)
    assert by_place(platform) == wanted
    assert (recovered.intents, len(decided)) == (50, 50)
    # Only the first one of each conversation can have been on its way.
    assert [body.decision for body in decided].count("resend") == 6


async def test_sending_begins_before_all_of_it_is_read(
    path: Path, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_module, "_PAGE", 10)
    platform.hold()
    async with serving(path, platform) as running:
        await fill(running, 50, 50)
    platform.held.set()
    read: list[int] = []
    running = made(path, platform)

    async def slowly(ask: Any, query: Any) -> Any:
        if query.after:
            # The second page is asked for when something of the first one has been delivered.
            await running.until(IntentSettled)
        page = await ask(query)
        read.append(len(page))
        return page

    on_read(running.store, ListOpenIntents, slowly)
    async with anyio.create_task_group() as group:
        group.start_soon(running.gateway.run)
        await running.until(IntentSettled, 50)
        group.cancel_scope.cancel()
    assert read == [10, 10, 10, 10, 10, 0]


async def test_what_is_new_comes_behind_what_was_left(path: Path, platform: Platform) -> None:
    platform.hold()
    async with serving(path, platform) as running:
        await fill(running, 5, 1)
        await platform.arrived.wait()
    platform.held.set()
    async with serving(path, platform, delivery={"window": 1}) as running:
        await running.gateway.send(message("user:1000", "new", "new"))
    assert texts(platform) == [*(f"text {n}" for n in range(5)), "new"]


# ---------------------------------------------------------------- rows that are broken


def spoil(path: Path, intent: str, column: str, value: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        assert db.execute(f"UPDATE intents SET {column} = ? WHERE id = ?", (value, intent)).rowcount == 1


@pytest.mark.parametrize("column", ["chunks", "address", "receipts", "kind"])
async def test_a_broken_row_is_set_aside_and_stops_no_other(path: Path, platform: Platform, column: str) -> None:
    told = Told()
    platform.hold()
    async with serving(path, platform, hooks=hooks(told)) as running:
        wanted = await fill(running, 9, 3)
        await platform.arrived.wait()
    platform.held.set()
    for one in ("send:k0", "send:k4"):
        spoil(path, one, column, '{"half')
    async with serving(path, platform, hooks=hooks(told)) as running:
        await running.until(IntentSettled, 9)
        ends = [event for event in running.log.events if isinstance(event.body, IntentSettled)]
        rows = await running.gateway.queue.intents(QueueFilter(ids=("send:k0", "send:k4")))
        # Whoever asks for one that may be out is told so. What surely is not may be sent again under its key.
        with pytest.raises(SendFailed, match="it ended as unknown: Its stored row cannot be read") as caught:
            await running.gateway.send(message("user:1000", "text 0", "k0"))
        again = await running.gateway.send(message("user:1001", "text 4", "k4", best_effort=True))
    assert caught.value.final
    # Without a place nobody knows what it stood behind.
    second = IntentState.UNKNOWN if column == "address" else IntentState.DEAD
    assert (again.status is SendStatus.DELIVERED) is (second is IntentState.DEAD)
    broken = {event.intent: event.body for event in ends if isinstance(event.body, IntentSettled) and event.intent}
    assert [(row.id, row.state, row.reason) for row in rows] == [
        ("send:k0", IntentState.UNKNOWN, Reason.BROKEN_ROW),
        ("send:k4", second, Reason.BROKEN_ROW),
    ]
    for row in rows:
        told_end = broken[row.id]
        assert (told_end.state, told_end.reason, bool(told_end.detail)) == (row.state, Reason.BROKEN_ROW, True)
    wanted["1000"].remove("text 0")
    wanted["1001"].remove("text 4")
    wanted["1001"] += ["text 4"] if second is IntentState.DEAD else []
    assert by_place(platform) == wanted
    async with serving(path, platform, hooks=hooks(told)) as running:
        # It is over for good.
        await running.gateway.send(message(key="another"))
        assert running.recorded(ProcessRecovered) == []


async def test_a_caller_that_waits_for_a_broken_row_gets_an_error(path: Path, platform: Platform) -> None:
    platform.hold()
    async with serving(path, platform) as running:
        await fill(running, 2, 1)
        await platform.arrived.wait()
    spoil(path, "send:k1", "chunks", "?")
    caught: list[SendFailed] = []

    async def again(running: Running) -> None:
        try:
            await running.gateway.send(message("user:1000", "text 1", "k1"))
        except SendFailed as error:
            caught.append(error)

    async with serving(path, platform) as running:
        read = anyio.Event()

        async def noted(ask: Any, query: Any) -> Any:
            found = await ask(query)
            read.set()
            return found

        on_read(running.store, FindIntentFate, noted)
        async with anyio.create_task_group() as group:
            group.start_soon(again, running)
            # It is open still, behind another one: its end is waited for.
            await read.wait()
            platform.held.set()
        assert await running.gateway.queue.purge(QueueFilter(states=(IntentState.DEAD,))) == 1
    assert len(caught) == 1
    assert "Its stored row cannot be read" in caught[0].facts
