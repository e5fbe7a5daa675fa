"""The record of requests on the wire, for runs in which nothing else of the gateway is known."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.events import Recorder
from trunkline.core.values import Address, SendRequest
from trunkline.sim.events.wire import WireCalled, WireResponded
from trunkline.sim.events.world import PlatformConfirming
from trunkline.sim.wire.sockets import reset

#: the event of a request, and its seq
_SEQ, _BODY = web.RequestKey("called", int), web.RequestKey("called_body", WireCalled)


class CallLog:
    """Records the requests to one server. `method_of`: its name for a request, as the platform spells it.

    `quiet`: methods that are not recorded by themselves, such as polls. `cause_of`: the event that caused a request
    with a text, if one is known. `count_request`: called with the method of every request when it arrives, a poll too.
    """

    def __init__(
        self,
        events: Recorder,
        channel: str,
        method_of: Callable[[web.Request], str] | None = None,
        quiet: frozenset[str] = frozenset(),
        cause_of: Callable[[str], int | None] = lambda _: None,
        count_request: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._events = events
        self._channel = channel
        self._method_of = method_of or method_name
        self._quiet = quiet
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
        *,
        digest: str = "",
    ) -> int:
        """Record a send, a change or a question; returns the seq of its event.

        What strikes at its arrival strikes before this returns. Raises `ResponseWithheld` if its sender has died of it.
        """
        body = WireCalled(
            channel=self._channel,
            account=address.account,
            method=self._method_of(request),
            what=what,
            address=address,
            text=text,
            message_id=message_id,
            action=action,
            digest=digest,
        )
        seq = self._events.record(body, self._cause_of(text) if text else None)
        request[_SEQ], request[_BODY] = seq, body
        if what != "ask":
            self.unanswered.add(seq)
        await asyncio.sleep(0)
        if seq in self.untaken:
            raise reset(request)
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
            raise reset(request)

    @web.middleware
    async def _middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await self._record_call(request, handler)
        finally:
            self.unanswered.discard(request.get(_SEQ, 0))

    async def _record_call(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        self.count_request(self._method_of(request))
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
                channel=self._channel,
                method=body.method,
                status=response.status,
                address=body.address,
                text=body.text,
            )
            self._events.record(done, request[_SEQ])
        return response

    def _other(self, request: web.Request) -> None:
        """Record a request that is no send, change or question, unless it is a poll."""
        method = self._method_of(request)
        if request.get(_BODY) is None and method not in self._quiet:
            self._events.record(WireCalled(channel=self._channel, method=method))

    @property
    def middleware(self) -> Middleware:
        """The middleware of an application."""
        return self._middleware


def digest_of(asked: SendRequest | ActionRequest) -> str:
    """A digest of everything that a request asks for. Keys are left out: they differ where the request does not."""
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(asked, key="", cause=None))).hexdigest()[:12]


def method_name(request: web.Request) -> str:
    """The name of a request: ``sendMessage`` of an API of methods, else ``POST /channels/{id}/messages``."""
    method = request.match_info.get("method")
    if method:
        return method
    resource = request.match_info.route.resource
    return f"{request.method} {resource.canonical if resource is not None else request.path}"
