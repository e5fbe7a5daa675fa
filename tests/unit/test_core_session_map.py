"""The session map of seed 001: stable, durable, created once, never shared by accident."""

import anyio
import pytest

from core import EventLog, SessionMap, SqliteStore, connect_file, system_env
from core.config import SessionConfig
from core.events.bodies import SessionCreated
from core.routing import session_key_for
from tests.factories import direct

ANA, BEN = (session_key_for("main", direct(who), SessionConfig()) for who in ("100", "200"))


async def with_map(path, use):
    """Run `use(session map)` on a store file whose writer runs; its answer and the events."""
    env = system_env()
    log = EventLog(env.now)
    store = SqliteStore(lambda: connect_file(path, durability="normal"), log.recorder("test"))
    await store.open()
    answers = []
    async with anyio.create_task_group() as group:
        group.start_soon(store.run)
        answers.append(await use(SessionMap(store, env, log.recorder("test"))))
        group.cancel_scope.cancel()
    await store.close()
    return answers[0], [event.body for event in log.events if isinstance(event.body, SessionCreated)]


@pytest.mark.anyio
async def test_the_same_key_has_the_same_session_across_restarts(tmp_path):
    first, created = await with_map(tmp_path / "a", lambda sessions: sessions.get_or_create(ANA))
    again, not_again = await with_map(tmp_path / "a", lambda sessions: sessions.get_or_create(ANA))
    assert (first.id, first.created, again.created) == (again.id, True, False)
    assert ([body.session_key for body in created], not_again) == ([str(ANA)], [])


@pytest.mark.anyio
async def test_different_peers_share_nothing(tmp_path):
    async def both(sessions):
        return [await sessions.get_or_create(key) for key in (ANA, BEN)]

    (ana, ben), _ = await with_map(tmp_path / "a", both)
    assert ana.id != ben.id


@pytest.mark.anyio
async def test_fifty_callers_at_once_get_one_session(tmp_path):
    async def many(sessions):
        found = []

        async def ask():
            found.append(await sessions.get_or_create(ANA))

        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(ask)
        return found

    found, created = await with_map(tmp_path / "a", many)
    assert len({row.id for row in found}) == 1
    assert (sum(row.created for row in found), len(created)) == (1, 1)


@pytest.mark.anyio
async def test_asking_creates_nothing(tmp_path):
    async def ask(sessions):
        before = await sessions.get(ANA)
        made = await sessions.get_or_create(ANA)
        return before, made, await sessions.get(ANA)

    (before, made, after), _ = await with_map(tmp_path / "a", ask)
    assert before is None
    assert (after.id, after.created) == (made.id, False)
