"""A real gateway on a real file, while somebody sets the wall clock."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.factories import direct
from tests.support.sending import Tried, message, texts
from tests.support.small_gateway import Clerk, Echo, Running
from trunkline import EventLog, Gateway, GatewayConfig, Idempotency, SqliteStore, connect_file, system_env
from trunkline.core.channels.adapter import Ready
from trunkline.core.env import Env
from trunkline.core.errors import Ambiguous, PlatformError
from trunkline.core.events.delivery import AttemptEnded, IntentSettled, LaneWaiting
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.runtime.outbound.interrupted import doubt_at
from trunkline.core.store.queries import LoadIntents
from trunkline.core.values import IntentId, IntentState

pytestmark = pytest.mark.anyio

#: an hour back, as after a wrong battery; a little back, as by time synchronisation; an hour forward
JUMPS = [-3600.0, -20.0, 3600.0]
FAST: dict[str, Any] = {"backoff": [0.15], "max_attempts": 9, "request_timeout": 0.4, "lease": 5}


class Machine:
    """A machine whose wall clock somebody sets, with a gateway on it."""

    def __init__(self, path: Path, platform: Tried) -> None:
        self.set_by = 0.0
        self._path, self._platform = path, platform

    def wall(self) -> float:
        return time.time() + self.set_by

    def gateway(self, **delivery: Any) -> Running:
        """A process that starts now."""
        env = Env(now=self.wall, ids=system_env().ids, seed="")
        log = EventLog(env.now)
        store = SqliteStore(lambda: connect_file(self._path, durability="normal"), log.recorder("gateway"))
        gateway = Gateway(
            config=GatewayConfig.model_validate({"delivery": {**FAST, **delivery}}),
            store=store,
            adapters=[self._platform],
            agents={"main": Echo()},
            hands=Clerk(),
            env=env,
            events=log.recorder("gateway"),
        )
        return Running(store, log, gateway)


@pytest.mark.parametrize("jump", JUMPS)
async def test_retries_and_what_is_behind_them_come_in_time(tmp_path: Path, jump: float) -> None:
    platform = Tried()
    machine = Machine(tmp_path / "store.db", platform)
    platform.errors = [PlatformError("not now")] * 3
    running = machine.gateway()
    async with anyio.create_task_group() as group:
        group.start_soon(running.gateway.run)
        with anyio.fail_after(5):
            await running.gateway.enqueue(message(key="k1", text="one"))
            await running.until(AttemptEnded)
            machine.set_by = jump
            await running.gateway.enqueue(message(key="k2", text="two"))
            platform.say("m1", direct("ben"), "three")
            await running.until(IntentSettled, 3)
        group.cancel_scope.cancel()
    assert sorted(texts(platform)) == ["one", "two", "you said three"]
    assert len(running.recorded(LeaseTaken)) == 1
    platform.close()


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_wait_for_readiness_is_no_longer_and_no_shorter(tmp_path: Path, jump: float) -> None:
    class Moody(Tried):
        asked = 0

        async def ready(self) -> Ready:
            self.asked += 1
            return Ready(ok=self.asked > 2, reason="not yet")

    platform = Moody()
    machine = Machine(tmp_path / "store.db", platform)
    running = machine.gateway(not_ready_wait=0.1)
    async with anyio.create_task_group() as group:
        group.start_soon(running.gateway.run)
        with anyio.fail_after(5):
            await running.gateway.enqueue(message())
            await running.until(LaneWaiting)
            machine.set_by = jump
            await running.until(IntentSettled)
        group.cancel_scope.cancel()
    assert (platform.asked, texts(platform)) == (3, ["hi"])
    platform.close()


@pytest.mark.parametrize("jump", [-3600.0, -20.0])
async def test_the_next_process_waits_no_longer_than_was_planned(tmp_path: Path, jump: float) -> None:
    platform = Tried()
    machine = Machine(tmp_path / "store.db", platform)
    platform.errors = [PlatformError("not now")]
    for start in range(2):
        running = machine.gateway(backoff=[0.5])
        async with anyio.create_task_group() as group:
            group.start_soon(running.gateway.run)
            with anyio.fail_after(5):
                if start == 0:
                    await running.gateway.enqueue(message())
                    await running.until(AttemptEnded)
                    # The retry is stored.
                    await running.gateway.queue.show("send:k")
                    await anyio.sleep(0.1)
                else:
                    await running.until(IntentSettled)
            group.cancel_scope.cancel()
        machine.set_by += jump
    assert texts(platform) == ["hi"]
    platform.close()


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
async def test_a_doubt_is_never_younger_than_it_was_when_it_was_stored(tmp_path: Path, jump: float) -> None:
    platform = Tried(idempotency=Idempotency.KEY)
    machine = Machine(tmp_path / "store.db", platform)
    platform.errors = [Ambiguous("no answer")]
    running = machine.gateway(backoff=[60])
    async with anyio.create_task_group() as group:
        group.start_soon(running.gateway.run)
        await running.gateway.enqueue(message())
        await running.until(AttemptEnded)
        await anyio.sleep(0.1)
        [row] = (await running.store.read(LoadIntents(ids=(IntentId("send:k"),)))).rows
        group.cancel_scope.cancel()
    assert row.progress.state is IntentState.PREPARED  # pyright: ignore[reportPossiblyUnboundVariable]
    assert row.progress.doubt_at is not None  # pyright: ignore[reportPossiblyUnboundVariable]
    machine.set_by = jump
    env = Env(now=machine.wall, ids=system_env().ids, seed="")
    doubt = doubt_at(env, row)  # pyright: ignore[reportPossiblyUnboundVariable]
    assert doubt is not None
    assert env.steady() - doubt >= row.updated_at - row.progress.doubt_at  # pyright: ignore[reportPossiblyUnboundVariable]
    platform.close()
