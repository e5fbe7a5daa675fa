"""The base of all servers on the wire: a request becomes one to the fake platform, whose answer becomes a response.

A server knows the words of its platform's protocol and none of its rules: those are in `sim.platforms`, once. Faults,
latency and the record of the wire are there too; here they only become what a client sees on its socket.
"""

import asyncio
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.errors import Ambiguous, NotSent, PlatformError
from trunkline.core.events import Recorder
from trunkline.core.values import Address, IntentId, Receipt, SendRequest
from trunkline.sim.events.wire import WireCalled, WireResponded
from trunkline.sim.events.world import PlatformConfirming
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.api.wire_faults import HALF, PAGE, StruckAnswer
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import WorldPort
from trunkline.sim.wire import sockets
from trunkline.sim.wire.attribution import Attribution, WireAttempt
from trunkline.sim.wire.json_values import mapping, value_in

# The record of requests on the wire, for runs in which nothing else of the gateway is known.

#: fields by which two requests for the same differ, and the version of the interface: keys, time stamps, secrets
_NOT_ASKED_FOR = frozenset(
    {"client_msg_id", "enforce_nonce", "nonce", "origin_server_ts", "timestamp", "token", "txn", "v", "version"}
)
#: fields with JSON in a form, whose own fields are those of the request
_WHOLE = ("payload_json", "params")
_LONGEST = 160
#: requests that are not recorded by themselves: polls
_POLLS = ("getUpdates", "GET /_matrix/client/{version}/sync")

#: the event of a request, and its seq
_SEQ, _BODY = web.RequestKey("called", int), web.RequestKey("called_body", WireCalled)


class CallLog:
    """Records the requests to one server.

    `cause_of`: the event that caused a request with a text, if one is known. `count_request`: called with the method of
    every request when it arrives, a poll too.
    """

    def __init__(
        self,
        events: Recorder,
        channel: str,
        cause_of: Callable[[str], int | None],
        count_request: Callable[[str], object],
    ) -> None:
        self._events = events
        self._channel = channel
        self._cause_of = cause_of
        #: also for the frames of a socket
        self.count_request = count_request
        #: the requests, by the seq of their arrival, that the platform does not take: their sender died then
        self.untaken: set[int] = set()
        #: the sends and changes, by the seq of their arrival, that have no response yet and whose sender waits for one
        self.unanswered: set[int] = set()

    async def record_request(
        self,
        request: web.Request,
        what: str,
        address: Address,
        text: str = "",
        message_id: str | None = None,
        action: Action | None = None,
    ) -> int:
        """Record a send, a change or a question; returns the seq of its event.

        What strikes at its arrival strikes before this returns. Raises `ResponseWithheld` if its sender has died of it.
        """
        fields = {} if what == "ask" else await _fields_of(request)
        body = WireCalled(
            channel=self._channel,
            account=address.account,
            method=method_name(request),
            what=what,
            address=address,
            text=text,
            message_id=message_id,
            action=action,
            digest=hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12] if fields else "",
            fields={name: _short(value) for name, value in sorted(fields.items()) if value not in (text, "", None)},
        )
        seq = self._events.record(body, self._cause_of(text) if text else None)
        request[_SEQ], request[_BODY] = seq, body
        if what != "ask":
            self.unanswered.add(seq)
        await asyncio.sleep(0)
        if seq in self.untaken:
            raise sockets.reset(request)
        return seq

    async def confirming(self, request: web.Request, messages: Iterable[tuple[Address, str]]) -> None:
        """Record that the confirmation of messages has arrived. `messages`: place and id of each.

        Raises `ResponseWithheld` if its sender has died of what struck at its arrival: nothing is confirmed then.
        """
        found = [PlatformConfirming(address=place, message_id=message) for place, message in messages]
        seqs = [self._events.record(body) for body in found]
        if not seqs:
            return
        await asyncio.sleep(0)
        if self.untaken.intersection(seqs):
            raise sockets.reset(request)

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await self._record_call(request, handler)
        finally:
            self.unanswered.discard(request.get(_SEQ, 0))

    async def _record_call(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.count_request(method_name(request))
        try:
            response = await handler(request)
        except web.HTTPException:
            # A path that nobody serves, or a body that is too long.
            self._other(request)
            raise
        body = request.get(_BODY)
        if body is None:
            self._other(request)
        elif body.what != "ask":
            # The response has left before it is recorded.
            await response.prepare(request)
            await response.write_eof()
            done = WireResponded(
                channel=self._channel, method=body.method, status=response.status, address=body.address, text=body.text
            )
            self._events.record(done, request[_SEQ])
        return response

    def _other(self, request: web.Request) -> None:
        """Record a request that is no send, change or question, unless it is a poll."""
        method = method_name(request)
        if request.get(_BODY) is None and method not in _POLLS:
            self._events.record(WireCalled(channel=self._channel, method=method))


async def _fields_of(request: web.Request) -> dict[str, Any]:
    """Everything in a request: path, query and body, whatever the encoding."""
    fields: dict[str, Any] = {**request.match_info, **request.query}
    if request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                value.file.seek(0)
                content = hashlib.sha256(value.file.read()).hexdigest()[:12]
                value.file.seek(0)
                fields[f"file {name}"] = f"{value.filename} {content}"
            else:
                fields[name] = value if isinstance(value, str) else bytes(value).decode("utf-8", "replace")
    else:
        fields |= _object_in(await request.read())
    for name in _WHOLE:
        if inner := _object_in(fields.get(name)):
            # A call of JSON-RPC has a number of its own beside what it asks for.
            fields = {key: value for key, value in fields.items() if key not in (name, "id", "jsonrpc")} | inner
    return {name: value for name, value in fields.items() if name not in _NOT_ASKED_FOR}


def _object_in(found: object) -> dict[str, Any]:
    try:
        return mapping(value_in(found) if isinstance(found, str | bytes) and found else found)
    except ValueError:
        return {}


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def method_name(request: web.Request) -> str:
    """The name of a request: ``sendMessage`` of an API of methods, else ``POST /channels/{id}/messages``."""
    method = request.match_info.get("method")
    if method:
        return method
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource is not None else request.path}"


P = TypeVar("P", bound=FakePlatform)
_LONGEST_BODY = 64 * 1024 * 1024
#: seconds of the loop between two looks at a silent connection
_LOOK = 0.05


@web.middleware
async def _withhold(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Leave a request whose connection was closed on purpose, without a word in aiohttp's log."""
    try:
        return await handler(request)
    except (sockets.ResponseWithheld, ConnectionResetError):
        raise asyncio.CancelledError from None


class WireServer(ABC, Generic[P]):
    channel: ClassVar[str]

    def __init__(self, platform: P, world: WorldPort, attribution: Attribution, epoch: float = 0.0) -> None:
        self.platform = platform
        self.world = world
        self.attribution = attribution
        #: the start of the world, in seconds since 1970; 0 if the gateway's clock begins with the world
        self.epoch = epoch
        #: address of the server, known once it listens: ``http://127.0.0.1:40001``
        self.url = ""
        self._calls = count(1)
        #: the record of requests, where only the wire of a gateway is known
        self.calls: CallLog | None = None

    @abstractmethod
    def add_routes(self, app: web.Application) -> None:
        """Add the endpoints of the platform."""

    @abstractmethod
    def token(self, account: str, number: int) -> str:
        """The token with a number of an account, in the form that the platform gives to a bot."""

    @abstractmethod
    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        """The response that means an error of the platform: its status, and its body as the platform words it."""

    async def close(self) -> None:
        """End what runs beside the requests, such as gateway sockets."""

    def hang_up(self) -> None:
        """The client's process has died between two polls: its connection to the world, which no socket shows, ends."""

    def app(self) -> web.Application:
        calls = [] if self.calls is None else [self.calls.middleware]
        app = web.Application(client_max_size=_LONGEST_BODY, middlewares=[_withhold, *calls])
        self.add_routes(app)
        return app

    def date(self, at: float | None = None) -> float:
        """A time of the world as the platform shows it, in seconds since 1970; by default now."""
        return self.epoch + (self.world.now() if at is None else at)

    def message_at(self, place: Address | None, message_id: str) -> BoardMessage | None:
        room = None if place is None else self.platform.room_at(place)
        return None if room is None else self.platform.board.get(room, message_id)

    def owner_of(self, token: str) -> tuple[str, int] | None:
        """The account and the number of a token, of an old one too; None: nobody has it."""
        for account in self.platform.spec.accounts:
            for number in range(self.platform.tokens.newest(account), 0, -1):
                if self.token(account, number) == token:
                    return account, number
        return None

    def send_request(self, address: Address, text: str, key: str | None = None, **parts: Any) -> SendRequest:
        """A send as the fake platform takes it. `key`: the idempotency key of the request, if it has one."""
        # The gateway knows the HTML that it wrote; the text that people see is made of it here.
        known = self.attribution.attempt(address, key, parts.get("html") or text)
        request = SendRequest(
            address=address,
            text=text,
            key=key or f"call-{next(self._calls)}",
            intent=IntentId(""),
            chunk=1,
            attempt=1,
            transport=self.platform.capabilities[address.account].mode.first,
            **parts,
        )
        if known is None:
            return request
        return msgspec.structs.replace(request, text=text if known.text is None else known.text, **_joined(known))

    def action_request(
        self, action: Action, address: Address, message_id: str | None = None, **parts: Any
    ) -> ActionRequest:
        """A change as the fake platform takes it. `parts`: further fields of `ActionRequest`."""
        known = self.attribution.change(action, address, message_id)
        request = ActionRequest(
            action=action,
            address=address,
            key=f"call-{next(self._calls)}",
            intent=IntentId(""),
            attempt=1,
            message_id=message_id,
            **parts,
        )
        if known is None:
            return request
        text = {} if known.text is None else {"text": known.text}
        return msgspec.structs.replace(request, **text, **_joined(known))

    async def send(
        self, request: web.Request, send: SendRequest, token: int, answer: Callable[[Receipt], web.StreamResponse]
    ) -> web.StreamResponse:
        future = self.world.future()
        if self.calls is not None:
            seq = await self.calls.record_request(request, "send", send.address, send.text)
            send = msgspec.structs.replace(send, cause=seq)
        self.platform.wire.receive(send, future, token)
        return await self.respond(request, future, answer)

    async def act(
        self, request: web.Request, change: ActionRequest, token: int, answer: Callable[[Receipt], web.StreamResponse]
    ) -> web.StreamResponse:
        future = self.world.future()
        if self.calls is not None:
            about = (change.address, change.text or "", change.message_id, change.action)
            seq = await self.calls.record_request(request, "act", *about)
            change = msgspec.structs.replace(change, cause=seq)
        self.platform.actions.act(change, future, token)
        return await self.respond(request, future, answer)

    async def ask(
        self, request: web.Request, query: ActionQuery, token: int, answer: Callable[[Any], web.StreamResponse]
    ) -> web.StreamResponse:
        future = self.world.future()
        if self.calls is not None:
            await self.calls.record_request(request, "ask", query.address, "", query.message_id, query.action)
        self.platform.actions.ask(query, future, token)
        return await self.respond(request, future, answer)

    async def respond(
        self, request: web.Request, future: asyncio.Future[Any], answer: Callable[[Any], web.StreamResponse]
    ) -> web.StreamResponse:
        """Respond with what the platform answers; never, while it does not. A lost connection is reset.

        A fault of the socket strikes the response: it breaks off, comes byte by byte, or is the page of a proxy.
        """
        try:
            found = await future
        except (Ambiguous, NotSent) as error:
            raise sockets.reset(request) from error
        except PlatformError as error:
            return self.refusal(request, error)
        if not isinstance(found, StruckAnswer):
            return answer(found)
        if found.kind == PAGE:
            return sockets.proxy_page()
        whole = answer(found.what)
        if found.kind == HALF:
            raise await sockets.half_answer(request, whole)
        return await sockets.slow_answer(request, whole, found.seconds)

    async def unless_silent(self, request: web.Request, connection: Connection) -> None:
        """Keep a request of a connection that is silent, until that breaks; then reset it.

        For platforms whose clients poll: call it before each answer. The next poll is a connection of its own.
        """
        if not connection.silent:
            return
        while self.platform.pushes.has(connection):  # noqa: ASYNC110 -- the platform notifies nobody of it
            await asyncio.sleep(_LOOK)
        raise sockets.reset(request)


def _joined(known: WireAttempt) -> dict[str, Any]:
    return {name: getattr(known, name) for name in ("key", "intent", "chunk", "attempt", "cause")}


class WireListener(sockets.LoopbackSite):
    """A server's socket on loopback, which can be opened again on the same port, and its connections broken."""

    def __init__(self, server: WireServer[Any]) -> None:
        super().__init__()
        self.server = server

    def app(self) -> web.Application:
        return self.server.app()

    async def open(self, port: int = 0) -> None:
        await super().open(port)
        self.server.url = self.url

    async def end(self) -> None:
        await self.server.close()

    async def restart(self, down: float = 0.0) -> None:
        """Close the socket and all connections, and listen again on the same port after `down` seconds of the loop."""
        await self.close()
        await asyncio.sleep(down)
        await self.open()

    @property
    def is_open(self) -> bool:
        return self._runner is not None

    def break_connections(self) -> int:
        """Reset every connection, and go on listening; returns how many there were."""
        server = None if self._runner is None else self._runner.server
        found = [] if server is None else [link.transport for link in server.connections if link.transport is not None]
        for transport in found:
            sockets.reset_transport(transport)
        return len(found)
