"""What the fake platform and gateway processes say to each other: one message a line, as JSON, over a socket."""

from collections import deque

import anyio
import msgspec
from anyio.abc import ByteStream


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """One line."""


class Hello(Message, frozen=True, kw_only=True):
    """The first line of a process: `role` is ``adapter`` or ``clients``."""

    role: str
    process: int


class Said(Message, frozen=True, kw_only=True):
    """Somebody wrote to the bot; pushed again at each connection until it is acknowledged."""

    id: str
    conversation: str
    text: str
    at: float


class Ack(Message, frozen=True, kw_only=True):
    """The gateway has it."""

    id: str


class Ask(Message, frozen=True, kw_only=True):
    """A client asks the gateway to send something, and asks again until it receives the outcome."""

    key: str
    client: str
    conversation: str
    text: str
    #: until it is delivered; else until it is durable
    wait: bool


class SendOutcome(Message, frozen=True, kw_only=True):
    """The outcome of a send, as its client receives it: ``delivered``, ``queued``, ``failed`` or ``refused``."""

    key: str
    outcome: str
    detail: str = ""


class Stop(Message, frozen=True):
    """End in order."""


class Send(Message, frozen=True, kw_only=True):
    """One chunk. `at`: when it was written, by the clock that all processes of a machine share."""

    key: str
    conversation: str
    text: str
    intent: str
    chunk: int
    attempt: int
    at: float


class Find(Message, frozen=True, kw_only=True):
    """Was there a message with this key?"""

    conversation: str
    key: str


class Answer(Message, frozen=True, kw_only=True):
    """What the platform says to a request: a message id, or an error, or neither when nothing was found."""

    id: str | None = None
    error: str | None = None
    retry_after: float | None = None


class Start(Message, frozen=True, kw_only=True):
    """To the zygote: fork a gateway process. `life` is JSON, see `tests.kill.child.Life`."""

    life: str


class Watch(Message, frozen=True):
    """To the zygote: tell when the process that was started last has ended. It is reaped at the next message."""


class Started(Message, frozen=True, kw_only=True):
    """The process that was asked for."""

    pid: int


class Ended(Message, frozen=True, kw_only=True):
    """How it ended: an exit code, or the negative number of a signal."""

    status: int


Any = Hello | Said | Ack | Ask | SendOutcome | Stop | Send | Find | Answer | Start | Watch | Started | Ended

#: what a connection raises that is gone, or was never there
GONE = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder(Any).decode


class Wire:
    """A connection that carries messages. One task hears; any may tell. Raises one of `GONE`."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._heard: deque[bytes] = deque()
        self._rest = b""
        self._telling = anyio.Lock()

    async def tell(self, message: Message) -> None:
        """Send a message."""
        async with self._telling:
            await self._stream.send(encode(message) + b"\n")

    async def hear(self) -> Any:
        """The next message."""
        while not self._heard:
            *lines, self._rest = (self._rest + await self._stream.receive()).split(b"\n")
            self._heard.extend(lines)
        return decode(self._heard.popleft())

    async def close(self) -> None:
        """Close at once, whatever is still to be sent."""
        await anyio.aclose_forcefully(self._stream)
