"""A fake platform that outlives every gateway: it keeps what it accepted, and has the manners of a bad network.

It serves requests to send and to look up. It may lose an answer, be slow, break connections, ask to slow down, or be
away; all of that is honest. `Lies` are for tests that must fail.
"""

import socket
import time
from collections.abc import Callable
from enum import StrEnum
from random import Random

import anyio
import msgspec
from anyio.abc import SocketStream

from tests.kill.wire import GONE, Answer, Find, Send, Wire
from trunkline import Idempotency


class Point(StrEnum):
    """A point at which a process may be killed."""

    #: a request has come, and will be accepted, later than the death
    RECEIVED = "received"
    #: a request has come, and is lost with the sender
    LOST = "lost"
    #: accepted, and not answered
    ACCEPTED = "accepted"
    ANSWERED = "answered"
    #: a message of a person was acknowledged
    ACKED = "acked"
    #: a client was told what became of its send
    TOLD = "told"
    #: the gateway listens
    CONNECTED = "connected"


class Trap:
    """Springs when a point is reached for the `count`-th time, once."""

    def __init__(self) -> None:
        self._point: Point | None = None
        self._count = 0
        self._spring: Callable[[], None] = lambda: None

    def set(self, point: Point | None, count: int, spring: Callable[[], None]) -> None:
        """Watch another point; none watches nothing."""
        self._point, self._count, self._spring = point, count, spring

    def reach(self, point: Point) -> bool:
        """Tell that a point is reached; whether the trap has sprung."""
        if point is not self._point:
            return False
        self._count -= 1
        if self._count > 0:
            return False
        self._point = None
        self._spring()
        return True


class Manners(msgspec.Struct, frozen=True, kw_only=True):
    """How often what happens to a request, from 0 to 1."""

    #: accepted, and never answered
    mute: float = 0.01
    #: accepted, and the connection is broken
    cut: float = 0.02
    #: not accepted: slow down
    busy: float = 0.02
    #: accepted later
    late: float = 0.1
    #: answered later
    tardy: float = 0.1
    #: longest delay, seconds
    longest: float = 0.015


class Lies(msgspec.Struct, frozen=True, kw_only=True):
    """What a platform may do wrong, for tests that must find it."""

    #: of so many requests it says that it has accepted them, and has not
    loses: float = 0.0
    #: changes what it accepts
    garbles: float = 0.0


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """One message that people see."""

    id: str
    conversation: str
    text: str
    key: str
    intent: str
    chunk: int


class Platform:
    """Serves requests until cancelled. `in_flight`: a request that is older, seconds, is not accepted any more."""

    def __init__(
        self,
        *,
        idempotency: Idempotency,
        in_flight: float,
        dice: Random,
        trap: Trap,
        manners: Manners,
        lies: Lies,
        seen: Callable[[str], None],
    ) -> None:
        self._idempotency = idempotency
        self._in_flight = in_flight
        self._dice = dice
        self._trap = trap
        self._manners = manners
        self._lies = lies
        #: of the requests that are accepted and not answered, those whose connection stays
        self._mute = manners.mute / ((manners.mute + manners.cut) or 1.0)
        self._seen = seen
        #: what people see, in order
        self.accepted: list[Accepted] = []
        self._first: dict[str, Accepted] = {}
        #: requests that came again under a key that it has
        self.repeats = 0
        #: requests that have come and are not dealt with
        self.under_way = 0
        #: by key: requests that come late, to be told of a look-up
        self._late: dict[str, anyio.Event] = {}
        self._away = 0.0
        self._serving = anyio.CancelScope()
        # Bound and never listening: nobody else gets the port while the platform is away.
        self._hold = socket.socket()
        self._hold.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._hold.bind(("127.0.0.1", 0))
        self.port: int = self._hold.getsockname()[1]

    def close(self) -> None:
        """Give the port back."""
        self._hold.close()

    def go_away(self, seconds: float) -> None:
        """Break all connections, and refuse new ones for a while."""
        self._away = seconds
        self._serving.cancel()

    async def serve(self) -> None:
        """Accept connections, between absences."""
        while True:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self.port, reuse_port=True)
            async with listener:
                with anyio.CancelScope() as self._serving:
                    await listener.serve(self._connection)
            await anyio.sleep(self._away)

    async def _connection(self, stream: SocketStream) -> None:
        """Requests of one connection, one after another."""
        wire = Wire(stream)
        try:
            while (answer := await self._handle(await wire.hear())) is not None:
                await wire.tell(answer)
                self._trap.reach(Point.ANSWERED)
            if self._chance(self._mute):
                # Until the sender gives up.
                await wire.hear()
        except GONE:
            pass
        finally:
            await wire.close()

    async def _handle(self, request: object) -> Answer | None:
        """The answer to a request; none: there will be none."""
        if isinstance(request, Find):
            found = self._first.get(request.key)
            if found is None and request.key in self._late:
                self._late[request.key].set()
            return Answer(id=None if found is None else found.id)
        assert isinstance(request, Send)
        manners = self._manners
        if self._trap.reach(Point.LOST):
            return None
        if self._trap.reach(Point.RECEIVED):
            await self._come_late(request.key)
        elif self._chance(manners.late):
            await self._delay(self._dice.uniform(0, manners.longest))
        if self._chance(manners.busy):
            return Answer(error="slow down", retry_after=0.005)
        if time.monotonic() - request.at > self._in_flight:
            return Answer(error="too late")
        given = self._accept(request)
        if self._trap.reach(Point.ACCEPTED) or self._chance(manners.mute + manners.cut):
            return None
        if self._chance(manners.tardy):
            await self._delay(self._dice.uniform(0, manners.longest))
        return Answer(id=given)

    def _accept(self, request: Send) -> str:
        """Keep a message, unless its key is known."""
        known = self._first.get(request.key)
        if known is not None:
            self.repeats += 1
            if self._idempotency is Idempotency.KEY:
                return known.id
        text = request.text
        if self._chance(self._lies.garbles):
            text = text[::-1]
        message = Accepted(
            id=f"p{len(self.accepted) + 1}",
            conversation=request.conversation,
            text=text,
            key=request.key,
            intent=request.intent,
            chunk=request.chunk,
        )
        if self._chance(self._lies.loses):
            self._seen(request.text)
            return "p0"
        self.accepted.append(message)
        self._first.setdefault(request.key, message)
        self._seen(text)
        return message.id

    def _chance(self, part: float) -> bool:
        return part > 0 and self._dice.random() < part

    async def _come_late(self, key: str) -> None:
        """As bad as it can be: the request comes when somebody was told that it is not there, or at the last moment."""
        self.under_way += 1
        missed = self._late[key] = anyio.Event()
        try:
            with anyio.move_on_after(self._in_flight * self._dice.uniform(0.6, 1)):
                await missed.wait()
        finally:
            self._late.pop(key, None)
            self.under_way -= 1

    async def _delay(self, seconds: float) -> None:
        self.under_way += 1
        try:
            await anyio.sleep(seconds)
        finally:
            self.under_way -= 1
