"""A gateway on a store file and the wall clock, with a platform, an agent and a hand as small as possible."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import anyio

from tests.support.factories import direct, envelope
from tests.support.stores import transcript_of
from trunkline import (
    Address,
    Agent,
    Capabilities,
    Envelope,
    EventLog,
    Gateway,
    GatewayConfig,
    HandTask,
    Idempotency,
    Receipt,
    SendRequest,
    SqliteStore,
    Turn,
    connect_file,
    system_env,
)
from trunkline.core.decisions import Decisions
from trunkline.core.errors import NotSent
from trunkline.core.events import Body, Event
from trunkline.core.hands.port import HandRunner
from trunkline.core.records.messages import NOTE
from trunkline.core.values import Peer, TranscriptLine

ANA, BEN = direct("100"), direct("200")
#: session key of `ANA`
KEY = "main:discord:default:direct:100"


class TinyPlatform:
    """A platform in memory that keeps the requests and acknowledgements it receives."""

    channel, account = "discord", "default"
    capabilities = Capabilities(idempotency=Idempotency.KEY)

    def __init__(self) -> None:
        self.acked: list[str] = []
        self.sent: list[SendRequest] = []
        #: errors of the next sends
        self.errors: list[Exception] = []
        self._give, self._take = anyio.create_memory_object_stream[Envelope](100)

    def say(
        self, message: str, place: Address = ANA, text: str = "hello", peer: Peer | None = None, **more: object
    ) -> None:
        peer = peer or Peer(id=place.conversation, name=f"peer {place.conversation}")
        self._give.send_nowait(envelope(place, message_id=message, text=text, peer=peer, **more))

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        with self._take.clone() as stream:
            yield stream

    async def ack(self, envelope: Envelope) -> None:
        self.acked.append(envelope.message_id)

    async def send(self, request: SendRequest) -> Receipt:
        if self.errors:
            raise self.errors.pop(0)
        self.sent.append(request)
        return Receipt(provider_id=str(len(self.sent)), address=request.address)

    async def find(self, address: Address, key: str) -> Receipt | None:
        raise NotSent("this platform has no look-up")

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        return place

    def close(self) -> None:
        self._give.close()
        self._take.close()


class Echo:
    """An agent that repeats each message, or runs `act` instead."""

    def __init__(self, act: Callable[[Turn], Awaitable[str | None]] | None = None) -> None:
        self.turns: list[tuple[str, str]] = []
        self._act = act

    async def turn(self, turn: Turn) -> str | None:
        self.turns.append((turn.text, turn.session_id))
        return f"you said {turn.text}" if self._act is None else await self._act(turn)


class Clerk:
    """A hand that answers at once."""

    def has(self, hand: str) -> bool:
        return hand == "clerk"

    async def run(self, task: HandTask) -> str:
        return f"done: {task.task}"


class Running:
    """A gateway that serves, with its store and its event log."""

    def __init__(self, store: SqliteStore, log: EventLog, gateway: Gateway) -> None:
        self.store = store
        self.log = log
        self.gateway = gateway
        self._changed = anyio.Event()

    def recorded(self, *bodies: type[Body]) -> list[Any]:
        return [event.body for event in tuple(self.log.events) if isinstance(event.body, bodies)]

    async def until(self, body: type[Body], count: int = 1) -> list[Any]:
        """Wait for `count` events with this body. The store's thread may record them."""
        enough, loop = anyio.Event(), asyncio.get_running_loop()

        def look(_: Event) -> None:
            if len(self.recorded(body)) >= count:
                loop.call_soon_threadsafe(enough.set)

        self.log.subscribe(look, body)
        if len(self.recorded(body)) < count:
            with anyio.fail_after(30):
                await enough.wait()
        return self.recorded(body)

    async def transcript(self, key: str) -> list[tuple[str, str]]:
        """What was said in a session: its transcript without the notes about bad ends."""
        lines: tuple[TranscriptLine, ...] = await transcript_of(self.store, key)
        return [(line.role, line.text) for line in lines if line.role != NOTE]

    async def notes(self, key: str) -> list[str]:
        """The notes about bad ends in a transcript."""
        return [line.text for line in await transcript_of(self.store, key) if line.role == NOTE]


@asynccontextmanager
async def serving(
    path: Path,
    platform: TinyPlatform,
    agent: Agent | None = None,
    *more: TinyPlatform,
    runner: HandRunner | None = None,
    decisions: Decisions | None = None,
    others: Mapping[str, Agent] | None = None,
    before: Callable[[EventLog], None] | None = None,
    **config: Any,
) -> AsyncGenerator[Running, None]:
    """A gateway on a store file, until the block ends. Called again with the same file: a restart.

    `others`: agents beside `main`. `before`: called with the log before its first event.
    """
    if others:
        config.setdefault("agents", [{"id": "main", "default": True}, *({"id": name} for name in others)])
    env = system_env()
    log = EventLog(env.now)
    if before is not None:
        before(log)
    store = SqliteStore(lambda: connect_file(path, durability="normal"), log.recorder("gateway"))
    gateway = Gateway(
        config=GatewayConfig.model_validate(config),
        store=store,
        adapters=[platform, *more],
        agents={"main": agent or Echo(), **(others or {})},
        hands=runner or Clerk(),
        env=env,
        events=log.recorder("gateway"),
        decisions=decisions,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(gateway.run)
        yield Running(store, log, gateway)
        group.cancel_scope.cancel()


def let_pass(path: Path, seconds: float) -> None:
    """Make all that is stored of delegations so much older, as if no gateway had run for so long."""
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(
            "UPDATE delegations SET accepted_at = accepted_at - :past, started_at = started_at - :past,"
            " deadline = deadline - :past",
            {"past": seconds},
        )
        raw.execute("UPDATE hand_posts SET at = at - ?", (seconds,))
