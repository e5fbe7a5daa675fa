"""A gateway process with a mailbox that dies after some of its commits."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from tests.support.small_gateway import Echo
from trunkline import Agent, EventLog, Gateway, GatewayConfig, SqliteStore, connect_file, system_env
from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.hands.port import HandRunner, HandTask


class NoHands:
    def has(self, hand: str) -> bool:
        return False

    async def run(self, task: HandTask) -> str:
        raise AssertionError(task)


class DyingGateway:
    """A gateway process that dies after some of its commits: nothing after it is stored, recorded or answered."""

    def __init__(
        self, path: Path, commits: int | None, channel: str, agent: Agent, hands: HandRunner, config: dict[str, Any]
    ) -> None:
        env = system_env()
        log = EventLog(env.now)
        self.died = anyio.Event()
        self.store = SqliteStore(lambda: connect_file(path, durability="normal"), log.recorder("gateway"))
        writer: Any = self.store._writer  # pyright: ignore[reportPrivateUsage] -- a commit is seen nowhere else
        commit, self._left = writer._commit, commits

        async def counted(writes: Any) -> Any:
            if self._left == 0:
                self.died.set()
                await anyio.sleep_forever()
            answers = await commit(writes)
            if self._left is not None:
                self._left -= 1
            if self._left == 0:
                # Committed, and nobody hears of it.
                self.died.set()
                await anyio.sleep_forever()
            return answers

        writer._commit = counted
        self.mailbox = MailboxAdapter(channel, "default", self.store, env)
        self.gateway = Gateway(
            config=GatewayConfig.model_validate(config),
            store=self.store,
            adapters=[self.mailbox],
            agents={"main": agent},
            hands=hands,
            env=env,
            events=log.recorder("gateway"),
        )


@asynccontextmanager
async def dying(
    path: Path,
    commits: int | None = None,
    *,
    channel: str = "webchat",
    agent: Agent | None = None,
    runner: HandRunner | None = None,
    **config: Any,
) -> AsyncGenerator[DyingGateway]:
    """A process that dies after so many commits; none: it lives until the block ends."""
    one = DyingGateway(path, commits, channel, agent or Echo(), runner or NoHands(), config)
    async with anyio.create_task_group() as group:
        group.start_soon(one.gateway.run)
        yield one
        group.cancel_scope.cancel()
