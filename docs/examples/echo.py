"""A complete gateway: an in-memory platform, an agent that echoes, a SQLite file, a log of events.

    python docs/examples/echo.py FOLDER

Run it twice with the same folder: the second process finds the first one's message in the store and drops it as a
duplicate. Each process writes its events to ``FOLDER/process-N.jsonl`` as they happen; run
``trunkline watch FOLDER/process-1.jsonl`` in another terminal to see them.
"""

import math
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectSendStream

from trunkline import (
    Address,
    Capabilities,
    ChatKind,
    Env,
    Envelope,
    Event,
    EventLog,
    Gateway,
    GatewayConfig,
    HandTask,
    Idempotency,
    Peer,
    Receipt,
    SendRequest,
    SqliteStore,
    Turn,
    connect_file,
    fewer_collections,
    system_env,
)
from trunkline.core.channels import InboundStream
from trunkline.core.errors import HandError, Refused
from trunkline.core.events import Recording, TraceHeader
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import InboundAdmitted, TurnEnded
from trunkline.core.values import Capability

ANA = Address(channel="loopback", account="default", kind=ChatKind.DIRECT, conversation="ana")
BEN = Address(channel="loopback", account="default", kind=ChatKind.DIRECT, conversation="ben")


class Loopback:
    """A `trunkline.ChannelAdapter` for an in-process platform that accepts one message per idempotency key."""

    channel = "loopback"
    account = "default"
    capabilities = Capabilities(
        can=frozenset({Capability.TEXT, Capability.MESSAGE_IDS}), idempotency=Idempotency.KEY, text_limit=200
    )

    def __init__(self, env: Env) -> None:
        self._env = env
        self._connection: MemoryObjectSendStream[Envelope] | None = None
        self._by_key: dict[str, Receipt] = {}
        #: messages that the gateway has not acknowledged yet
        self.unacked: list[Envelope] = []
        #: messages that people can see
        self.accepted: list[SendRequest] = []

    def say(self, text: str, message_id: str, place: Address = ANA) -> None:
        """A person writes to the bot."""
        name = place.conversation
        envelope = Envelope(
            address=place,
            peer=Peer(id=name, name=name.title()),
            message_id=message_id,
            text=text,
            sent_at=self._env.now(),
        )
        self.unacked.append(envelope)
        if self._connection is not None:
            self._connection.send_nowait(envelope)

    def connect(self) -> InboundStream:
        """Open the connection. Unacknowledged messages are delivered again."""
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        to_gateway, received = anyio.create_memory_object_stream[Envelope](math.inf)
        with to_gateway, received:
            self._connection = to_gateway
            for envelope in self.unacked:
                to_gateway.send_nowait(envelope)
            yield received

    async def ack(self, envelope: Envelope) -> None:
        """The message is durable in the gateway."""
        self.unacked = [waiting for waiting in self.unacked if waiting.message_id != envelope.message_id]

    async def send(self, request: SendRequest) -> Receipt:
        """Accept a chunk once for each key. Raises `Refused` for anything that this platform cannot take."""
        if request.address not in (ANA, BEN):
            raise Refused("unknown person")
        if len(request.text) > self.capabilities.text_limit:
            raise Refused("the text is too long")
        if request.media or request.poll is not None or request.payload is not None:
            raise Refused("only texts can be sent")
        receipt = self._by_key.get(request.key)
        if receipt is None:
            receipt = Receipt(provider_id=str(len(self.accepted) + 1), address=request.address)
            self._by_key[request.key] = receipt
            self.accepted.append(request)
        return receipt

    async def find(self, address: Address, key: str) -> Receipt | None:
        """Look up a send. The gateway calls it only for platforms with `Idempotency.LOOKUP`."""
        return self._by_key.get(key)

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """Not supported here."""
        raise Refused("this platform has no threads")


class Echo:
    """A `trunkline.Agent` that repeats each message."""

    async def turn(self, turn: Turn) -> str | None:
        """Answer one message."""
        return f"{turn.peer.name} said: {turn.text}"


class NoHands:
    """A `trunkline.HandRunner` without hands."""

    def has(self, hand: str) -> bool:
        """Whether a hand exists."""
        return False

    async def run(self, task: HandTask) -> str:
        """Never called."""
        raise HandError(task.hand)


class Log:
    """Writes events as JSON lines while they happen, and tracks the messages without an outcome."""

    def __init__(self, folder: Path, env: Env) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.process = 1 + len(list(folder.glob("process-*.jsonl")))
        header = TraceHeader(scenario="echo", title="docs/examples/echo.py")
        self.recording = Recording(folder / f"process-{self.process}.jsonl", header)
        self.open: set[str | None] = set()
        # keep=False: a gateway that runs for months must not keep its events in memory.
        self.events = EventLog(env.now, keep=False)
        self.recording.follow(self.events)
        self.events.subscribe(self._see)

    def _see(self, event: Event) -> None:
        # Called by the thread that recorded the event, often the store's, so it must not touch the event loop.
        if isinstance(event.body, InboundAdmitted):
            self.open.add(event.inbound)
        elif isinstance(event.body, IntentSettled) or (
            isinstance(event.body, TurnEnded) and event.body.outcome != "replied"
        ):
            self.open.discard(event.inbound)


async def main(folder: Path) -> list[str]:
    """Serve two messages, one of which arrives twice, and stop. Returns the texts that Ana sees."""
    env = system_env()
    log, platform = Log(folder, env), Loopback(env)
    events = log.events.recorder("gateway", generation=log.process)
    gateway = Gateway(
        config=GatewayConfig(),
        store=SqliteStore(lambda: connect_file(folder / "trunkline.db"), events),
        adapters=[platform],
        agents={"main": Echo()},
        hands=NoHands(),
        env=env,
        events=events,
    )
    async with anyio.create_task_group() as group:
        group.start_soon(gateway.run)
        platform.say("hello", message_id="1")
        platform.say("hello", message_id="1")
        platform.say("is anybody there?", message_id=f"2-{log.process}")
        while platform.unacked or log.open:  # noqa: ASYNC110 -- the log is written by threads, which set no anyio.Event
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    log.recording.close()
    return [request.text for request in platform.accepted]


if __name__ == "__main__":
    # A setting of the whole process, so it belongs where the process starts.
    fewer_collections()
    for line in anyio.run(main, Path(sys.argv[1])):
        sys.stdout.write(f"{line}\n")
