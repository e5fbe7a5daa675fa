"""The gateway process: a real store file, full durability, an agent, and clients that have it send."""

import math
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import NoReturn

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from tests.kill.adapter import SocketAdapter, address_of, open_wire
from tests.kill.nonsense import ODD, Nonsense, OddHands, odd_hooks, odd_turn
from tests.kill.wire import GONE, Ask, Hello, SendOutcome, Stop, Wire
from tests.kill.words import DELEGATING, abandoned, answers, asked_in, report, work_of
from tests.kill.worker import COURIER, WorkerLife, work
from tests.support.disk.faults import Fault, FaultyDisk
from tests.support.disk.vfs import install, limit_memory
from trunkline import (
    Event,
    EventLog,
    Gateway,
    GatewayConfig,
    Idempotency,
    SendFailed,
    SendMessage,
    SqliteStore,
    Turn,
    connect_file,
    system_env,
)
from trunkline.core.config import DeliveryConfig, HandsConfig
from trunkline.core.config.work import HandConfig, HandLimitsConfig, TurnsConfig
from trunkline.core.errors import LeaseLost, NotSent, StoreError, UsageError
from trunkline.core.events import EventSink
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.postgres.address import is_address
from trunkline.core.store.postgres.store import PostgresStore, connect_server

#: exit codes: asked to end; an error; nobody is there any more; another process holds the store; a store of no use
IN_ORDER, DEFECT, ALONE, REPLACED, IN_WORDS = 0, 1, 4, 5, 6


class Fuse(msgspec.Struct, frozen=True, kw_only=True):
    """The process sends itself a signal in the moment in which it records the `count`-th event of a kind."""

    kind: str
    count: int = 1
    signal: int = signal.SIGKILL


class Life(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What a gateway process is told at its start."""

    process: int
    store: str
    log: str
    #: ports of the platform
    people: int
    requests: int
    #: what the adapter claims
    idempotency: Idempotency
    in_flight: float
    #: seconds after which a process that does not renew its lease is taken for gone
    lease: float = 60.0
    fuse: Fuse | None = None
    hasty: bool = False
    #: none: the gateway's own default
    max_attempts: int | None = 1_000_000
    nonsense: Nonsense = Nonsense()
    #: outside workers do what the agent delegates
    workers: bool = False
    #: of its disk
    faults: tuple[Fault, ...] = ()
    #: seconds from its start after which SQLite gets no more memory
    starved: float | None = None


def _store(life: Life, events: EventSink) -> SqliteStore:
    if is_address(life.store):
        return PostgresStore(lambda: connect_server(life.store), events)
    return SqliteStore(lambda: connect_file(Path(life.store)), events)


def _config(life: Life) -> GatewayConfig:
    delivery = DeliveryConfig(
        request_timeout=0.25,
        # Where attempts are few, an absence of the platform must not take more than one of them.
        backoff=(0.005, 0.01, 0.02, 0.04) if life.max_attempts else (0.06, 0.1, 0.3, 1.5),
        # With a bad network beside the kills, a message can fail more often than by default.
        max_attempts=life.max_attempts or DeliveryConfig().max_attempts,
        lease=life.lease,
        # Those who are around it look often, and live shortly.
        watch=0.02 if life.workers else DeliveryConfig().watch,
    )
    limits = HandLimitsConfig(open_per_session=1_000_000, open=1_000_000)
    return GatewayConfig(
        delivery=delivery,
        hands=HandsConfig(limits=limits, each={COURIER: HandConfig(worker=True, deadline=3600.0)}),
        # A storm ends one turn in twenty storms three times, and to give it up then is right. A turn that delegates
        # takes several commits, so that a storm may end many processes in it.
        turns=TurnsConfig(max_attempts=1_000_000 if life.workers else 6),
    )


class Talker:
    """`core.Agent`: says what `tests.kill.words` has for a message, some of it by its tool."""

    async def turn(self, turn: Turn) -> str | None:
        """Answer one message."""
        if turn.callback is not None:
            return None if turn.callback.hand != COURIER else _reported(turn)
        message = asked_in(turn.text)
        if message.startswith(DELEGATING):
            await turn.send_async(COURIER, message, label=message, timeout=0.5 if abandoned(message) else None)
        if message.startswith(ODD):
            return await odd_turn(turn, message)
        *by_tool, answer = answers(message)
        for text in by_tool:
            await turn.send(text)
        return answer


def _reported(turn: Turn) -> str:
    """What the agent says of a result: the same in any process, and something else if anything is wrong with it."""
    assert turn.callback is not None
    message, outcome = turn.callback.label, turn.callback.outcome
    asked = turn.asked_by
    here = turn.place is not None and asked is not None and asked.id == turn.place.conversation
    right = outcome is HandOutcome.TIMEOUT if abandoned(message) else turn.text == work_of(message)
    if not (here and right and turn.peer.id == f"hand:{COURIER}"):
        return f"WRONG {message} {outcome} {asked} {turn.place} {turn.text!r}"
    return report(message)


def _burn(fuse: Fuse) -> Callable[[Event], None]:
    left = fuse.count

    def see(event: Event) -> None:
        nonlocal left
        if event.kind == fuse.kind:
            left -= 1
            if left == 0:
                # To this thread, which has just committed. A stop for the process is taken by its main thread; until
                # that gets a core, this one would go on, and be frozen in its next transaction.
                signal.pthread_kill(threading.get_ident(), fuse.signal)

    return see


class Clients:
    """Has the gateway send what clients ask for, for each client one after another."""

    def __init__(self, gateway: Gateway, wire: Wire) -> None:
        self._gateway = gateway
        self._wire = wire
        self._asked: dict[str, MemoryObjectSendStream[Ask]] = {}

    async def serve(self) -> None:
        """Serve until somebody says that it is over."""
        async with anyio.create_task_group() as group:
            while not isinstance(ask := await self._wire.hear(), Stop):
                assert isinstance(ask, Ask)
                if ask.client not in self._asked:
                    self._asked[ask.client], asked = anyio.create_memory_object_stream[Ask](math.inf)
                    group.start_soon(self._serve_one, asked)
                self._asked[ask.client].send_nowait(ask)
            group.cancel_scope.cancel()

    async def _serve_one(self, asked: MemoryObjectReceiveStream[Ask]) -> None:
        async for ask in asked:
            told = await self._send(ask)
            if told is None:
                # The process ends. What comes after it must not overtake it.
                return
            await self._wire.tell(told)

    async def _send(self, ask: Ask) -> SendOutcome | None:
        """What a client is told; none: nothing, and it asks again at the next process."""
        message = SendMessage(to=address_of(ask.conversation), text=ask.text, key=ask.key)
        try:
            outcome = await (self._gateway.send(message) if ask.wait else self._gateway.enqueue(message))
        except SendFailed as error:
            return SendOutcome(key=ask.key, outcome="failed", detail=error.facts) if error.final else None
        except UsageError as error:
            return SendOutcome(key=ask.key, outcome="refused", detail=error.facts)
        return SendOutcome(key=ask.key, outcome=outcome.status.value)


async def _serve_clients(gateway: Gateway, life: Life) -> None:
    try:
        wire = await open_wire(life.people)
        await wire.tell(Hello(role="clients", process=life.process))
        await Clients(gateway, wire).serve()
    except* (*GONE, NotSent):
        # Those who started this process are gone.
        os._exit(ALONE)


async def _run(life: Life) -> None:
    env = system_env()
    log = EventLog(env.now, keep=False)
    if life.fuse is not None:
        log.subscribe(_burn(life.fuse))
    events = log.recorder("gateway", generation=life.process)
    adapter = SocketAdapter(
        people=life.people,
        requests=life.requests,
        idempotency=life.idempotency,
        in_flight=life.in_flight,
        process=life.process,
        hasty=life.hasty,
        nonsense=life.nonsense,
    )
    gateway = Gateway(
        config=_config(life),
        store=_store(life, events),
        adapters=[adapter],
        agents={"main": Talker()},
        hands=OddHands(),
        hooks=odd_hooks(life.nonsense.hooks, Random(f"hooks {life.process}")),
        env=env,
        events=events,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(gateway.run)
        if life.starved is not None:
            group.start_soon(_starve, life.starved)
        await _serve_clients(gateway, life)
        group.cancel_scope.cancel()


async def _starve(after: float) -> None:
    await anyio.sleep(after)
    limit_memory()(True)


def live(life: Life | WorkerLife) -> NoReturn:
    """Be a gateway process, or a worker, from after the fork to the end."""
    log, null = os.open(life.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), os.open(os.devnull, os.O_RDWR)
    for file, number in ((null, 0), (log, 1), (log, 2)):
        os.dup2(file, number)
    status = DEFECT
    try:
        status = work(life) if isinstance(life, WorkerLife) else _end(life)
    except BaseException:  # noqa: BLE001 -- told, and seen by its exit code
        sys.stderr.write(f"process {life.process}:\n{traceback.format_exc()}\n")
        sys.stderr.flush()
    finally:
        os._exit(status)


def _end(life: Life) -> int:
    """Run to the end; how it came."""
    status = IN_ORDER
    if life.faults:
        install(FaultyDisk(*life.faults))
    try:
        anyio.run(_run, life)
    except* LeaseLost:
        status = REPLACED
    except* StoreError:
        if not life.faults and life.starved is None:
            raise
        status = IN_WORDS
    return status
