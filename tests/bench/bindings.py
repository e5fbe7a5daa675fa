"""BOUND, EXPIRE: what a binding costs to find, and to end by its deadline, does not depend on how many there are.

BOUND is `SessionBindingService.resolve_by_conversation`: from a reference, as anybody may write it, to the binding that
holds now; hits and misses, spread over all bindings. EXPIRE is the sweep: so many bindings of a store whose time has
come, until all of their ends are durable and told, among many others or few whose time has not come.
Process CPU time, the best of interleaved rounds: the machine may be busy with other things.
"""

import asyncio
import contextlib
import gc
import random
import sqlite3
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio

from tests.support.bench.bar import Bar
from trunkline import EventLog, SqliteStore, connect_file, system_env
from trunkline.core.bindings.binding_index import BindingIndex
from trunkline.core.env import Env
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord, TargetKind
from trunkline.core.runtime.bindings.service import SessionBindingService
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.store.commands import Bind
from trunkline.core.store.queries import ListBindings
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.values import Address, ChatKind

FEW, SOME, MANY = 10, 1000, 100_000
LOOKS = 5000
#: one look-up in so many is of a conversation that nothing is bound to
MISSES = 5
#: bindings that end in one round of the sweep
ENDS = 200
ROUNDS = 15
NOW, SOON, LATE = 1000.0, 1001.0, 1e9


def place(number: int) -> Address:
    """A conversation; new texts each time, as a message brings them."""
    if number % 2:
        chat, topic = f"-100{number // 7}", str(MANY + number)
        return Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation=chat, thread=topic)
    thread = str(10**18 + number)
    return Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation=thread, parent="100")


def record(number: int, ends: float) -> SessionBindingRecord:
    """An active binding that is over then."""
    return SessionBindingRecord(
        binding_id=f"b{number}",
        target_session_key=f"main:subagent:m{number}.hand1",
        target_kind=TargetKind.SUBAGENT,
        conversation=place(number),
        bound_at=NOW,
        last_activity_at=NOW,
        max_age=ends - NOW,
    )


# -------------------------------------------------------------------- look-ups


def service_of(count: int) -> SessionBindingService:
    """The service of a gateway with so many active bindings; nothing but look-ups is asked of it."""
    nothing = cast("Any", None)
    bound = LiveBindings(nothing, Env(now=lambda: NOW, ids=nothing, seed=""), nothing)
    service = SessionBindingService(cast("Any", SimpleNamespace(bindings=bound)), lambda *_: None)
    dice = random.Random(count)
    for number in range(count):
        bound.index.add(record(number, LATE + dice.random()))
    return service


def looks(count: int) -> list[Address]:
    """Conversations to look up, spread over all of them; each fifth is bound to nothing."""
    dice = random.Random(count)
    return [place(dice.randrange(count) if at % MISSES else MANY + at) for at in range(LOOKS)]


def looking(service: SessionBindingService, places: list[Any]) -> float:
    """CPU seconds of one look-up."""
    find = service.resolve_by_conversation
    before = time.process_time()
    for one in places:
        find(one)
    return (time.process_time() - before) / len(places)


def check(service: SessionBindingService, places: list[ConversationRef]) -> None:
    """The shares are what they are said to be."""
    found = sum(service.resolve_by_conversation(one) is not None for one in places)
    assert found == LOOKS - LOOKS // MISSES, found


def look_bar() -> Bar:
    """BOUND."""
    # What is looked up is made first: what is made in the gaps that a large book leaves would be slower to read.
    places = {count: looks(count) for count in (FEW, MANY)}
    refs = {count: [ConversationRef.of(one) for one in asked] for count, asked in places.items()}
    services = {count: service_of(count) for count in places}
    costs: dict[tuple[str, int], list[float]] = {}
    for count, asked in refs.items():
        check(services[count], asked)
    for _ in range(ROUNDS):
        gc.collect()
        for count, service in services.items():
            costs.setdefault(("ref", count), []).append(looking(service, refs[count]))
            costs.setdefault(("place", count), []).append(looking(service, places[count]))
    bare = f"of a place that was read already {_us(costs['place', MANY])} / {_us(costs['place', FEW])}"
    return _bar(
        "BOUND", "a conversation's binding among 100,000 / among 10", costs["ref", MANY], costs["ref", FEW], bare
    )


# -------------------------------------------------------------------- the sweep


def fill(path: Path, count: int) -> None:
    """A store with so many active bindings."""
    dice = random.Random(count)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA synchronous=OFF")
        migrate(raw)
        raw.execute("BEGIN")
        for number in range(count):
            execute(raw, Bind(record=record(number, LATE + dice.random()), session=None, now=NOW))
        raw.execute("COMMIT")


class Swept:
    """A store whose bindings are loaded, and what the gateway holds of them."""

    def __init__(self, store: SqliteStore, env: Env) -> None:
        self._store = store
        self._clock = NOW
        self._next = 10 * MANY
        log = EventLog(env.now)
        self._bound = LiveBindings(store, Env(now=lambda: self._clock, ids=env.ids, seed=""), log.recorder("bench"))
        self._bound.connect(changed=lambda: None, ended=self._ended)
        self._left, self._swept = 0, anyio.Event()

    @property
    def index(self) -> BindingIndex:
        """What is bound."""
        return self._bound.index

    async def load(self) -> None:
        """Read what is in the store."""
        for one in (await self._store.read(ListBindings())).rows:
            self._bound.add(one)

    async def sweep(self) -> float:
        """CPU seconds of one binding that ends, of this thread and of the store's. The others stay as they are."""
        self._clock, count = NOW, len(self.index)
        first, self._next = self._next, self._next + ENDS
        for number in range(first, self._next):
            self._bound.add(
                await self._store.write(
                    Bind(record=record(number, SOON), session=None, now=NOW), lambda made: made.record
                )
            )
        self._clock, self._left, self._swept = SOON, ENDS, anyio.Event()
        before = time.process_time()
        for one in self.index.due(self._clock):
            self._bound.end_soon(one, one.expiry_reason, cause=None)
        await self._swept.wait()
        spent = time.process_time() - before
        assert len(self.index) == count, len(self.index)
        return spent / ENDS

    def _ended(self, _: SessionBindingRecord, cause: int | None) -> None:
        """The end of a binding is durable."""
        self._left -= 1
        if not self._left:
            self._swept.set()


@asynccontextmanager
async def swept(path: Path, count: int) -> AsyncGenerator[Swept, None]:
    """A store file with so many bindings, and its writer, which runs."""
    fill(path, count)
    env = system_env()
    store = SqliteStore(lambda: connect_file(path, durability="normal"), EventLog(env.now).recorder("bench"))
    await store.open()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(store.run)
            made = Swept(store, env)
            await made.load()
            assert len(made.index) == count, len(made.index)
            yield made
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


async def sweeping(folder: Path) -> dict[int, list[float]]:
    """Costs by the number of bindings that stay."""
    costs: dict[int, list[float]] = {}
    async with contextlib.AsyncExitStack() as stack:
        stores = {
            count: await stack.enter_async_context(swept(folder / f"{count}.db", count)) for count in (SOME, MANY)
        }
        for _ in range(ROUNDS):
            gc.collect()
            for count, store in stores.items():
                costs.setdefault(count, []).append(await store.sweep())
    return costs


def index_cost(count: int) -> list[float]:
    """CPU seconds of one binding that ends, in the index alone."""
    book, costs, dice = BindingIndex(), [], random.Random(count)
    for number in range(count):
        book.add(record(number, LATE + dice.random()))
    for _ in range(ROUNDS):
        for number in range(10 * MANY, 10 * MANY + ENDS):
            book.add(record(number, SOON))
        before = time.process_time()
        for one in book.due(SOON):
            book.remove(one.binding_id)
        costs.append((time.process_time() - before) / ENDS)
    return costs


def sweep_bar() -> Bar:
    """EXPIRE."""
    with tempfile.TemporaryDirectory() as folder:
        costs = asyncio.run(sweeping(Path(folder)))
    bare = f"in the index alone {_us(index_cost(MANY))} / {_us(index_cost(SOME))}"
    return _bar("EXPIRE", "an expired binding with 100,000 others / with 1,000", costs[MANY], costs[SOME], bare)


def bars() -> Iterator[Bar]:
    """Measure BOUND and EXPIRE."""
    yield look_bar()
    gc.collect()
    yield sweep_bar()


def _us(costs: list[float]) -> str:
    return f"{min(costs) * 1e6:.1f} us"


def _bar(name: str, title: str, high: list[float], low: list[float], more: str) -> Bar:
    return Bar(
        id=name,
        title=title,
        measured=min(high) / min(low),
        demand=1.5,
        better="lower",
        unit="x",
        note=f"{_us(high)} / {_us(low)}; {more}",
    )


if __name__ == "__main__":
    for bar in bars():
        print(bar)
