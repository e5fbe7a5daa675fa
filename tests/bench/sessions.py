"""R3: what the session of a key costs in a store of a million sessions, against one of a thousand.

Both stores are files, opened as a gateway opens them, and asked through `SessionMap`, as a user would. The rows are put
in at once, behind the store's back: a million first messages would take an hour.
"""

import asyncio
import contextlib
import gc
import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from tests.support.bench.bar import Bar
from trunkline import EventLog, SessionMap, SqliteStore, connect_file, system_env
from trunkline.core.keys import SessionKey
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.sql.session_lookup import find_by_key
from trunkline.core.values import ChatKind

FEW, MANY = 1_000, 1_000_000
ROUNDS = 15
HITS = 300
_PLACE = '{"channel":"discord","account":"default","kind":"direct","conversation":"%s"}'


def peer(number: int) -> str:
    """The id of a person; as texts, ids have the order of their numbers, which is the fastest to insert."""
    return f"{number:07}"


def key(number: int) -> SessionKey:
    """The session key of a person."""
    return SessionKey(agent="main", channel="discord", account="default", kind=ChatKind.DIRECT, peer=peer(number))


def session_id(number: int) -> str:
    """An id as `system_env` makes them: its order tells nothing."""
    return f"session-{number * 0x9E3779B97F4A7C15 % 2**64:032x}"


def rows(count: int) -> Iterator[tuple[str, str, str]]:
    """Key, id and place of so many sessions."""
    for number in range(count):
        yield f"main:discord:default:direct:{peer(number)}", session_id(number), _PLACE % peer(number)


def fill(path: Path, count: int) -> None:
    """Make a store file of so many sessions."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        # It is thrown away; as it is read it has the settings of any other.
        raw.execute("PRAGMA synchronous=OFF")
        raw.execute("PRAGMA journal_mode=OFF")
        raw.execute("PRAGMA cache_size=-400000")
        migrate(raw)
        raw.execute("BEGIN")
        raw.executemany(
            "INSERT INTO session_map (session_key, agent_id, session_id, address, created_at, updated_at)"
            " VALUES (?, 'main', ?, ?, 1.0, 1.0)",
            rows(count),
        )
        raw.execute("COMMIT")


def read_once(path: Path) -> None:
    """Have a file in memory, as that of a gateway which has run for a while: this is not about disks."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


@asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[SessionMap, None]:
    """The session map of a file whose writer runs."""
    env = system_env()
    events = EventLog(env.now).recorder("bench")
    store = SqliteStore(lambda: connect_file(path), events)
    await store.open()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(store.run)
            yield SessionMap(store, env, events)
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await store.close()


async def hit_cost(sessions: SessionMap, keys: list[SessionKey]) -> float:
    """CPU seconds of one hit, of this thread and of the store's."""
    before = time.process_time()
    for one in keys:
        await sessions.get_or_create(one)
    return (time.process_time() - before) / len(keys)


def look_cost(raw: sqlite3.Connection, keys: list[SessionKey]) -> float:
    """CPU seconds of the look-up alone, without the way to the store's thread and back."""
    texts = [str(one) for one in keys]
    before = time.process_time()
    for text in texts:
        assert find_by_key(raw, text) is not None
    return (time.process_time() - before) / len(keys)


async def measure(folder: Path) -> dict[tuple[str, int], list[float]]:
    """Costs of hits and look-ups by the number of sessions, in each of the interleaved rounds."""
    dice = random.Random("sessions")
    costs: dict[tuple[str, int], list[float]] = {}
    async with contextlib.AsyncExitStack() as stack:
        maps = {}
        for count in (FEW, MANY):
            path = folder / f"{count}.db"
            fill(path, count)
            read_once(path)
            raw = stack.enter_context(contextlib.closing(sqlite3.connect(path, isolation_level=None)))
            maps[count] = (await stack.enter_async_context(opened(path)), raw)
        gc.collect()
        for number in range(ROUNDS + 1):
            for count, (sessions, raw) in maps.items():
                keys = [key(dice.randrange(count)) for _ in range(HITS)]
                found = {("hit", count): await hit_cost(sessions, keys), ("look", count): look_cost(raw, keys)}
                for name, cost in found.items() if number else ():  # the first round warms up
                    costs.setdefault(name, []).append(cost)
    return costs


@contextlib.contextmanager
def on_one_cpu() -> Iterator[None]:
    """Keep all threads on one CPU: whether two share one is chance, and doubles or halves the way between them."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def bars() -> list[Bar]:
    """Measure R3."""
    with tempfile.TemporaryDirectory() as folder, on_one_cpu():
        found = asyncio.run(measure(Path(folder)))
    ratio = statistics.median(m / f for f, m in zip(found["hit", FEW], found["hit", MANY], strict=True))
    few, many, *looks = (
        statistics.median(found[name, count]) * 1e6 for name in ("hit", "look") for count in (FEW, MANY)
    )
    note = (
        f"{few:.0f} us a hit among {FEW:,}, {many:.0f} us among {MANY:,}; "
        f"of which the look-up itself {looks[0]:.1f} and {looks[1]:.1f} us"
    )
    title = f"SessionMap hit path: {MANY:,} sessions / {FEW:,}"
    return [Bar(id="R3", title=title, measured=ratio, demand=1.5, better="lower", unit="x", note=note)]


if __name__ == "__main__":
    for bar in bars():
        print(bar)
