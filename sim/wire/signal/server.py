"""A daemon of signal-cli on the wire: ``/api/v1/rpc``, ``/api/v1/events`` and ``/api/v1/check``, for all accounts.

There are no tokens: everybody who reaches the daemon may use it. An account is named by its number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, ChatKind, Receipt
from trunkline.sim.platforms.channels.signal import FakeSignal
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.signal.calls import (
    BadCall,
    Params,
    RpcRequest,
    error_body,
    files_of,
    place_of,
    read_params,
    result_for,
    styles_of,
)
from trunkline.sim.wire.signal.events import DaemonEvents
from trunkline.sim.wire.sockets import reset

_CALL, _PLACE = web.RequestKey("call", RpcRequest), web.RequestKey("place", Address)
_NO_METHOD, _BAD_REQUEST, _BAD_JSON = -32601, -32600, -32700


class SignalServer(WireServer[FakeSignal]):
    """The three endpoints."""

    channel = "signal"
    #: seconds between two signs of life of a stream
    alive = 15.0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._feeds: dict[str, DaemonEvents] = {}
        self._starts = 1

    def token(self, account: str, number: int) -> str:
        """The account's number; there is nothing secret."""
        return self.platform.bot_id(account)

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/api/v1/rpc", self._rpc)
        app.router.add_get("/api/v1/events", self._events)
        app.router.add_get("/api/v1/check", self._check)

    def feed(self, account: str) -> DaemonEvents:
        """The events of an account."""
        if account not in self._feeds:
            self._feeds[account] = DaemonEvents(self.platform, account, self._starts)
        return self._feeds[account]

    def restart(self) -> None:
        """The daemon starts again: what it had received is forgotten, and its clients lose their streams."""
        self._starts += 1
        for feed in self._feeds.values():
            feed.forget(self._starts)

    async def close(self) -> None:
        for feed in self._feeds.values():
            feed.close()

    async def _check(self, _request: web.Request) -> web.StreamResponse:
        return web.Response()

    def _account(self, number: str | None) -> str | None:
        """The account with a number; without one, the only account."""
        accounts = tuple(self.platform.spec.accounts)
        if number is None:
            return accounts[0] if len(accounts) == 1 else None
        return next((account for account in accounts if self.platform.bot_id(account) == number), None)

    # ------------------------------------------------------------ events

    async def _events(self, request: web.Request) -> web.StreamResponse:
        account = self._account(request.query.get("account"))
        if account is None:
            return web.Response(status=400)
        if self.world.account_fault("connect", self.channel, account):
            return web.Response(status=500)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        feed = self.feed(account)
        queue = feed.join(request.headers.get("Last-Event-ID"))
        try:
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), self.alive)
                except TimeoutError:
                    if not feed.silent:
                        await response.write(b":\n")
                    continue
                if event is None:
                    raise reset(request)
                await response.write(f"id:{event.id}\nevent:receive\ndata:{event.data}\n\n".encode())
        finally:
            feed.leave(queue)

    # ------------------------------------------------------------ calls

    async def _rpc(self, request: web.Request) -> web.StreamResponse:
        if request.content_type != "application/json":
            return web.Response(status=415)
        try:
            call = msgspec.json.decode(await request.read(), type=RpcRequest)
        except msgspec.ValidationError as error:
            return _error(None, {"code": _BAD_REQUEST, "message": str(error), "data": None})
        except (msgspec.MsgspecError, ValueError) as error:
            return _error(None, {"code": _BAD_JSON, "message": str(error), "data": None})
        request[_CALL] = call
        try:
            return await self._call(request, call)
        except BadCall as error:
            return _error(call.id, {"code": error.code, "message": str(error), "data": None})

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        return _error(request[_CALL].id, error_body(self.platform, request.get(_PLACE), error))

    async def _call(self, request: web.Request, call: RpcRequest) -> web.StreamResponse:
        if call.method == "version":
            return _result(call.id, {"version": "0.14.0"})
        if call.method == "listAccounts":
            return _result(call.id, [{"number": self.platform.bot_id(own)} for own in self.platform.spec.accounts])
        params = read_params(call.params)
        account = self._account(params.account)
        if account is None:
            raise BadCall(-32602, "Specified account does not exist")
        if call.method == "listGroups":
            return _result(call.id, self._groups(account, params))
        do = self._methods.get(call.method)
        if do is None:
            raise BadCall(_NO_METHOD, "Method not implemented")
        place = request[_PLACE] = place_of(params, self.platform, account)
        return await do(self, request, place, params)

    async def _send(self, request: web.Request, place: Address, params: Params) -> web.StreamResponse:
        styles, files = styles_of(params), files_of(params)
        if not params.message and not files:
            raise BadCall(-1, "Sending empty message is not allowed, either a message, attachment or sticker is needed")
        if params.edit_timestamp is not None:
            return await self._change(
                request, Action.EDIT, place, params.edit_timestamp, text=params.message, styles=styles
            )
        quoted = None if params.quote_timestamp is None else str(params.quote_timestamp)
        if quoted is not None and params.quote_author is None:
            raise BadCall(-1, "The author of the quoted message is missing")
        send = self.send_request(place, params.message, media=files, styles=styles, reply_to=quoted)
        return await self.send(request, send, 1, self._sent(request, place))

    async def _react(self, request: web.Request, place: Address, params: Params) -> web.StreamResponse:
        if params.emoji is None or params.target_author is None:
            raise BadCall(-1, "emoji and targetAuthor are needed")
        time = params.target_timestamp
        return await self._change(request, Action.REACT, place, time, text=params.emoji, remove=params.remove)

    async def _delete(self, request: web.Request, place: Address, params: Params) -> web.StreamResponse:
        return await self._change(request, Action.DELETE, place, params.target_timestamp)

    async def _typing(self, request: web.Request, _place: Address, _params: Params) -> web.StreamResponse:
        return _result(request[_CALL].id, {"timestamp": int(self.date() * 1000)})

    async def _change(
        self, request: web.Request, action: Action, place: Address, time: int | None, **parts: Any
    ) -> web.StreamResponse:
        if time is None:
            raise BadCall(-1, "targetTimestamp is missing")
        change = self.action_request(action, place, str(time), **parts)
        return await self.act(request, change, 1, self._sent(request, place))

    _methods = {"send": _send, "sendReaction": _react, "remoteDelete": _delete, "sendTyping": _typing}  # noqa: RUF012

    def _sent(self, request: web.Request, place: Address) -> Callable[[Receipt], web.StreamResponse]:
        def answer(receipt: Receipt) -> web.StreamResponse:
            results = [result_for(self.platform, place, "SUCCESS")]
            time = {"timestamp": int(receipt.provider_id)} if receipt.provider_id.isdecimal() else {}
            return _result(request[_CALL].id, time | {"results": results})

        return answer

    def _groups(self, account: str, params: Params) -> list[dict[str, Any]]:
        wanted = (
            params.group_id if isinstance(params.group_id, list) else [params.group_id] if params.group_id else None
        )
        return [
            {"id": room.conversation, "name": room.title or room.name, "isMember": account not in room.left}
            for room in self.platform.rooms
            if room.kind is ChatKind.GROUP and account in room.accounts and room.closed is None
            if not wanted or room.conversation in wanted
        ]


def _result(id: object, result: object) -> web.StreamResponse:  # noqa: A002 -- the word of JSON-RPC
    return web.json_response({"jsonrpc": "2.0", "result": result, "id": id})


def _error(id: object, error: dict[str, Any]) -> web.StreamResponse:  # noqa: A002 -- the word of JSON-RPC
    return web.json_response({"jsonrpc": "2.0", "error": error, "id": id})
