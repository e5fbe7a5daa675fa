"""A real gateway whose platforms can be held, and what tests of sends ask of it."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.small_gateway import Clerk, Echo, Running, TinyPlatform
from trunkline import (
    Address,
    Capabilities,
    Decisions,
    EventLog,
    Gateway,
    GatewayConfig,
    HandRunner,
    Hooks,
    Idempotency,
    Receipt,
    Resolved,
    SendFailed,
    SendMessage,
    SendRequest,
    SqliteStore,
    Transport,
    connect_file,
    system_env,
)


class Platform(TinyPlatform):
    """A tiny platform under any name; its sends can be held, and it may have a directory."""

    def __init__(self, channel: str = "discord", account: str = "default") -> None:
        super().__init__()
        self.channel, self.account = channel, account  # pyright: ignore[reportIncompatibleVariableOverride]
        self.held = anyio.Event()
        self.held.set()
        self.arrived = anyio.Event()

    def hold(self) -> None:
        self.held = anyio.Event()

    async def send(self, request: SendRequest) -> Receipt:
        self.arrived.set()
        await self.held.wait()
        known = next((n for n, sent in enumerate(self.sent, 1) if sent.key == request.key), None)
        # As a platform with idempotency keys does.
        return Receipt(provider_id=str(known), address=request.address) if known else await super().send(request)


class Tried(Platform):
    """A platform that keeps every attempt, also those that fail."""

    def __init__(self, channel: str = "discord", **can: Any) -> None:
        super().__init__(channel)
        self.capabilities = Capabilities(**{"idempotency": Idempotency.KEY, **can})
        self.tried: list[SendRequest] = []

    async def send(self, request: SendRequest) -> Receipt:
        self.tried.append(request)
        return await super().send(request)

    @property
    def ways(self) -> list[Transport]:
        return [request.transport for request in self.tried]


class WithDirectory(Platform):
    """A platform that can look targets up."""

    def __init__(self, answer: Resolved | Exception | None) -> None:
        super().__init__()
        self.answer = answer
        self.asked: list[str] = []
        self.looking = anyio.Event()
        self.open = anyio.Event()
        self.open.set()

    async def resolve_target(self, text: str) -> Resolved | None:
        self.asked.append(text)
        self.looking.set()
        await self.open.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def made(
    path: Path,
    *platforms: TinyPlatform,
    agent: Echo | None = None,
    decisions: Decisions | None = None,
    hooks: Hooks | None = None,
    runner: HandRunner | None = None,
    **config: Any,
) -> Running:
    """A gateway that does not serve yet."""
    env = system_env()
    log = EventLog(env.now)
    store = SqliteStore(lambda: connect_file(path, durability="normal"), log.recorder("gateway"))
    settings = GatewayConfig.model_validate(config)
    gateway = Gateway(
        config=settings,
        store=store,
        adapters=platforms,
        agents=dict.fromkeys([one.id for one in settings.agents], agent or Echo()),
        hands=runner or Clerk(),
        env=env,
        events=log.recorder("gateway"),
        decisions=decisions,
        hooks=hooks,
    )
    return Running(store, log, gateway)


@asynccontextmanager
async def serving(
    path: Path,
    *platforms: TinyPlatform,
    agent: Echo | None = None,
    hooks: Hooks | None = None,
    runner: HandRunner | None = None,
    decisions: Decisions | None = None,
    **config: Any,
) -> AsyncGenerator[Running, None]:
    """A gateway on a store file, until the block ends. Called again with the same file: a restart."""
    running = made(path, *platforms, agent=agent, hooks=hooks, runner=runner, decisions=decisions, **config)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(running.gateway.run)
        yield running
        tasks.cancel_scope.cancel()


def message(to: str | Address = "user:100", text: str = "hi", key: str = "k", **fields: Any) -> SendMessage:
    return SendMessage(**{"to": to, "text": text, "key": key, **fields})


def stored(path: Path) -> dict[str, list[Any]]:
    """Everything that a store holds of messages."""
    tables = ("session_map", "session_places", "intents", "sends", "transcript", "inbox")
    with closing(sqlite3.connect(path)) as db:
        return {table: db.execute(f"SELECT * FROM {table}").fetchall() for table in tables}


def texts(platform: TinyPlatform) -> list[str]:
    return [request.text for request in platform.sent]


def places(platform: TinyPlatform) -> list[Address]:
    return [request.address for request in platform.sent]


async def ended(running: Running, state: str, **fields: Any) -> None:
    """Send something that does not arrive."""
    with pytest.raises(SendFailed, match=f"it ended as {state}"):
        await running.gateway.send(message(**fields))


def failing_at(platform: Tried, chunk: int, error: Exception) -> list[Exception]:
    """Have a chunk fail for as long as the list that is returned is not empty."""
    errors, send = [error], platform.send

    async def fails(request: SendRequest) -> Receipt:
        if errors and request.chunk == chunk:
            platform.tried.append(request)
            raise errors[0]
        return await send(request)

    platform.send = fails  # pyright: ignore[reportAttributeAccessIssue]
    return errors
