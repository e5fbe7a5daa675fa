"""Those around the gateway: people who write to it, and clients who have it send. They keep what they were promised.

A message that was acknowledged is promised an answer; a send that its client was told of is promised to be seen. Both
are asked for again, at each connection of a gateway process, until then. People and clients write on for as long as
they are let, never with more than a few open things each, so that a gateway that was away finds work.
"""

import time
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import anyio
import msgspec
from anyio.abc import SocketStream

from tests.kill.nonsense import ODD
from tests.kill.platform import Point, Trap
from tests.kill.wire import GONE, Ack, Ask, Hello, Message, Said, SendOutcome, Stop, Wire
from tests.kill.words import DELEGATING, answers, ended_by, question, report, wordy

#: messages of a person, and sends of a client that does not wait, that people do not see an answer to, or at all
_WINDOW = 3
#: how often a client asks again for what it was told of
_AGAIN = 0.05
#: seconds of silence after which a message that nobody acknowledged is told again, as platforms do
_UNACKED = 2.0


class Promise(msgspec.Struct, kw_only=True):
    """Something that the gateway owes, from when on `kept` is true."""

    #: message id of a person, or key of a client
    id: str
    conversation: str
    #: whose: what one of them asked for comes in order
    by: str
    #: what will be seen of it, in order
    texts: tuple[str, ...]
    #: what the person wrote; none: a client's
    question: str | None = None
    #: what the client asked; none: a person's
    asked: Ask | None = None
    #: it was acknowledged, or its client was told so
    kept: bool = False
    outcomes: list[SendOutcome] = msgspec.field(default_factory=list[SendOutcome])


class People:
    """Serves the stream of messages, and the connection of the clients, until cancelled."""

    def __init__(
        self,
        *,
        conversations: tuple[str, ...],
        clients: int,
        dice: Random,
        trap: Trap,
        odd: float = 0.0,
        delegating: float = 0.0,
    ) -> None:
        self._conversations = conversations
        #: name, conversation, and whether it waits
        self._clients = [(f"{name}-{n}", name, n % 2 == 0) for name in conversations for n in range(clients)]
        self._dice = dice
        self._trap = trap
        #: chance of a message at which the agent fails
        self._odd = odd
        #: chance of a message whose work a worker does
        self._delegating = delegating
        self.promises: dict[str, Promise] = {}
        #: no more is written
        self.quiet = False
        #: promises that were made
        self.made = 0
        #: a client asked again after it was told
        self.again = 0
        self._said: list[Said] = []
        self._asked: list[Ask] = []
        self._numbers = 0
        #: by person or client: what is not seen, in order
        self._unseen: dict[str, list[str]] = {by: [] for by in (*conversations, *(one[0] for one in self._clients))}
        self._untold: dict[str, set[str]] = {client: set() for client, _, _ in self._clients}
        self._changed = anyio.Event()
        #: by process: where its clients are
        self._clients_of: dict[int, Wire] = {}
        #: the process whose adapter is connected; none: there is none
        self.working: int | None = None
        self.port = 0

    async def serve(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Accept connections."""
        async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
            self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
            task_status.started()
            await listener.serve(self._connection)

    @property
    def open(self) -> list[str]:
        """What is not promised yet: nobody knows whether the gateway has it."""
        return [promise.id for promise in self.promises.values() if not promise.kept]

    @property
    def is_promised(self) -> bool:
        """Whether everything that was asked for is promised."""
        return not self.open and not any(self._untold.values())

    async def until_working(self, process: int | None = None) -> None:
        """Wait until the adapter of a process is connected; without a number, of any."""
        while self.working is None if process is None else self.working != process:
            await self._changed.wait()

    async def until_more(self, count: int) -> None:
        """Wait until so many more promises were made."""
        enough = self.made + count
        while self.made < enough:
            await self._changed.wait()

    async def stop_gateway(self, process: int) -> None:
        """Ask a gateway process to end in order, once it listens to its clients."""
        while process not in self._clients_of:
            await self._changed.wait()
        try:
            await self._clients_of[process].tell(Stop())
        except GONE:
            return

    def seen(self, chunk: str) -> None:
        """The platform has accepted this."""
        tag, _, what = (ended_by(chunk) or "").partition(".")
        promise = self.promises.get(tag)
        if promise is None or what not in ("reply", "send"):
            return
        unseen = self._unseen[promise.by]
        while tag in unseen:
            # They come in order: one that was skipped is parked, and does not come any more.
            unseen.pop(0)
        self._write()

    def give_up_waiting(self) -> None:
        """Go on although much is not seen: all of it may be parked."""
        for unseen in self._unseen.values():
            unseen.clear()

    # ------------------------------------------------------------ what they write

    def _write(self) -> None:
        """Write as much as fits; tell the connections."""
        for name in self._conversations:
            while not self.quiet and len(self._unseen[name]) < _WINDOW:
                self._say(name)
        for client, name, wait in self._clients:
            while not self.quiet and not (self._untold[client] if wait else len(self._unseen[client]) >= _WINDOW):
                self._ask(client, name, wait)
        self._changed.set()
        self._changed = anyio.Event()

    def _say(self, name: str) -> None:
        self._numbers += 1
        odd = self._odd > 0 and self._dice.random() < self._odd
        delegated = not odd and self._delegating > 0 and self._dice.random() < self._delegating
        message = f"{ODD if odd else DELEGATING if delegated else 'm'}{self._numbers}"
        said = Said(id=message, conversation=name, text=question(message), at=time.time())
        self._said.append(said)
        if not odd:
            self._unseen[name].append(message)
        self.promises[message] = Promise(
            id=message, conversation=name, by=name, texts=answers(message), question=said.text
        )
        if delegated:
            # It may come before or after anything else.
            back = f"{message}.back"
            self.promises[back] = Promise(id=back, conversation=name, by=back, texts=(report(message),))

    def _ask(self, client: str, name: str, wait: bool) -> None:
        self._numbers += 1
        key = f"k{self._numbers}"
        ask = Ask(key=key, client=client, conversation=name, text=wordy(f"{key}.send"), wait=wait)
        self._asked.append(ask)
        self._unseen[client].append(key)
        self._untold[client].add(key)
        self.promises[key] = Promise(id=key, conversation=name, by=client, texts=(ask.text,), asked=ask)

    # ------------------------------------------------------------ connections

    async def _connection(self, stream: SocketStream) -> None:
        wire = Wire(stream)
        try:
            hello = await wire.hear()
            assert isinstance(hello, Hello)
            if hello.role == "adapter":
                await self._serve_adapter(wire, hello.process)
            else:
                await self._serve_clients(wire, hello.process)
        except GONE:
            pass
        finally:
            await wire.close()

    async def _serve_adapter(self, wire: Wire, process: int) -> None:
        self.working = process
        self._trap.reach(Point.CONNECTED)
        try:
            await self._side_by_side(wire, self._push_said, self._acked)
        finally:
            if self.working == process:
                self.working = None

    async def _serve_clients(self, wire: Wire, process: int) -> None:
        self._clients_of[process] = wire
        try:
            await self._side_by_side(wire, self._push_asked, self._outcome_received)
        finally:
            del self._clients_of[process]

    async def _side_by_side(
        self, wire: Wire, push: Callable[[Wire], Coroutine[Any, Any, None]], heard: Callable[[Message], None]
    ) -> None:
        """Push and hear until the connection is gone."""
        self._write()
        async with anyio.create_task_group() as group:
            group.start_soon(push, wire)
            try:
                while True:
                    heard(await wire.hear())
            except GONE:
                group.cancel_scope.cancel()

    async def _push_said(self, wire: Wire) -> None:
        await self._push(wire, self._said, lambda said: self.promises[said.id].kept)

    async def _push_asked(self, wire: Wire) -> None:
        await self._push(wire, self._asked, lambda ask: ask.key not in self._untold[ask.client])

    async def _push(self, wire: Wire, messages: list, over: Callable[..., bool]) -> None:
        """Tell what is not over, in order, and then what comes."""
        at = 0
        try:
            while True:
                while at < len(messages):
                    message = messages[at]
                    at += 1
                    if not over(message):
                        await wire.tell(message)
                with anyio.move_on_after(_UNACKED) as silence:
                    await self._changed.wait()
                if silence.cancelled_caught and messages is self._said:
                    # An acknowledgement has a time limit of its own, and is lost where the machine is slower.
                    at = 0
        except GONE:
            return

    def _acked(self, message: Message) -> None:
        assert isinstance(message, Ack)
        self._keep(self.promises[message.id])
        if (back := self.promises.get(f"{message.id}.back")) is not None:
            self._keep(back)
        self._trap.reach(Point.ACKED)
        self._write()

    def _keep(self, promise: Promise) -> None:
        self.made += not promise.kept
        promise.kept = True

    def _outcome_received(self, message: Message) -> None:
        assert isinstance(message, SendOutcome)
        promise = self.promises[message.key]
        self._keep(promise)
        promise.outcomes.append(message)
        self._trap.reach(Point.TOLD)
        if promise.asked is not None and self._dice.random() < _AGAIN:
            self.again += 1
            self._asked.append(promise.asked)
        else:
            self._untold[promise.by].discard(promise.id)
        self._write()
