"""The whole delivery pipeline as a user gets it: a gateway on a store file, hooks, events, and a platform that takes
everything at once. What is timed runs from the first call until all is settled and all hooks are told."""

import gc
import sqlite3
import statistics
import time
from array import array
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import anyio

from trunkline import (
    Address,
    Agent,
    Capabilities,
    ChatKind,
    Envelope,
    EventLog,
    Gateway,
    GatewayConfig,
    HandTask,
    Idempotency,
    Peer,
    Receipt,
    SendMessage,
    SendRequest,
    SqliteStore,
    connect_file,
    system_env,
)
from trunkline.core.delivery.hooks import Hooks, Outgoing, SendingHook, Sent, SentHook
from trunkline.core.events import Event
from trunkline.core.events.delivery import AttemptStarted, HookSent, IntentPrepared, IntentSettled
from trunkline.core.events.gateway import ProcessRecovered
from trunkline.core.gc_tuning import fewer_collections
from trunkline.core.store.postgres.store import PostgresStore, connect_server
from trunkline.core.store.sqlite.connection import Db
from trunkline.core.values import IntentState

BODY = "The quick brown fox jumps over the lazy dog. " * 3
#: conversations that are sent to at the same time, as many as there may be sends on the wire
LANES = 512
#: callers that hand messages over, each as soon as its last one is durable
CALLERS = 1000
#: seconds without any event after which a run is given up
STUCK = 20.0


class Platform:
    """Takes every message after one scheduling point, and knows keys."""

    channel, account = "discord", "default"
    capabilities = Capabilities(idempotency=Idempotency.KEY)

    def __init__(self) -> None:
        self.taken = 0
        #: nothing is taken before it is set
        self.open = anyio.Event()
        self.open.set()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        async def quiet() -> AsyncIterator[Envelope]:
            await anyio.sleep_forever()
            yield  # pyright: ignore[reportReturnType] -- never

        yield quiet()

    async def send(self, request: SendRequest) -> Receipt:
        if not self.open.is_set():
            await self.open.wait()
        await anyio.lowlevel.checkpoint()
        self.taken += 1
        return Receipt(provider_id=f"x{self.taken}", address=request.address)

    async def ack(self, envelope: Envelope) -> None:
        """Nothing is left to do for a message that is durable."""

    async def find(self, address: Address, key: str) -> NoReturn:
        raise AssertionError(address, key)

    async def open_thread(self, place: Address, message_id: str, title: str) -> NoReturn:
        raise AssertionError(place, message_id, title)


class Nobody:
    """An agent and a hand that nobody asks."""

    async def turn(self, turn: Any) -> NoReturn:
        raise AssertionError(turn)

    def has(self, hand: str) -> bool:
        return False

    async def run(self, task: HandTask) -> NoReturn:
        raise AssertionError(task)


async def _keep(message: Outgoing) -> None:
    """A `message_sending` hook that leaves everything as it is."""


async def _heard(message: Sent) -> None:
    """A `message_sent` hook that does nothing."""


HOOKS = Hooks(sending=(SendingHook(name="keep", call=_keep),), sent=(SentHook(name="heard", call=_heard),))


class Answering:
    """An agent that answers at once."""

    async def turn(self, turn: Any) -> str:
        return BODY


class Witness:
    """Sees all events: counts them, and remembers what shows the order inside conversations."""

    def __init__(self, log: EventLog) -> None:
        #: for a check of the order afterwards
        self.remembers = True
        self.reset()
        log.subscribe(self._count)
        log.subscribe(self._prepared, IntentPrepared)
        log.subscribe(self._attempted, AttemptStarted)
        log.subscribe(self._settled, IntentSettled)
        log.subscribe(self._told, HookSent)
        log.subscribe(self._recovered, ProcessRecovered)

    def reset(self) -> None:
        """Forget what was seen so far."""
        self.events = 0
        self.recovered = 0
        self.delivered = 0
        self.told = 0
        #: intents that were prepared, attempted and settled, in the order of events, each after the word for that; a
        #: long list of pairs would keep the collector busy
        self.story: list[str] = []
        #: perf_counter at the first attempt
        self.first_at = 0.0

    def _count(self, event: Event) -> None:
        self.events += 1

    def _prepared(self, event: Event) -> None:
        self._remember("prepared", event)

    def _attempted(self, event: Event) -> None:
        self.first_at = self.first_at or time.perf_counter()
        self._remember("attempted", event)

    def _settled(self, event: Event) -> None:
        assert isinstance(event.body, IntentSettled)
        assert event.body.state is IntentState.DELIVERED
        self.delivered += 1
        self._remember("settled", event)

    def _remember(self, what: str, event: Event) -> None:
        if self.remembers:
            self.story.append(what)
            self.story.append(event.intent or "")

    def _told(self, event: Event) -> None:
        self.told += 1

    def _recovered(self, event: Event) -> None:
        assert isinstance(event.body, ProcessRecovered)
        self.recovered = event.body.intents

    def check_order(self, conversation_of: dict[str, int]) -> None:
        """Strict FIFO: in its order, each only after the one before it was settled, and each attempted once."""
        waiting: dict[int, deque[str]] = {}
        for what, intent in zip(self.story[::2], self.story[1::2], strict=True):
            lane = waiting.setdefault(conversation_of[intent], deque())
            if what == "prepared":
                lane.append(intent)
            elif what == "attempted":
                assert lane[0] == intent, f"{intent} was attempted before {lane[0]}"
                lane[0] = f"attempted {intent}"
            else:
                assert lane[0] == f"attempted {intent}", f"{intent} was settled before {lane[0]}"
                lane.popleft()
        assert not any(waiting.values())


class SlowCommits:
    """A connection to a disk whose commits take longer."""

    def __init__(self, connection: sqlite3.Connection, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds

    def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:
        if sql == "COMMIT":
            time.sleep(self._seconds)
        return self._connection.execute(sql, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


#: a store: its file, or its address on a PostgreSQL server
Where = Path | str


def connected(path: Where, slow: float) -> Db:
    """The connection of a store, durable in full; its commits take `slow` seconds longer."""
    db = connect_server(path) if isinstance(path, str) else connect_file(path)
    if slow:
        connect = db._connector
        db._connector = lambda: SlowCommits(connect(), slow)  # pyright: ignore[reportAttributeAccessIssue]
    return db


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What the gateway is given to do."""

    messages: int
    conversations: int
    callers: int = CALLERS
    #: seconds that a commit takes longer
    slow: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Took:
    """What it took."""

    #: messages per second
    rate: float
    #: CPU seconds of the process for one message
    cpu: float
    #: transactions of the writer, and times that the log was begun anew after a checkpoint
    commits: int
    checkpoints: int
    #: events of one message
    events: float
    #: median seconds until a message was durable
    durable: float


def place(conversation: int) -> Address:
    """A guild channel."""
    return Address(channel="discord", account="default", kind=ChatKind.CHANNEL, conversation=str(10**17 + conversation))


def key(number: int, salt: str = "") -> str:
    """The idempotency key of a message: like a random one, as clients make them, and the same in each run."""
    return f"{salt}{number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}"


def message(number: int, conversations: int, salt: str = "") -> SendMessage:
    """The message with a number; the conversations get theirs by turns."""
    return SendMessage(to=place(number % conversations), text=f"{BODY}{number}", key=key(number, salt))


@contextmanager
def tuned() -> Generator[None]:
    """The settings of a process that serves a gateway; yardsticks get them too."""
    before = gc.get_threshold()
    fewer_collections()
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Running:
    """A gateway that serves."""

    def __init__(self, path: Where, *, slow: float = 0.0, agent: Agent | None = None, **delivery: Any) -> None:
        env = system_env()
        log = EventLog(env.now, keep=False)
        self.path = path
        self.witness = Witness(log)
        self.platform = Platform()
        kind = PostgresStore if isinstance(path, str) else SqliteStore
        self.store = kind(lambda: connected(path, slow), log.recorder("gateway"))
        self.gateway = Gateway(
            config=GatewayConfig.model_validate({"delivery": {"lanes": LANES, **delivery}}),
            store=self.store,
            adapters=[self.platform],
            agents={"main": agent or Nobody()},
            hands=Nobody(),
            env=env,
            events=log.recorder("gateway"),
            hooks=HOOKS,
        )

    @property
    def wal_resets(self) -> int:
        """How often the write-ahead log was begun anew after a checkpoint: a number in its header counts them."""
        if isinstance(self.path, str):
            return 0
        try:
            with self.path.with_name(f"{self.path.name}-wal").open("rb") as file:
                header = file.read(16)
        except FileNotFoundError:
            return 0
        return int.from_bytes(header[12:16], "big")

    async def up(self) -> None:
        """Wait until it serves: one message is sent and over then."""
        # A store, and any copy of it, remembers the keys that it has seen.
        await self.gateway.enqueue(message(0, 1, f"first at {time.time_ns()} "))
        await self.settled(1)
        self.witness.reset()

    async def settled(self, messages: int) -> None:
        """Wait until so many are delivered, and their hooks are told."""
        witness, seen, since = self.witness, -1, time.perf_counter()
        while witness.delivered < messages or witness.told < messages:
            await anyio.sleep(0.002)
            if witness.events != seen:
                seen, since = witness.events, time.perf_counter()
            if time.perf_counter() - since > STUCK:
                raise TimeoutError(f"{witness.delivered} delivered, {witness.told} told, {messages} wanted: stuck")

    async def say(self, load: Load, *, salt: str = "") -> None:
        """Have people write as many messages, each conversation's after one another."""
        numbers = iter(range(load.messages))

        async def caller() -> None:
            for number in numbers:
                where, peer = place(number % load.conversations), Peer(id=str(number % load.conversations))
                name, now = key(number, salt), time.time()
                said = Envelope(address=where, peer=peer, message_id=name, text=f"{BODY}{number}", sent_at=now)
                await self.gateway.receive(said)

        async with anyio.create_task_group() as group:
            for _ in range(load.callers):
                group.start_soon(caller)

    async def give(self, load: Load, *, salt: str = "") -> "array[float]":
        """Hand all messages over, each caller one after another; the seconds that each took to be durable."""
        # Not objects: memory is measured too, and these are none of the gateway's.
        seconds = array("d")
        numbers = iter(range(load.messages))

        async def caller() -> None:
            for number in numbers:
                before = time.perf_counter()
                await self.gateway.enqueue(message(number, load.conversations, salt))
                seconds.append(time.perf_counter() - before)

        async with anyio.create_task_group() as group:
            for _ in range(load.callers):
                group.start_soon(caller)
        return seconds


@asynccontextmanager
async def serving(
    path: Where, *, slow: float = 0.0, agent: Agent | None = None, **delivery: Any
) -> AsyncGenerator[Running]:
    """A gateway on a store file, until the block ends."""
    running = Running(path, slow=slow, agent=agent, **delivery)
    async with anyio.create_task_group() as group:
        group.start_soon(running.gateway.run)
        yield running
        group.cancel_scope.cancel()


def intents_of(load: Load, salt: str = "") -> dict[str, int]:
    """The conversation of each intent."""
    return {f"send:{key(number, salt)}": number % load.conversations for number in range(load.messages)}


async def deliver(path: Where, load: Load, *, salt: str = "") -> Took:
    """Deliver messages through a gateway, as fast as it goes; their order is checked afterwards."""
    async with serving(path, slow=load.slow) as running:
        await running.up()
        witness, commits, resets = running.witness, running.store.commits, running.wal_resets
        gc.collect()
        cpu, before = time.process_time(), time.perf_counter()
        durable = await running.give(load, salt=salt)
        await running.settled(load.messages)
        wall, cpu = time.perf_counter() - before, time.process_time() - cpu
        took = Took(
            rate=load.messages / wall,
            cpu=cpu / load.messages,
            commits=running.store.commits - commits,
            checkpoints=running.wal_resets - resets,
            events=witness.events / load.messages,
            durable=statistics.median(durable),
        )
    witness.check_order(intents_of(load, salt))
    return took


async def answer(path: Where, load: Load) -> float:
    """CPU seconds of a message that people write, until its answer is delivered."""
    async with serving(path, agent=Answering()) as running:
        await running.up()
        gc.collect()
        before = time.process_time()
        await running.say(load)
        await running.settled(load.messages)
        return (time.process_time() - before) / load.messages


async def lone(path: Where, count: int, *, slow: float = 0.0) -> tuple[float, float]:
    """Median seconds until a message is durable while nothing else goes on, and CPU seconds until then."""
    seconds: list[float] = []
    spent: list[float] = []
    async with serving(path, slow=slow) as running:
        await running.up()
        for number in range(count):
            cpu, before = time.process_time(), time.perf_counter()
            await running.gateway.enqueue(message(number, 100))
            seconds.append(time.perf_counter() - before)
            spent.append(time.process_time() - cpu)
            await running.settled(number + 1)
    return statistics.median(seconds), statistics.median(spent)


async def prepare(path: Where, conversations: int) -> None:
    """Make a store in which each conversation has its session, as those have that were spoken in before."""
    load = Load(messages=conversations, conversations=conversations)
    async with serving(path) as running:
        await running.up()
        await running.give(load, salt="before ")
        await running.settled(load.messages)
