"""A WebSocket of the web chat: the hello, the messages of the person, and the frames for the person.

What is stored for the person is read from the mailbox behind the cursor of the socket, as fast as the client takes it.
So a slow client costs a page of messages, and a client that comes again with its cursor misses and repeats nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from trunkline.core.errors import TrunklineError
from trunkline.core.http.chat.direct_chat import DirectChat, message_frame
from trunkline.core.http.chat.frames import (
    CaughtUpFrame,
    Close,
    FailedFrame,
    HelloFrame,
    Outgoing,
    OwnFrame,
    PingFrame,
    PongFrame,
    ReadyFrame,
    SayFrame,
    TypingFrame,
    decode,
    encode,
    id_of,
    problem_frame,
)
from trunkline.core.http.chat.rooms import Rooms
from trunkline.core.http.problems import Problem, problem_of
from trunkline.core.http.served import Served
from trunkline.core.store.mailbox import MailboxPage

LOG = logging.getLogger("trunkline.http")


class ChatLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a socket. Times in seconds."""

    #: time in which the `hello` must have come
    hello_time: float = 10.0
    #: time in which the client must have taken a frame
    write_time: float = 20.0
    #: time in which a client that has lagged may begin to read again, to get its close frame
    close_time: float = 5.0
    #: time from the close frame to the end of the connection, whatever is left in it
    linger: float = 15.0
    #: frames that wait to be sent, messages not counted
    waiting: int = 256
    #: frames that are read per second over time, and at once; more are read later
    per_second: float = 50.0
    burst: int = 100
    #: sockets at once
    sockets: int = 1_000
    #: messages read from the mailbox at once
    page: int = 50


class ChatSocket:
    """A socket that is open, until one of its ends closes it."""

    def __init__(self, socket: WebSocket, served: Served, rooms: Rooms, limits: ChatLimits) -> None:
        self._socket = socket
        self._served = served
        self._rooms = rooms
        self._limits = limits
        self._request_id: str = socket.state.request_id
        self._frames: deque[Outgoing] = deque()
        self._wake = anyio.Event()
        #: one frame is written at a time
        self._writing = anyio.Lock()
        self._scope = anyio.CancelScope()
        #: code and reason that the socket is closed with; none: the client has closed it
        self._end: tuple[Close, str] | None = None
        self._bucket = (float(limits.burst), served.env.steady())

    # ---------------------------------------------------------------- what a room calls

    def show_typing(self, *, on: bool) -> None:
        """Show that a turn of the conversation has begun, or that the last one has ended."""
        if self._frames and isinstance(self._frames[-1], TypingFrame):
            self._frames.pop()
        self._tell(TypingFrame(on=on))

    def show_failure(self, frame: FailedFrame) -> None:
        """Show that a turn of the conversation has failed."""
        self._tell(frame)

    def show_own(self, frame: OwnFrame) -> None:
        """Show a message that the person sent on another socket."""
        self._tell(frame)

    # ---------------------------------------------------------------- the life of a socket

    async def run(
        self, greet: Callable[[HelloFrame], DirectChat], until_revoked: Callable[[HelloFrame], Awaitable[None]]
    ) -> None:
        """Serve the socket, which is accepted.

        `greet` checks a hello; it raises `Problem` or a `TrunklineError`. `until_revoked` waits until the token of the
        hello no longer counts: then the socket is closed.
        """
        try:
            hello = await self._hello()
            if hello is not None:
                try:
                    conversation = greet(hello)
                except (Problem, TrunklineError) as error:
                    await self._refuse(problem_of(error))
                else:
                    await self._talk(conversation, hello, until_revoked)
        except (WebSocketDisconnect, OSError) as error:
            LOG.debug("socket %s: %r", self._request_id, error)
        except Exception:
            LOG.exception("socket %s failed", self._request_id)
            self._close(Close.FAILED, "internal-error")
        await self._goodbye()

    async def _hello(self) -> HelloFrame | None:
        with anyio.move_on_after(self._limits.hello_time):
            try:
                frame = decode(await self._next())
                if not isinstance(frame, HelloFrame):
                    raise Problem(422, "invalid-frame", "The first frame must be a `hello`.")
            except Problem as problem:
                await self._send(problem_frame(problem, self._request_id))
                self._close(Close.BAD_HELLO, problem.slug)
                return None
            return frame
        self._close(Close.HELLO_TIMEOUT, "hello-timeout")
        return None

    async def _refuse(self, problem: Problem) -> None:
        await self._send(problem_frame(problem, self._request_id))
        self._close(_CODES.get(problem.status, Close.BAD_HELLO), problem.slug)

    async def _talk(
        self, conversation: DirectChat, hello: HelloFrame, until_revoked: Callable[[HelloFrame], Awaitable[None]]
    ) -> None:
        place, after = conversation.place, hello.after
        page = await conversation.messages(after, self._limits.page)
        if after > page.newest:
            # The cursor is of another store: its messages have other numbers here.
            after, page = 0, await conversation.messages(0, self._limits.page)
        await self._send(
            ReadyFrame(
                channel=place[0],
                account=place[1],
                peer=hello.peer,
                after=after,
                pruned=page.pruned,
                max_frame=self._socket.app.state.settings.limits.frame,
            )
        )
        self._rooms.enter(place, self)
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._send_frames, name="frames of socket")
                group.start_soon(self._send_messages, conversation, page, after, name="messages of socket")
                group.start_soon(self._await_stop, name="stop of server")
                group.start_soon(self._await_revocation, until_revoked, hello, name="token of socket")
                with self._scope:
                    await self._read_all(conversation)
                group.cancel_scope.cancel()
        except ExceptionGroup as errors:
            # The group holds what its tasks raised: the client has gone, or the gateway has a defect.
            defects = errors.split((WebSocketDisconnect, OSError))[1]
            if defects is not None:
                raise defects from None
            raise WebSocketDisconnect from None
        finally:
            self._rooms.leave(place, self)

    async def _await_stop(self) -> None:
        await self._served.stopping.wait()
        self._close(Close.RESTART, "restart")

    async def _await_revocation(
        self, until_revoked: Callable[[HelloFrame], Awaitable[None]], hello: HelloFrame
    ) -> None:
        await until_revoked(hello)
        self._close(Close.UNAUTHORIZED, "unauthorized")

    def _close(self, code: Close, reason: str) -> None:
        self._end = self._end or (code, reason)
        self._scope.cancel()

    async def _goodbye(self) -> None:
        if self._end is None:
            return
        code, reason = self._end
        abort: Callable[[], None] | None = self._socket.scope["state"].get("abort")
        if abort is not None:
            # A client that reads nothing would hold the connection, and what is left in it, for as long as it likes.
            asyncio.get_running_loop().call_later(self._limits.close_time + self._limits.linger, abort)
        with anyio.move_on_after(self._limits.close_time, shield=True):
            try:
                await self._socket.close(code, reason)
            except (OSError, RuntimeError, WebSocketDisconnect):
                LOG.debug("socket %s was closed already", self._request_id)

    # ---------------------------------------------------------------- from the client

    async def _read_all(self, conversation: DirectChat) -> None:
        while True:
            text = ""
            try:
                text = await self._next()
                frame = decode(text)
            except Problem as problem:
                self._tell(problem_frame(problem, self._request_id, id_of(text)))
                continue
            match frame:
                case SayFrame():
                    await self._say(conversation, frame)
                case PingFrame():
                    self._tell(PongFrame())
                case HelloFrame():
                    problem = Problem(409, "second-hello", "This socket has a person already: open another one.")
                    self._tell(problem_frame(problem, self._request_id))

    async def _next(self) -> str:
        """The text of the next frame. Raises `Problem` for one without, `WebSocketDisconnect` at the end."""
        await self._throttle()
        message: dict[str, Any] = dict(await self._socket.receive())
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1005))
        text = message.get("text")
        if text is None:
            raise Problem(415, "unsupported-media-type", "Frames are text: JSON in UTF-8.")
        return text

    async def _throttle(self) -> None:
        """Read no faster than allowed. The client's own buffers fill up then: nothing is lost."""
        limits, now = self._limits, self._served.env.steady()
        left, at = self._bucket
        left = min(float(limits.burst), left + max(0.0, now - at) * limits.per_second) - 1
        self._bucket = (left, now)
        if left < 0:
            await anyio.sleep(-left / limits.per_second)

    async def _say(self, conversation: DirectChat, say: SayFrame) -> None:
        try:
            said, own = await conversation.say(say)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                LOG.error("message of socket %s failed", self._request_id, exc_info=error)
            self._tell(problem_frame(problem, self._request_id, say.id))
            return
        self._tell(said)
        if own is not None:
            self._rooms.share_own(conversation.place, own, self)

    # ---------------------------------------------------------------- to the client

    def _tell(self, frame: Outgoing) -> None:
        if len(self._frames) >= self._limits.waiting:
            self._close(Close.LAGGED, "lagged")
            return
        self._frames.append(frame)
        self._wake.set()

    async def _send_frames(self) -> None:
        while True:
            while self._frames:
                await self._send(self._frames.popleft())
            self._wake = anyio.Event()
            await self._wake.wait()

    async def _send_messages(self, conversation: DirectChat, page: MailboxPage, after: int) -> None:
        """Send the messages behind a cursor, and those that come later."""
        caught_up = False
        while True:
            for message in page.messages:
                await self._send(message_frame(message))
                after = message.n
            if not caught_up and len(page.messages) < self._limits.page:
                caught_up = True
                await self._send(CaughtUpFrame(cursor=after))
            page = await conversation.messages(after, self._limits.page, wait=caught_up)

    async def _send(self, frame: Outgoing) -> None:
        with anyio.move_on_after(self._limits.write_time) as limit:
            async with self._writing:
                await self._socket.send_text(encode(frame))
        if limit.cancelled_caught:
            self._close(Close.LAGGED, "lagged")
            raise WebSocketDisconnect(Close.LAGGED)


#: codes that the problems of a hello close the socket with
_CODES = {
    401: Close.UNAUTHORIZED,
    403: Close.MISSING_SCOPE,
    404: Close.UNKNOWN_ACCOUNT,
    429: Close.TOO_MANY,
    503: Close.STANDBY,
    500: Close.FAILED,
}
