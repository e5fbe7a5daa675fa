"""A daemon of signal-cli on the wire: ``/api/v1/rpc``, ``/api/v1/events`` and ``/api/v1/check``, for all accounts.

There are no tokens: everybody who reaches the daemon may use it. An account is named by its number.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Address, ChatKind, DeedKind, Envelope, Receipt, Style, StyleKind
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.channels.signal import FakeSignal
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.sockets import reset

# The events of a daemon of signal-cli: received while somebody listens, kept in memory, sent again by their id.

#: events that the daemon keeps
_KEPT = 1000


class DaemonEvent:
    def __init__(self, number: int, id: str, data: str) -> None:  # noqa: A002 -- the word
        self.number, self.id, self.data = number, id, data


class DaemonEvents:
    """The events of one account. The daemon receives while a client is connected (``--receive-mode=manual``).

    It acknowledges each message to Signal as it receives it, as signal-cli does: from then on only this memory has it.
    """

    def __init__(self, platform: FakeSignal, account: str, run: int) -> None:
        self._platform = platform
        self._account = account
        #: distinguishes the ids of this run of the daemon
        self._run = run
        self._events: deque[DaemonEvent] = deque(maxlen=_KEPT)
        self._last = 0
        self._clients: list[asyncio.Queue[DaemonEvent | None]] = []
        self._receiver: asyncio.Task[None] | None = None
        self._connection: Connection | None = None

    @property
    def silent(self) -> bool:
        """Whether a fault lets nothing through, not even signs of life."""
        return self._connection is not None and self._connection.silent

    def join(self, last_id: str | None) -> asyncio.Queue[DaemonEvent | None]:
        """Connect a client. With an id it first gets what it has missed since; all that is kept, for an unknown one."""
        queue: asyncio.Queue[DaemonEvent | None] = asyncio.Queue()
        if last_id is not None:
            after = self._number(last_id)
            for event in self._events:
                if event.number > after:
                    queue.put_nowait(event)
        self._clients.append(queue)
        if self._receiver is None:
            self._receiver = asyncio.get_running_loop().create_task(self._receive())
        return queue

    def leave(self, queue: asyncio.Queue[DaemonEvent | None]) -> None:
        """A client has gone; without one the daemon receives no more."""
        if queue in self._clients:
            self._clients.remove(queue)
        if not self._clients:
            self._stop()

    def _stop(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._platform.pushes.disconnect(self._account, connection)

    def close(self) -> None:
        for queue in self._clients:
            queue.put_nowait(None)
        self._clients.clear()
        self._stop()

    def emit(self, body: dict[str, Any]) -> None:
        self._last += 1
        event = DaemonEvent(self._last, f"{self._run}-{self._last}", json.dumps(body))
        self._events.append(event)
        for queue in self._clients:
            queue.put_nowait(event)

    def _number(self, last_id: str) -> int:
        run, _, number = last_id.partition("-")
        return int(number) if run == str(self._run) and number.isdecimal() else 0

    async def _receive(self) -> None:
        connection = self._connection = self._platform.pushes.connect(self._account, Node("signal-cli"), deeds=True)
        while True:
            found = await connection.queue.get()
            if isinstance(found, PlatformError):
                break
            self.emit(event_of(self._platform, found))
            self._platform.pushes.ack(found)
        self._receiver = self._connection = None
        self.close()


#: far behind the ids of messages, which are times too
_DEEDS = 1_000_000_000


def event_of(platform: FakeSignal, envelope: Envelope) -> dict[str, Any]:
    """A person's message as signal-cli shows it."""
    author, deed = envelope.peer.id, envelope.deed
    time = int(envelope.message_id) if deed is None else int(platform.id_at(_DEEDS + round(envelope.sent_at * 1000)))
    data: dict[str, Any] = {"timestamp": time, "message": envelope.text, "expiresInSeconds": 0, "viewOnce": False}
    if envelope.address.kind is ChatKind.GROUP:
        group = {"groupId": envelope.address.conversation, "groupName": "", "revision": 1, "type": "DELIVER"}
        data["groupInfo"] = group
    if deed is not None and deed.kind is DeedKind.DELETE:
        data["remoteDelete"] = {"timestamp": int(deed.of)}
    elif deed is not None and deed.kind is not DeedKind.EDIT:
        room = platform.room_at(envelope.address)
        message = None if room is None else platform.board.get(room, deed.of)
        of = "" if message is None else message.author
        target = {"targetAuthor": of, "targetAuthorNumber": of, "targetSentTimestamp": int(deed.of)}
        data["reaction"] = {"emoji": envelope.text, **target, "isRemove": deed.kind is DeedKind.UNREACT}
        data["message"] = None
    if envelope.files:
        data["attachments"] = [
            {"contentType": file.mime_type, "filename": file.name, "id": f"in-{file.name}", "size": 1}
            for file in envelope.files
        ]
    if envelope.reply_to is not None:
        data["quote"] = {"id": int(envelope.reply_to), "author": author, "text": "", "attachments": []}
    shown: dict[str, Any] = {
        "source": author,
        "sourceNumber": author,
        "sourceUuid": platform.account_id(author),
        "sourceName": envelope.peer.name,
        "sourceDevice": 1,
        "timestamp": time,
        "serverReceivedTimestamp": time + 1,
        "serverDeliveredTimestamp": time + 2,
        "dataMessage": data,
    }
    if deed is not None and deed.kind is DeedKind.EDIT:
        shown["editMessage"] = {"targetSentTimestamp": int(deed.of), "dataMessage": shown.pop("dataMessage")}
    return {"envelope": shown, "account": platform.bot_id(envelope.address.account)}


# Requests and answers of signal-cli's JSON-RPC. Pure.

_STYLES = {kind.value.upper(): kind for kind in StyleKind}
_INTERNAL, _BAD_PARAMS, _USER, _RATE = -32603, -32602, -1, -5


class BadCall(Exception):
    """A call refused by signal-cli, with the code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class RpcRequest(msgspec.Struct, frozen=True):
    method: str
    jsonrpc: str = "2.0"
    id: str | int | None = None
    params: dict[str, Any] = {}


class Params(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of the calls about a conversation. Lists may be given as single values."""

    account: str | None = None
    recipient: list[str] | str | None = None
    username: list[str] | str | None = None
    group_id: list[str] | str | None = None
    message: str = ""
    attachment: list[str] | str | None = None
    attachments: list[str] | None = None
    text_style: list[str] | str | None = None
    text_styles: list[str] | None = None
    quote_timestamp: int | None = None
    quote_author: str | None = None
    edit_timestamp: int | None = None
    target_timestamp: int | None = None
    target_author: str | None = None
    emoji: str | None = None
    remove: bool = False


def read_params(given: dict[str, Any]) -> Params:
    """The parameters of a call. Raises `BadCall`."""
    try:
        return msgspec.convert(given, Params)
    except msgspec.MsgspecError as error:
        raise BadCall(_BAD_PARAMS, str(error)) from None


def several(*given: list[str] | str | None) -> tuple[str, ...]:
    """The values of a parameter in any of its forms."""
    found: list[str] = []
    for values in given:
        found += [values] if isinstance(values, str) else values or []
    return tuple(found)


def place_of(params: Params, platform: FakeSignal, account: str) -> Address:
    """The single conversation of a call. Raises `BadCall`."""
    people, groups = several(params.recipient, params.username), several(params.group_id)
    if len(people) + len(groups) != 1:
        raise BadCall(_USER, "No recipients given" if not people and not groups else "One recipient at a time")
    if groups:
        return Address(channel="signal", account=account, kind=ChatKind.GROUP, conversation=groups[0])
    person = platform.number_of(people[0]) or people[0]
    return Address(channel="signal", account=account, kind=ChatKind.DIRECT, conversation=person)


def styles_of(params: Params) -> tuple[Style, ...]:
    """The ranges of a text. Raises `BadCall`."""
    found: list[Style] = []
    for style in several(params.text_style, params.text_styles):
        start, _, rest = style.partition(":")
        length, _, name = rest.partition(":")
        if not start.isdecimal() or not length.isdecimal():
            raise BadCall(_USER, f"Invalid textStyle syntax ({style}) expected 'start:length:STYLE'")
        if name not in _STYLES:
            raise BadCall(_USER, f"Invalid style: {name}")
        found.append(Style(kind=_STYLES[name], start=int(start), length=int(length)))
    return tuple(found)


def result_for(platform: FakeSignal, place: Address, kind: str, **more: Any) -> dict[str, Any]:
    who = place.conversation
    direct = place.kind is ChatKind.DIRECT
    address = {"uuid": platform.account_id(who), "number": who if direct else None, "username": None}
    group = {} if direct else {"groupId": place.conversation}
    return {"recipientAddress": address, **group, "type": kind, **more}


def error_body(platform: FakeSignal, place: Address | None, error: PlatformError) -> dict[str, Any]:
    """The error of a call not carried out by the platform."""
    if isinstance(error, RateLimited) and place is not None:
        wait = {} if error.retry_after is None else {"retryAfterSeconds": int(-(-error.retry_after // 1))}
        results = [result_for(platform, place, "RATE_LIMIT_FAILURE", **wait)]
        response = {"timestamp": 0, "results": results}
        return {"code": _RATE, "message": "Failed to send message due to rate limiting", "data": {"response": response}}
    if isinstance(error, Refused | Unauthorized | RateLimited):
        return {"code": _USER, "message": error.facts, "data": None}
    return {"code": _INTERNAL, "message": error.facts, "data": None}


_CALL, _PLACE = web.RequestKey("call", RpcRequest), web.RequestKey("place", Address)
_NO_METHOD, _BAD_REQUEST, _BAD_JSON = -32601, -32600, -32700


class SignalServer(WireServer[FakeSignal]):
    channel = "signal"
    #: seconds between two signs of life of a stream
    alive = 15.0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.feeds: dict[str, DaemonEvents] = {}
        #: the number of this run of the daemon, which has forgotten what earlier ones had received
        self.run = 1

    def token(self, account: str, number: int) -> str:
        """The account's number; there is nothing secret."""
        return self.platform.bot_id(account)

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/api/v1/rpc", self._rpc)
        app.router.add_get("/api/v1/events", self._events)
        app.router.add_get("/api/v1/check", self._check)

    def feed(self, account: str) -> DaemonEvents:
        if account not in self.feeds:
            self.feeds[account] = DaemonEvents(self.platform, account, self.run)
        return self.feeds[account]

    async def close(self) -> None:
        for feed in self.feeds.values():
            feed.close()

    async def _check(self, _request: web.Request) -> web.StreamResponse:
        return web.Response()

    def _account(self, number: str | None) -> str | None:
        """The account with a number; without one, the only account."""
        accounts = tuple(self.platform.spec.accounts)
        if number is None:
            return accounts[0] if len(accounts) == 1 else None
        return next((account for account in accounts if self.platform.bot_id(account) == number), None)

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
        if call.method == "getUserStatus":
            known = [{"recipient": who, "uuid": self.platform.account_id(who)} for who in several(params.recipient)]
            return _result(
                call.id, [{**status, "number": status["recipient"], "isRegistered": True} for status in known]
            )
        do = self._methods.get(call.method)
        if do is None:
            raise BadCall(_NO_METHOD, "Method not implemented")
        place = request[_PLACE] = place_of(params, self.platform, account)
        return await do(self, request, place, params)

    async def _send(self, request: web.Request, place: Address, params: Params) -> web.StreamResponse:
        styles, files = styles_of(params), several(params.attachment, params.attachments)
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
