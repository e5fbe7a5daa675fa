"""The session map of seed 001: stable, durable, created once, never shared by accident, anew after a reset."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct, room
from trunkline import EventLog, SessionMap, SqliteStore, connect_file, system_env
from trunkline.core.config import DmScope, SessionConfig
from trunkline.core.env import Env
from trunkline.core.events import Body
from trunkline.core.events.gateway import SessionCreated, SessionReset
from trunkline.core.keys import SessionKey
from trunkline.core.records.rows import SessionRow
from trunkline.core.routing import session_key_for
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.values import Address
from trunkline.sim.loop import run
from trunkline.sim.run.env import SimIds, sim_env
from trunkline.sim.store.disk import Disk

ANA, BEN = (session_key_for("main", direct(who), SessionConfig()) for who in ("100", "200"))


class Maps:
    """Session maps over one storage: each has a store of its own, whose writer runs."""

    def __init__(self, connect: Callable[[], Db], env: Env) -> None:
        self._connect = connect
        self._env = env
        self.told: list[Body] = []

    @asynccontextmanager
    async def __call__(self) -> AsyncGenerator[SessionMap, None]:
        log = EventLog(self._env.now)
        store = SqliteStore(self._connect, log.recorder("test"))
        await store.open()
        async with anyio.create_task_group() as group:
            group.start_soon(store.run)
            yield SessionMap(store, self._env, log.recorder("test"))
            group.cancel_scope.cancel()
        await store.close()
        self.told += [event.body for event in log.events]

    def all(self, body: type[Body]) -> list[Any]:
        """What was told of a kind, by all that were closed."""
        return [one for one in self.told if isinstance(one, body)]


Told = Callable[[Maps], Awaitable[None]]
Play = Callable[[Told], None]


@pytest.fixture(params=["a file", "in virtual time"])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Play]:
    """Plays a test on a store in a file, in real time, and on the simulator's disk, in virtual time."""
    disk = Disk(lambda: None, lambda _: None)

    def on_file(test: Told) -> None:
        path = tmp_path / "store.db"
        anyio.run(test, Maps(lambda: connect_file(path, durability="normal"), system_env()), backend="asyncio")

    def on_disk(test: Told) -> None:
        run(lambda loop: test(Maps(disk.connect, sim_env(loop.time, loop.time, SimIds(lambda _: None), 1, {}))))

    yield on_file if request.param == "a file" else on_disk
    disk.discard()


def test_the_same_key_has_the_same_session_across_restarts(play: Play) -> None:
    async def test(maps: Maps) -> None:
        async with maps() as sessions:
            first = await sessions.get_or_create(ANA)
        async with maps() as sessions:
            again = await sessions.get_or_create(ANA)
        assert (first.id, first.created, again.created) == (again.id, True, False)
        assert [(body.session_key, body.session_id) for body in maps.all(SessionCreated)] == [(str(ANA), first.id)]

    play(test)


def test_a_place_is_recorded_with_the_session_that_it_makes(play: Play) -> None:
    async def test(maps: Maps) -> None:
        async with maps() as sessions:
            await sessions.get_or_create(ANA, direct("100"))
        [created] = maps.all(SessionCreated)
        assert (created.agent, created.address, created.generation, created.by) == ("main", direct("100"), 1, "caller")
        assert created.entry.chat_type == "direct"

    play(test)


ANA_HERE, BEN_HERE = direct("100"), direct("200")
ANA_SECOND_BOT, ANA_TELEGRAM = direct("100", account="second"), direct("100", channel="telegram")
ROOM = room("100")
#: the places that share a session, by scope
TOGETHER: dict[DmScope, list[set[Address]]] = {
    DmScope.MAIN: [{ANA_HERE, BEN_HERE, ANA_SECOND_BOT, ANA_TELEGRAM}, {ROOM}],
    DmScope.PER_PEER: [{ANA_HERE, ANA_SECOND_BOT, ANA_TELEGRAM}, {BEN_HERE}, {ROOM}],
    DmScope.PER_CHANNEL_PEER: [{ANA_HERE, ANA_SECOND_BOT}, {ANA_TELEGRAM}, {BEN_HERE}, {ROOM}],
    DmScope.PER_ACCOUNT_CHANNEL_PEER: [{ANA_HERE}, {ANA_SECOND_BOT}, {ANA_TELEGRAM}, {BEN_HERE}, {ROOM}],
}


@pytest.mark.parametrize("scope", DmScope)
@pytest.mark.parametrize("agent", ["main", "ops"])
def test_different_peers_share_a_session_only_where_it_is_configured(scope: DmScope, agent: str, play: Play) -> None:
    config = SessionConfig(dm_scope=scope)

    async def test(maps: Maps) -> None:
        ids: dict[str, set[Address]] = {}
        async with maps() as sessions:
            other = (await sessions.get_or_create(session_key_for("third", ANA_HERE, config))).id
            for place in (ANA_HERE, BEN_HERE, ANA_SECOND_BOT, ANA_TELEGRAM, ROOM):
                found = await sessions.get_or_create(session_key_for(agent, place, config), place)
                ids.setdefault(found.id, set()).add(place)
        assert other not in ids
        assert sorted(ids.values(), key=str) == sorted(TOGETHER[scope], key=str)

    play(test)


async def at_once(count: int, ask: Callable[[], Awaitable[SessionRow]]) -> list[SessionRow]:
    """Ask so often side by side."""
    found: list[SessionRow] = []

    async def one() -> None:
        found.append(await ask())

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(one)
    return found


def test_fifty_callers_at_once_get_one_session(play: Play) -> None:
    async def test(maps: Maps) -> None:
        async with maps() as sessions:
            found = await at_once(50, lambda: sessions.get_or_create(ANA))
        assert len({row.id for row in found}) == 1
        assert (sum(row.created for row in found), len(maps.all(SessionCreated))) == (1, 1)

    play(test)


def test_callers_of_different_keys_at_once_get_one_session_each(play: Play) -> None:
    async def test(maps: Maps) -> None:
        turn = iter([ANA, BEN] * 25)
        async with maps() as sessions:
            found = await at_once(50, lambda: sessions.get_or_create(next(turn)))
        assert len({(row.key, row.id) for row in found}) == 2
        assert sorted(body.session_key for body in maps.all(SessionCreated)) == sorted([str(ANA), str(BEN)])

    play(test)


def test_asking_creates_nothing(play: Play) -> None:
    async def test(maps: Maps) -> None:
        async with maps() as sessions:
            before = await sessions.get(ANA)
            made = await sessions.get_or_create(ANA)
            after = await sessions.get(ANA)
        assert before is None
        assert after is not None
        assert (after.id, after.created) == (made.id, False)

    play(test)


def test_a_reset_starts_a_new_generation_and_keeps_the_others(play: Play) -> None:
    async def test(maps: Maps) -> None:
        async with maps() as sessions:
            ana, ben = await sessions.get_or_create(ANA), await sessions.get_or_create(BEN)
            reset = await sessions.reset(ANA)
            assert reset is not None
            assert (ana.generation, reset.generation) == (1, 2)
            assert reset.id not in {ana.id, ben.id}
        async with maps() as sessions:
            again = await sessions.get_or_create(ANA)
            assert (again.id, again.generation, again.created) == (reset.id, 2, False)
            assert (await sessions.get_or_create(BEN)).id == ben.id
        [told] = maps.all(SessionReset)
        assert (told.session_key, told.session_id, told.generation, told.before) == (str(ANA), reset.id, 2, ana.id)

    play(test)


def test_every_reset_has_an_id_and_a_generation_of_its_own(play: Play) -> None:
    async def test(maps: Maps) -> None:
        ids: list[str] = []
        async with maps() as sessions:
            ids.append((await sessions.get_or_create(ANA)).id)
            for _ in range(4):
                reset = await sessions.reset(ANA)
                assert reset is not None
                ids.append(reset.id)
        assert len(set(ids)) == 5
        assert [body.generation for body in maps.all(SessionReset)] == [2, 3, 4, 5]

    play(test)


def test_where_there_is_no_session_nothing_is_reset_and_nothing_recorded(play: Play) -> None:
    async def test(maps: Maps) -> None:
        async with maps() as sessions:
            assert await sessions.reset(SessionKey(agent="main")) is None
            assert await sessions.get(SessionKey(agent="main")) is None
        assert maps.told == []

    play(test)
