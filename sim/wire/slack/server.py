"""Slack on the wire: the Web API, Socket Mode, the Events API, uploads and response addresses."""

import asyncio
import hashlib
import hmac
import json
import math
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from typing import Any, cast
from urllib.parse import urlencode

import aiohttp
import msgspec
from aiohttp import WSMsgType, web

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import PlaceArchived, PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.api.wire_faults import refused_as
from trunkline.sim.wire.json_values import object_in
from trunkline.sim.wire.slack import conversations, posting
from trunkline.sim.wire.slack.hosts import CALL, BadArguments, SlackCall, SlackHost, arguments_of, token_of
from trunkline.sim.wire.slack.posting import respond_by_url
from trunkline.sim.wire.slack.shapes import APP, callback_of, event_of, press_of
from trunkline.sim.wire.sockets import reset_transport

# How Slack brings updates to an app: over its sockets, or to its address, each until it is acknowledged.

MOST_SOCKETS = 10


class OpenSocket(msgspec.Struct, eq=False):
    """A socket of an app, and the unacknowledged updates."""

    response: web.WebSocketResponse
    request: web.Request
    unacked: dict[str, Envelope] = {}
    #: it answers nothing any more
    silent: bool = False


class UpdateFeed:
    """The updates of one account. A subclass brings them to the app."""

    def __init__(self, server: SlackHost, account: str) -> None:
        self.server = server
        self.account = account
        self.connection: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def connect(self) -> None:
        """Take updates from the platform from now on; what was not acknowledged comes again."""
        self.connection = self.server.platform.pushes.connect(self.account, Node("wire"), deeds=True)
        self.spawn(self._pump(self.connection))

    def disconnect(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            self.server.platform.pushes.disconnect(self.account, connection)

    def spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        self.disconnect()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _pump(self, connection: Connection) -> None:
        while True:
            found = await connection.queue.get()
            if connection is not self.connection:
                return
            if isinstance(found, PlatformError):
                self.connection = None
                self.broken()
                return
            await self.bring(found)

    def payload(self, envelope: Envelope) -> tuple[bool, dict[str, Any]]:
        server = self.server
        if envelope.pressed is not None:
            return True, press_of(server.platform, envelope, server.response_url(envelope))
        at = server.date(envelope.sent_at)
        return False, callback_of(server.platform, self.account, event_of(server.platform, envelope, at), at)

    async def bring(self, envelope: Envelope) -> None:
        raise NotImplementedError

    async def bring_event(self, payload: dict[str, Any]) -> None:
        """Bring an event once that is no message of a person, such as an echo."""
        raise NotImplementedError

    def broken(self) -> None:
        """The connection to the app breaks."""


class SocketFeed(UpdateFeed):
    """Socket Mode. Each update goes to one of the open sockets, in turn."""

    def __init__(self, server: SlackHost, account: str) -> None:
        super().__init__(server, account)
        self.sockets: list[OpenSocket] = []
        self._numbers = count(1 + server.world.ids_from)
        self._turns = count()
        #: updates that came when no socket could take them
        self._stranded: list[Envelope] = []

    async def serve(self, request: web.Request) -> web.StreamResponse:
        response = web.WebSocketResponse(autoping=False, max_msg_size=1024 * 1024)
        await response.prepare(request)
        if len(self.sockets) >= MOST_SOCKETS:
            await response.send_str(json.dumps({"type": "disconnect", "reason": "too_many_websockets"}))
            return response
        socket = OpenSocket(response, request)
        if self.connection is None or self.connection.silent:
            for gone in self.sockets:
                gone.silent = True
            self.sockets = [socket]
            await self._hello(socket)
            self.connect()
        else:
            self.sockets.append(socket)
            await self._hello(socket)
        try:
            await self._listen(socket)
        finally:
            self._forget_socket(socket)
        return response

    async def bring(self, envelope: Envelope) -> None:
        interactive, payload = self.payload(envelope)
        socket = self._next()
        if socket is None:
            # Every socket is closing.
            self._stranded.append(envelope)
            return
        number = f"{self.account}-{next(self._numbers)}"
        socket.unacked[number] = envelope
        await self._send_update(socket, number, payload, interactive=interactive)

    async def bring_event(self, payload: dict[str, Any]) -> None:
        socket = self._next()
        if socket is not None:
            await self._send_update(socket, f"{self.account}-{next(self._numbers)}", payload, interactive=False)

    async def _send_update(
        self, socket: OpenSocket, number: str, payload: dict[str, Any], *, interactive: bool
    ) -> None:
        kind, more = ("interactive", {}) if interactive else ("events_api", {"retry_attempt": 0, "retry_reason": ""})
        frame = {"type": kind, "envelope_id": number, "payload": payload, "accepts_response_payload": interactive}
        await self._send(socket, {**frame, **more})

    def broken(self) -> None:
        for socket in tuple(self.sockets):
            if socket.request.transport is not None:
                reset_transport(socket.request.transport)

    async def close(self) -> None:
        self.broken()
        await super().close()

    def _next(self) -> OpenSocket | None:
        living = [socket for socket in self.sockets if not socket.silent and not socket.response.closed]
        return living[next(self._turns) % len(living)] if living else None

    async def _hello(self, socket: OpenSocket) -> None:
        hello = {
            "type": "hello",
            "num_connections": len(self.sockets),
            "connection_info": {"app_id": APP},
            "debug_info": {"host": "wire", "approximate_connection_time": 18_060},
        }
        await self._send(socket, hello)

    async def _send(self, socket: OpenSocket, frame: dict[str, Any]) -> None:
        try:
            await socket.response.send_str(json.dumps(frame))
        except (ConnectionError, RuntimeError):
            # The socket is gone; its end brings what was on it again.
            return

    async def _listen(self, socket: OpenSocket) -> None:
        while True:
            message = await socket.response.receive()
            if self.server.calls is not None:
                self.server.calls.count_request("frames to Socket Mode")
            if socket.silent or (self.connection is not None and self.connection.silent):
                continue
            if message.type is WSMsgType.PING:
                await socket.response.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                self._acknowledge(socket, cast("str", message.data))
            elif message.type is not WSMsgType.PONG:
                return

    def _acknowledge(self, socket: OpenSocket, text: str) -> None:
        try:
            number = str(object_in(text).get("envelope_id"))
        except ValueError:
            return
        envelope = socket.unacked.pop(number, None)
        if envelope is not None:
            self.server.platform.pushes.ack(envelope)

    def _forget_socket(self, socket: OpenSocket) -> None:
        if socket not in self.sockets:
            return
        self.sockets.remove(socket)
        if not self.sockets:
            # The next connection brings everything again that is not acknowledged.
            self._stranded.clear()
            self.disconnect()
            return
        stranded, self._stranded = self._stranded, []
        for envelope in (*socket.unacked.values(), *stranded):
            self.server.platform.pushes.deliver_again(envelope)


# The Events API: Slack sends each update to the address of an app, signed, and again if that does not take it.

#: seconds that an app has for its answer
PATIENCE = 3.0


class WebhookFeed(UpdateFeed):
    #: seconds before each further delivery of an event; after the last one it is given up
    retries = (1.0, 60.0, 300.0)

    def __init__(self, server: SlackHost, account: str, url: str) -> None:
        super().__init__(server, account)
        self.url = url
        self._session: aiohttp.ClientSession | None = None

    async def bring(self, envelope: Envelope) -> None:
        interactive, payload = self.payload(envelope)
        self.spawn(self._post_until_taken(envelope, interactive, payload))

    async def bring_event(self, payload: dict[str, Any]) -> None:
        self.spawn(self._post_once(payload))

    async def verify(self) -> bool:
        """Ask the app whether the address is its own, as when somebody enters it."""
        body = json.dumps({"token": "verification", "challenge": "3eZbrw1aB", "type": "url_verification"})
        status, text = await self.post(body.encode(), "application/json")
        return status == 200 and "3eZbrw1aB" in text

    async def post(
        self, body: bytes, content_type: str, headers: dict[str, str] | None = None, *, at: float | None = None
    ) -> tuple[int, str]:
        """Send a signed request; status 0: there was no answer. `at`: when it was signed, by default now."""
        if self._session is None:
            self._session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True))
        timestamp = str(int(self.server.date() if at is None else at))
        signed = {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": timestamp,
            "X-Slack-Signature": signature(self.server.signing_secret(self.account), timestamp, body),
        }
        try:
            async with (
                asyncio.timeout(PATIENCE),
                self._session.post(self.url, data=body, headers={**signed, **(headers or {})}) as response,
            ):
                return response.status, await response.text()
        except (aiohttp.ClientError, TimeoutError, OSError):
            return 0, ""

    async def close(self) -> None:
        await super().close()
        if self._session is not None:
            await self._session.close()

    async def _post_once(self, payload: dict[str, Any]) -> None:
        await self.post(json.dumps(payload).encode(), "application/json")

    async def _post_until_taken(self, envelope: Envelope, interactive: bool, payload: dict[str, Any]) -> None:
        text = json.dumps(payload)
        body = urlencode({"payload": text}) if interactive else text
        kind = "application/x-www-form-urlencoded" if interactive else "application/json"
        reason = ""
        # Slack makes an interaction once.
        for number, wait in enumerate((0.0, *(() if interactive else self.retries))):
            await asyncio.sleep(wait)
            again = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason} if number else {}
            status, _ = await self.post(body.encode(), kind, again)
            if 200 <= status < 300:
                self.server.platform.pushes.ack(envelope)
                return
            reason = "http_error" if status else "http_timeout"


def signature(secret: str, timestamp: str, body: bytes) -> str:
    return f"v0={hmac.new(secret.encode(), b'v0:' + timestamp.encode() + b':' + body, hashlib.sha256).hexdigest()}"


# Every method of the Web API that the server has.

Method = Callable[[SlackHost, SlackCall], Awaitable[web.StreamResponse]]


async def _nothing(server: SlackHost, call: SlackCall) -> web.StreamResponse:
    return call.answer()


METHODS: dict[str, Method] = {
    "api.test": _nothing,
    "apps.connections.open": conversations.open_socket,
    "assistant.threads.setStatus": _nothing,
    "auth.test": conversations.auth_test,
    "chat.delete": posting.delete,
    "chat.postEphemeral": posting.post_ephemeral,
    "chat.postMessage": posting.post_message,
    "chat.update": posting.update,
    "conversations.history": conversations.history,
    "conversations.info": conversations.conversation_info,
    "conversations.list": conversations.conversation_list,
    "conversations.open": conversations.conversation_open,
    "conversations.replies": conversations.replies,
    "emoji.list": conversations.emoji,
    "files.completeUploadExternal": posting.complete,
    "files.getUploadURLExternal": posting.reserve,
    "files.info": posting.info,
    "pins.add": posting.pin,
    "pins.list": posting.pins,
    "pins.remove": posting.unpin,
    "reactions.add": partial(posting.react, False),
    "reactions.get": posting.reactions,
    "reactions.remove": partial(posting.react, True),
    "users.info": conversations.user_info,
    "users.list": conversations.user_list,
}


#: what Slack answers when it refuses a change of a message that is there
#: refusal that a scenario asks for -> error code
_AS = {
    "blocked": "messages_tab_disabled",
    "chat-not-found": "channel_not_found",
    "kicked": "not_in_channel",
    "no-rights": "restricted_action",
    "cant-parse": "invalid_blocks",
    "too-long": "msg_too_long",
}
_CHANGES = {Action.EDIT: "cant_update_message", Action.DELETE: "cant_delete_message"}


class SlackServer(SlackHost):
    """``/api/<method>``, ``/socket/<ticket>``, ``/upload/<file>`` and ``/response/<number>``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        #: account -> how its updates reach it
        self.feeds: dict[str, UpdateFeed] = {}

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/api/{method}", self._call)
        app.router.add_get("/socket/{ticket}", self._socket)
        app.router.add_post("/upload/{file}", self.files.upload)
        app.router.add_post("/response/{number}", self._respond_by_url)

    async def close(self) -> None:
        for feed in self.feeds.values():
            await feed.close()
        self.feeds.clear()

    def socket_feed(self, account: str) -> SocketFeed:
        found = self.feeds.get(account)
        if not isinstance(found, SocketFeed):
            found = self.feeds[account] = SocketFeed(self, account)
        return found

    async def subscribe(self, account: str, url: str, verify_token: str) -> bool:
        """Send the updates of an account to an address, if it answers as Slack requires. Slack asks with no word."""
        feed = WebhookFeed(self, account, url)
        if not await feed.verify():
            await feed.close()
            return False
        earlier, self.feeds[account] = self.feeds.get(account), feed
        if earlier is not None:
            await earlier.close()
        feed.connect()
        return True

    def report(self, account: str, event: dict[str, Any]) -> None:
        feed = self.feeds.get(account)
        if feed is not None:
            feed.spawn(self._report(feed, event))

    async def _report(self, feed: UpdateFeed, event: dict[str, Any]) -> None:
        if feed.connection is not None:
            await feed.bring_event(callback_of(self.platform, feed.account, event, self.date()))

    async def _call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        call = SlackCall(request=request, method=method, account="", token=0, given={})
        CALL.set(call)
        try:
            call.given, call.warnings = await arguments_of(request)
            token = token_of(request, call.given)
            if not token:
                return call.error("not_authed")
            app = self.account_of_app(token)
            owner = (app, 0) if app is not None else self.owner_of(token)
            if owner is None:
                return call.error("invalid_auth")
            call.account, call.token = owner
            handler = METHODS.get(method)
            if handler is None:
                return call.error("unknown_method", req_method=method)
            if (app is not None) != (method == "apps.connections.open"):
                return call.error("not_allowed_token_type")
            return await handler(self, call)
        except BadArguments as error:
            return call.error(str(error))

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        call = CALL.get()
        if isinstance(error, RateLimited):
            wait = {"Retry-After": str(math.ceil(error.retry_after or 1))}
            return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=wait)
        return call.error(self._code(call, error))

    def _code(self, call: SlackCall, error: PlatformError) -> str:
        if isinstance(error, Unauthorized):
            return "invalid_auth"
        if name := refused_as(error):
            return _AS[name]
        if isinstance(error, PlaceArchived):
            return "is_archived"
        if isinstance(error, PlaceGone):
            return "channel_not_found"
        if not isinstance(error, Refused):
            # Nothing was done, and it can be done later.
            return "team_added_to_org"
        room = None if call.address is None else self.platform.room_at(call.address)
        if call.address is not None and (room is None or call.account not in room.accounts):
            return "channel_not_found"
        if room is not None and call.account in room.left:
            return "not_in_channel"
        if len(call.text) > self.platform.text_limit:
            return "msg_too_long"
        if call.message_id is not None and room is not None:
            message = self.platform.board.get(room, call.message_id)
            if message is None or message.deleted:
                return "message_not_found"
        return "restricted_action" if call.action is None else _CHANGES.get(call.action, "restricted_action")

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        account = self._tickets.pop(request.match_info["ticket"], None)
        if account is None:
            return web.Response(status=403)
        return await self.socket_feed(account).serve(request)

    async def _respond_by_url(self, request: web.Request) -> web.StreamResponse:
        envelope = self._response_urls.get(request.match_info["number"])
        if envelope is None:
            return web.Response(status=404, text="used_url")
        return await respond_by_url(self, request, envelope)
