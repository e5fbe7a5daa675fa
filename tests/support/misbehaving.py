"""A gateway on a file whose adapter, agent, hands and hooks do whatever a test says, for one start or several."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from trunkline import (
    Address,
    Capabilities,
    ChatKind,
    Envelope,
    EventLog,
    Gateway,
    GatewayConfig,
    Hooks,
    Idempotency,
    Peer,
    Receipt,
    SendRequest,
    SqliteStore,
    connect_file,
    system_env,
)
from trunkline.core.errors import Refused
from trunkline.core.events import Event
from trunkline.core.events.trace import encode_event
from trunkline.core.hands.port import HandTask

#: half of a surrogate pair: a cut emoji, as the JSON of some platforms has it
HALF = "\ud83d"
#: times that keep the tests short
FAST: Mapping[str, Any] = {
    "delivery": {"request_timeout": 0.3, "hook_timeout": 0.3, "backoff": [0.02], "max_attempts": 3},
    "hands": {"defaults": {"on_restart": "rerun"}},
}
#: seconds after which a test has failed
PATIENCE = 60.0


class Base(BaseException):
    """No `Exception`."""


def place(conversation: Any = "ana", thread: Any = None) -> Address:
    return Address(channel="loop", account="default", kind=ChatKind.DIRECT, conversation=conversation, thread=thread)


def envelope(text: Any = "hi", id_: Any = "1", **fields: Any) -> Envelope:
    known: dict[str, Any] = {"address": place(), "peer": Peer(id="ana", name="Ana"), "sent_at": 1.0}
    return Envelope(message_id=id_, text=text, **(known | fields))


class LoopAdapter:
    """An adapter in memory; `sends` and `acks` may misbehave. `before`: the adapter of the start before."""

    channel, account = "loop", "default"

    def __init__(
        self,
        *,
        idempotency: Idempotency = Idempotency.KEY,
        sends: "Callable[[LoopAdapter, SendRequest], Awaitable[Any]] | None" = None,
        acks: Callable[[Envelope], Awaitable[None]] | None = None,
        stream: Callable[[], AsyncIterator[Any]] | None = None,
        messages: list[Any] | None = None,
        before: "LoopAdapter | None" = None,
    ) -> None:
        self.capabilities = Capabilities(idempotency=idempotency, in_flight_seconds=0.05, text_limit=4000)
        self.accepted: list[SendRequest] = []
        self.unacked: list[Any] = list(messages or ())
        # The platform outlives the processes that connect to it.
        self._keys: dict[str, Receipt] = {} if before is None else before._keys
        self._sends, self._acks, self._stream = sends, acks, stream

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[AsyncIterator[Any]]:
        yield self._stream() if self._stream else self._messages()

    async def _messages(self) -> AsyncIterator[Any]:
        for one in list(self.unacked):
            yield one
        await anyio.sleep_forever()

    async def ack(self, envelope: Envelope) -> None:
        if self._acks is not None:
            await self._acks(envelope)
        self.unacked.remove(envelope)

    def accept(self, request: SendRequest) -> Receipt:
        if request.key not in self._keys:
            self.accepted.append(request)
            self._keys[request.key] = Receipt(provider_id=str(len(self._keys)), address=request.address)
        return self._keys[request.key]

    async def send(self, request: SendRequest) -> Receipt:
        return self.accept(request) if self._sends is None else await self._sends(self, request)

    async def find(self, address: Address, key: str) -> Receipt | None:
        return self._keys.get(key)

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        raise Refused("there are none")

    @property
    def texts(self) -> list[str]:
        return [request.text for request in self.accepted]


class Agent:
    def __init__(self, turn: Callable[[Any], Awaitable[Any]]) -> None:
        self._turn = turn

    async def turn(self, turn: Any) -> Any:
        return await self._turn(turn)


class Hands:
    """One hand, `h`."""

    def __init__(self, run: Callable[[HandTask], Awaitable[Any]]) -> None:
        self._run = run

    def has(self, hand: str) -> bool:
        return hand == "h"

    async def run(self, task: HandTask) -> Any:
        return await self._run(task)


async def echo(turn: Any) -> str:
    return f"re {turn.text}"


async def no_hand(_task: HandTask) -> str:
    raise AssertionError("no hand was expected")


class Run:
    """One start of a gateway: what it recorded, and the error with which it ended by itself, if it did."""

    def __init__(self, adapter: LoopAdapter) -> None:
        self.adapter = adapter
        self.events: list[Event] = []
        self.error: BaseException | None = None

    def of(self, kind: str) -> list[Any]:
        """The bodies of the events of a kind."""
        return [event.body for event in self.events if event.kind == kind]


async def serve(
    store: Path,
    adapter: LoopAdapter,
    *,
    until: Callable[[Run], bool],
    agent: Callable[[Any], Awaitable[Any]] = echo,
    hand: Callable[[HandTask], Awaitable[Any]] = no_hand,
    hooks: Hooks | None = None,
    config: Mapping[str, Any] | None = None,
    script: Callable[[Gateway], Awaitable[None]] | None = None,
) -> Run:
    """Serve until a condition holds, then stop. Raises `TimeoutError` if it never does.

    Every event is encoded as for a trace, which fails on a text that cannot be stored.
    """
    env, run = system_env(), Run(adapter)
    log = EventLog(env.now, keep=False)

    def see(event: Event) -> None:
        encode_event(event)
        run.events.append(event)

    log.subscribe(see)
    events = log.recorder("gateway", generation=1)
    gateway = Gateway(
        config=GatewayConfig.model_validate({**FAST, **(config or {})}),
        store=SqliteStore(lambda: connect_file(store), events),
        adapters=[adapter],
        agents={"main": Agent(agent)},
        hands=Hands(hand),
        env=env,
        events=events,
        hooks=hooks,
    )

    async def work(group: anyio.abc.TaskGroup) -> None:
        try:
            await gateway.run()
            run.error = AssertionError("run returned by itself")
        except Exception as error:  # noqa: BLE001 -- the test compares it
            run.error = error
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(work, group)
        with anyio.fail_after(PATIENCE):
            if script is not None:
                await script(gateway)
            while not until(run):  # noqa: ASYNC110 -- a condition on anything a test can see
                await anyio.sleep(0.005)
        group.cancel_scope.cancel()
    return run
