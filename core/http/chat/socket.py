"""A WebSocket of the web chat: the hello, the messages of the person, and the frames for the person.

What is stored for the person is read from the mailbox behind the cursor of the socket, as fast as the client takes it.
So a slow client costs a page of messages, and a client that comes again with its cursor misses and repeats nothing.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import anyio
import msgspec
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.declared import filled
from trunkline.core.errors import TrunklineError
from trunkline.core.events import Event, EventLog
from trunkline.core.events.gateway import TurnEnded, TurnStarted
from trunkline.core.http.auth import Tokens, bearer, check_proof, require
from trunkline.core.http.chat import frames
from trunkline.core.http.chat.bodies import mailbox_of
from trunkline.core.http.chat.frames import FailedFrame, OwnFrame
from trunkline.core.http.clients import Caller, Reach, Scope
from trunkline.core.http.problems import Problem, problem_of, stopping, unavailable
from trunkline.core.http.served import Served
from trunkline.core.records.inbound import InboundStatus
from trunkline.core.store.mailbox import MailboxMessage, MailboxPage
from trunkline.core.values import Address, ChatKind, Envelope, Peer

# Rooms: the sockets of each conversation, which see its turns and what the person says on another socket.

#: channel, account, conversation and its kind; threads of a conversation are heard with it
Place = tuple[str, str, str, ChatKind]
#: turns under way whose places are remembered; more than a gateway runs at once
_MOST_TURNS = 10_000


def place_of(address: Address) -> Place:
    return (address.channel, address.account, address.conversation, address.kind)


class Rooms:
    """The sockets of each conversation. Made on the event loop; hears the log from whichever thread records."""

    def __init__(self, log: EventLog) -> None:
        self._loop = asyncio.get_running_loop()
        self._rooms: dict[Place, set[ChatSocket]] = {}
        #: place of each turn under way, by its id, and how many there are in each place; changed only in `_see`, which
        #: the log calls one event at a time
        self._turns: dict[str, Place] = {}
        self._busy: dict[Place, int] = {}
        log.subscribe(self._see, TurnStarted, TurnEnded)

    def __len__(self) -> int:
        return sum(map(len, self._rooms.values()))

    def enter(self, place: Place, member: "ChatSocket") -> None:
        """Listen to a conversation. A turn under way is reported at once."""
        self._rooms.setdefault(place, set()).add(member)
        if place in self._busy:
            member.show_typing(on=True)

    def leave(self, place: Place, member: "ChatSocket") -> None:
        room = self._rooms.get(place)
        if room is not None:
            room.discard(member)
            if not room:
                del self._rooms[place]

    def share_own(self, place: Place, frame: OwnFrame, but: "ChatSocket") -> None:
        """Show what a person said to the other sockets of the conversation."""
        for member in self._in(place):
            if member is not but:
                member.show(frame)

    def _see(self, event: Event) -> None:
        # Called in the thread that committed, for every turn of the gateway: most have nobody in their room.
        body = event.body
        if isinstance(body, TurnStarted):
            if body.origin is not None and event.turn is not None:
                self._begin(event.turn, place_of(body.origin))
        elif isinstance(body, TurnEnded) and event.turn is not None:
            self._end(event.turn, body)

    def _begin(self, turn: str, place: Place) -> None:
        if len(self._turns) < _MOST_TURNS and turn not in self._turns:
            self._turns[turn] = place
            self._busy[place] = self._busy.get(place, 0) + 1
            if place in self._rooms:
                self._call(place)

    def _end(self, turn: str, ended: TurnEnded) -> None:
        place = self._turns.pop(turn, None)
        if place is None:
            return
        left = self._busy.pop(place, 1) - 1
        if left:
            self._busy[place] = left
        elif place in self._rooms:
            self._call(place)
        if ended.outcome == "failed" and place in self._rooms:
            self._call(place, FailedFrame(reason=ended.reason))

    def _call(self, place: Place, failed: FailedFrame | None = None) -> None:
        try:
            if failed is None:
                self._loop.call_soon_threadsafe(self._show_typing, place)
            else:
                self._loop.call_soon_threadsafe(self._show_failure, place, failed)
        except RuntimeError:
            # The loop is closed: nobody listens any more.
            self._rooms.clear()

    def _in(self, place: Place) -> "Iterable[ChatSocket]":
        return tuple(self._rooms.get(place, ()))

    def _show_typing(self, place: Place) -> None:
        on = place in self._busy
        for member in self._in(place):
            member.show_typing(on=on)

    def _show_failure(self, place: Place, frame: FailedFrame) -> None:
        for member in self._in(place):
            member.show(frame)


LOG = logging.getLogger("trunkline.http")
PATH = "/v1/chat/ws"


# The conversation of a person with an account: how a socket reaches the gateway and its store.


class DirectChat:
    """The direct conversation of a person with a mailbox account."""

    def __init__(self, served: Served, adapter: MailboxAdapter, peer: Peer) -> None:
        self._served = served
        self._adapter = adapter
        self._peer = peer
        self._address = Address(
            channel=adapter.channel, account=adapter.account, kind=ChatKind.DIRECT, conversation=peer.id
        )

    @property
    def place(self) -> Place:
        return place_of(self._address)

    async def say(self, say: frames.SayFrame) -> tuple[frames.SaidFrame, frames.OwnFrame | None]:
        """Hand a message to the gateway. Returns its fate, and the frame that other sockets show.

        Raises `Problem` 409 if the id belongs to another message, 503 while the store refuses writes, and a
        `TrunklineError` if nothing was stored.
        """
        self._served.check_writable()
        at = self._served.env.now()
        envelope = Envelope(
            address=self._address,
            peer=self._peer,
            message_id=say.id,
            text=say.text,
            sent_at=at,
            pressed=None if say.pressed is None else str(say.pressed),
        )
        receipt = await self._served.gateway.receive(envelope)
        if receipt.differs:
            detail = "Another message has this id already. Nothing was stored: send it with an id of its own."
            raise Problem(409, "message-id-reused", detail)
        said = filled(frames.SaidFrame, say, receipt, agent=receipt.agent or None)
        admitted = receipt.status is InboundStatus.ADMITTED
        return said, frames.OwnFrame(id=say.id, text=say.text, at=at) if admitted else None

    async def messages(self, after: int, limit: int, *, wait: bool = False) -> MailboxPage:
        """Messages of the mailbox behind a cursor, oldest first. `wait`: until there is a message."""
        read = self._adapter.next if wait else self._adapter.read
        return await read(after=after, conversation=self._address.conversation, kind=ChatKind.DIRECT, limit=limit)


def message_frame(message: MailboxMessage) -> frames.MessageFrame:
    return filled(frames.MessageFrame, message, cursor=message.n, thread=message.address.thread)


def open_chat(served: Served, hello: frames.HelloFrame) -> DirectChat:
    """The conversation that a hello names. Raises `Problem` for an unknown account, and while no work is taken."""
    if not served.gateway.serving:
        detail = "The gateway waits for its store, or recovers unfinished work. Connect again soon."
        raise unavailable("standby", detail)
    adapter = mailbox_of(served.gateway, hello.channel, hello.account)
    return DirectChat(served, adapter, Peer(id=hello.peer.id, name=hello.peer.name or hello.peer.id))


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
    """An open socket, until either end closes the socket."""

    def __init__(self, socket: WebSocket, served: Served, rooms: Rooms, limits: ChatLimits) -> None:
        self._socket = socket
        self._tokens: Tokens = socket.app.state.tokens
        self._served = served
        self._rooms = rooms
        self._limits = limits
        self._request_id: str = socket.state.request_id
        self._frames: deque[frames.ServerFrame] = deque()
        self._wake = anyio.Event()
        #: one frame is written at a time
        self._writing = anyio.Lock()
        self._scope = anyio.CancelScope()
        #: code and reason that the socket is closed with; none: the client has closed it
        self._end: tuple[frames.Close, str] | None = None
        self._bucket = (float(limits.burst), served.env.steady())

    def show_typing(self, *, on: bool) -> None:
        """Show that a turn of the conversation has begun, or that the last one has ended."""
        if self._frames and isinstance(self._frames[-1], frames.TypingFrame):
            self._frames.pop()
        self.show(frames.TypingFrame(on=on))

    async def run(self) -> None:
        """Serve the socket, which is accepted."""
        try:
            hello = await self._hello()
            if hello is not None:
                try:
                    self._check(self._tokens.caller(self._token(hello)), hello)
                    conversation = open_chat(self._served, hello)
                except (Problem, TrunklineError) as error:
                    await self._refuse(problem_of(error))
                else:
                    in_use: Callable[[], None] | None = self._socket.scope["state"].get("in_use")
                    if in_use is not None:
                        in_use()
                    await self._talk(conversation, hello)
        except (WebSocketDisconnect, OSError) as error:
            LOG.debug("socket %s: %r", self._request_id, error)
        except Exception:
            LOG.exception("socket %s failed", self._request_id)
            self._close(frames.Close.FAILED, "internal-error")
        await self._goodbye()

    def _check(self, caller: Caller, hello: frames.HelloFrame) -> None:
        """Raise `Problem` 403 for a token without the right to be the person of a hello."""
        require(caller, Scope.SEND, Reach.PLACE)
        check_proof(caller, hello.channel, hello.peer.id)

    def _token(self, hello: frames.HelloFrame) -> str | None:
        return hello.token or bearer(self._socket.headers)

    async def _hello(self) -> frames.HelloFrame | None:
        with anyio.move_on_after(self._limits.hello_time):
            try:
                frame = frames.decode(await self._next())
                if not isinstance(frame, frames.HelloFrame):
                    raise Problem(422, "invalid-frame", "The first frame must be a `hello`.")
            except Problem as problem:
                await self._send(frames.problem_frame(problem, self._request_id))
                self._close(frames.Close.BAD_HELLO, problem.slug)
                return None
            return frame
        self._close(frames.Close.HELLO_TIMEOUT, "hello-timeout")
        return None

    async def _refuse(self, problem: Problem) -> None:
        await self._send(frames.problem_frame(problem, self._request_id))
        self._close(_CODES.get(problem.status, frames.Close.BAD_HELLO), problem.slug)

    async def _talk(self, conversation: DirectChat, hello: frames.HelloFrame) -> None:
        place, after = conversation.place, hello.after
        page = await conversation.messages(after, self._limits.page)
        if after > page.newest:
            # The cursor is of another store: its messages have other numbers here.
            after, page = 0, await conversation.messages(0, self._limits.page)
        await self._send(
            frames.ReadyFrame(
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
                group.start_soon(self._await_revocation, hello, name="token of socket")
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
        self._close(frames.Close.RESTART, "restart")

    async def _await_revocation(self, hello: frames.HelloFrame) -> None:
        await self._tokens.until_refused(self._token(hello), lambda caller: self._check(caller, hello))
        self._close(frames.Close.UNAUTHORIZED, "unauthorized")

    def _close(self, code: frames.Close, reason: str) -> None:
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
                # What became of messages that waited for their answer; a client that has lagged would not read it.
                while self._frames and code is frames.Close.RESTART:
                    await self._send(self._frames.popleft())
                await self._socket.close(code, reason)
            except (OSError, RuntimeError, WebSocketDisconnect):
                LOG.debug("socket %s was closed already", self._request_id)

    async def _read_all(self, conversation: DirectChat) -> None:
        while True:
            text = ""
            try:
                text = await self._next()
                frame = frames.decode(text)
            except Problem as problem:
                self.show(frames.problem_frame(problem, self._request_id, frames.id_of(text)))
                continue
            match frame:
                case frames.SayFrame():
                    await self._say(conversation, frame)
                case frames.PingFrame():
                    self.show(frames.PongFrame())
                case frames.HelloFrame():
                    problem = Problem(409, "second-hello", "This socket has a person already: open another one.")
                    self.show(frames.problem_frame(problem, self._request_id))

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

    async def _say(self, conversation: DirectChat, say: frames.SayFrame) -> None:
        try:
            said, own = await conversation.say(say)
        except anyio.get_cancelled_exc_class():
            if self._served.stopping.is_set():
                self._frames.append(frames.problem_frame(stopping(), self._request_id, say.id))
            raise
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                LOG.error("message of socket %s failed", self._request_id, exc_info=error)
            self.show(frames.problem_frame(problem, self._request_id, say.id))
            return
        self.show(said)
        if own is not None:
            self._rooms.share_own(conversation.place, own, self)

    def show(self, frame: frames.ServerFrame) -> None:
        if len(self._frames) >= self._limits.waiting:
            self._close(frames.Close.LAGGED, "lagged")
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
                await self._send(frames.CaughtUpFrame(cursor=after))
            page = await conversation.messages(after, self._limits.page, wait=caught_up)

    async def _send(self, frame: frames.ServerFrame) -> None:
        with anyio.move_on_after(self._limits.write_time) as limit:
            async with self._writing:
                await self._socket.send_text(frames.encode(frame))
        if limit.cancelled_caught:
            self._close(frames.Close.LAGGED, "lagged")
            raise WebSocketDisconnect(frames.Close.LAGGED)


#: codes that the problems of a hello close the socket with
_CODES = {
    401: frames.Close.UNAUTHORIZED,
    403: frames.Close.MISSING_SCOPE,
    404: frames.Close.UNKNOWN_ACCOUNT,
    429: frames.Close.TOO_MANY,
    503: frames.Close.STANDBY,
    500: frames.Close.FAILED,
}


def chat_routes(served: Served, limits: ChatLimits | None = None) -> list[BaseRoute]:
    """The WebSocket of the web chat, for `build_app`. Call it on the event loop that serves."""
    rooms, limits = Rooms(served.log), limits or ChatLimits()
    opened = 0

    async def talk(socket: WebSocket) -> None:
        nonlocal opened
        await socket.accept()
        if opened >= limits.sockets:
            await socket.close(frames.Close.TOO_MANY, "too-many-sockets")
            return
        opened += 1
        try:
            await ChatSocket(socket, served, rooms, limits).run()
        finally:
            opened -= 1

    served.metrics.chat_sockets.count = lambda: opened
    return [WebSocketRoute(PATH, talk)]
