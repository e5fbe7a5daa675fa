"""The base of all servers on the wire: a request becomes one to the fake platform, whose answer becomes a response.

A server knows the words of its platform's protocol and none of its rules: those are in `sim.platforms`, once. Faults,
latency and the record of the wire are there too; here they only become what a client sees on its socket.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery, ActionRequest
from trunkline.core.errors import Ambiguous, NotSent, PlatformError
from trunkline.core.values import Address, IntentId, Receipt, SendRequest
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.api.wire_faults import HALF, PAGE, StruckAnswer
from trunkline.sim.platforms.base import FakePlatform
from trunkline.sim.platforms.rooms import WorldPort
from trunkline.sim.wire.attribution import Attribution, WireAttempt
from trunkline.sim.wire.call_log import CallLog, digest_of
from trunkline.sim.wire.sockets import ResponseWithheld, half_answer, proxy_page, reset, slow_answer

P = TypeVar("P", bound=FakePlatform)
#: bytes of a request's body
_LONGEST_BODY = 64 * 1024 * 1024
#: seconds of the loop between two looks at a silent connection
_LOOK = 0.05


@web.middleware
async def _withhold(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Leave a request whose connection was closed on purpose, without a word in aiohttp's log."""
    try:
        return await handler(request)
    except (ResponseWithheld, ConnectionResetError):
        raise asyncio.CancelledError from None


class WireServer(ABC, Generic[P]):
    """A platform on the wire, with all its accounts."""

    #: the platform
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

    # ------------------------------------------------------------ for the servers

    def app(self) -> web.Application:
        """The application with all endpoints."""
        calls = [] if self.calls is None else [self.calls.middleware]
        app = web.Application(client_max_size=_LONGEST_BODY, middlewares=[_withhold, *calls])
        self.add_routes(app)
        return app

    def date(self, at: float | None = None) -> float:
        """A time of the world as the platform shows it, in seconds since 1970; by default now."""
        return self.epoch + (self.world.now() if at is None else at)

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
        """Hand a send to the platform, and respond with its receipt or its refusal."""
        future = self.world.future()
        if self.calls is not None:
            seq = await self.calls.record_request(request, "send", send.address, send.text, digest=digest_of(send))
            send = msgspec.structs.replace(send, cause=seq)
        self.platform.wire.receive(send, future, token)
        return await self.respond(request, future, answer)

    async def act(
        self, request: web.Request, change: ActionRequest, token: int, answer: Callable[[Receipt], web.StreamResponse]
    ) -> web.StreamResponse:
        """Hand a change to the platform, and respond with its receipt or its refusal."""
        future = self.world.future()
        if self.calls is not None:
            about = (change.address, change.text or "", change.message_id, change.action)
            seq = await self.calls.record_request(request, "act", *about, digest=digest_of(change))
            change = msgspec.structs.replace(change, cause=seq)
        self.platform.actions.act(change, future, token)
        return await self.respond(request, future, answer)

    async def ask(
        self, request: web.Request, query: ActionQuery, token: int, answer: Callable[[Any], web.StreamResponse]
    ) -> web.StreamResponse:
        """Hand a question to the platform, and respond with its answer or its refusal."""
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
            raise reset(request) from error
        except PlatformError as error:
            return self.refusal(request, error)
        if not isinstance(found, StruckAnswer):
            return answer(found)
        if found.kind == PAGE:
            return proxy_page()
        whole = answer(found.what)
        if found.kind == HALF:
            raise await half_answer(request, whole)
        return await slow_answer(request, whole, found.seconds)

    async def unless_silent(self, request: web.Request, connection: Connection) -> None:
        """Keep a request of a connection that is silent, until that breaks; then reset it.

        For platforms whose clients poll: call it before each answer. The next poll is a connection of its own.
        """
        if not connection.silent:
            return
        while self.platform.pushes.has(connection):  # noqa: ASYNC110 -- the platform notifies nobody of it
            await asyncio.sleep(_LOOK)
        raise reset(request)


def _joined(known: WireAttempt) -> dict[str, Any]:
    return {
        "key": known.key,
        "intent": known.intent,
        "chunk": known.chunk,
        "attempt": known.attempt,
        "cause": known.cause,
    }
