"""The Telegram Bot API on the wire."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from trunkline.core.errors import PlatformError, Unauthorized
from trunkline.core.values import Address, Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import REOPENED, Connection
from trunkline.sim.wire.sockets import reset
from trunkline.sim.wire.telegram.base import (
    BadParameter,
    BotCaller,
    Parameters,
    TelegramBase,
    failed,
    ok,
    read_parameters,
)
from trunkline.sim.wire.telegram.methods import BotChanges, BotSends
from trunkline.sim.wire.telegram.objects import UNASKED, bot_self, file_object, kind_of, update_of

# How updates reach a bot: it asks for them, or Telegram calls its webhook. Each stays until it is confirmed.
#
# The fake platform decides what is pushed and when; here a push gets the number of an update. An update that is handed
# out once more is a new connection to the platform, which records the push as repeated.

_MOST, _LONGEST_POLL = 100, 50
#: seconds until a webhook is called again that did not answer with success, and for which an answer is awaited
_AGAIN, _PATIENCE = 1.0, 60.0
_SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"
#: number of the first update
_FIRST = 700_000_001


class BotQueue(msgspec.Struct, eq=False):
    """The unconfirmed updates of an account."""

    #: number -> the pushed message, in order
    pending: dict[int, Envelope] = {}
    #: numbers that were handed out
    handed: set[int] = set()
    #: message -> number: an update keeps its number
    numbers: dict[tuple[str, str, str], int] = {}
    connection: Connection | None = None
    #: ends the poll that is going on
    poll: asyncio.Future[None] | None = None
    webhook: str = ""
    secret: str = ""
    allowed: tuple[str, ...] = ()
    error: tuple[float, str] | None = None
    pusher: asyncio.Task[None] | None = None


class Deliveries:
    def __init__(self, server: TelegramBase) -> None:
        self._server = server
        self._queues: dict[str, BotQueue] = {}
        self._last = _FIRST - 1 + server.world.ids_from

    async def open(self) -> None:
        """Call the set webhooks, after the server was away."""
        for account, queue in self._queues.items():
            if queue.webhook and queue.pusher is None:
                self._connect(account, queue)
                queue.pusher = asyncio.ensure_future(self._push(account, queue))

    async def close(self) -> None:
        for account, queue in self._queues.items():
            self._stop_pushing(queue)
            self._disconnect(account, queue)

    def hang_up(self) -> None:
        """End the connections of bots that poll: their process has died."""
        for account, queue in self._queues.items():
            if not queue.webhook:
                self._disconnect(account, queue)

    def queue(self, account: str) -> BotQueue:
        return self._queues.setdefault(account, BotQueue())

    async def get_updates(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """``getUpdates``: a later poll ends an earlier one, which gets 409."""
        account, queue, world = caller.account, self.queue(caller.account), self._server.world
        if queue.webhook:
            return failed(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")  # fmt: skip # noqa: E501
        limit, timeout = given.integer("limit"), given.integer("timeout") or 0
        limit = _MOST if limit is None else min(max(limit, 1), _MOST)
        if timeout < 0:
            raise BadParameter("timeout must be non-negative")
        if "allowed_updates" in given:
            queue.allowed = tuple(str(kind) for kind in given.sequence("allowed_updates"))
        if queue.poll is not None and not queue.poll.done():
            queue.poll.set_result(None)
        queue.poll = mine = world.future()
        if world.account_fault("connect", self._server.channel, account):
            raise reset(caller.request)
        try:
            self._drain(account, queue)
            offset = given.integer("offset") or 0
            if self._server.calls is not None:
                await self._server.calls.confirming(caller.request, self._confirmed_by(queue, offset))
            self._confirm(queue, offset)
            await self._fill(account, queue, min(timeout, _LONGEST_POLL), mine)
            if queue.connection is not None and queue.poll is mine:
                await self._server.unless_silent(caller.request, queue.connection)
        except PlatformError as error:
            raise reset(caller.request) from error
        except asyncio.CancelledError:
            # The client is gone: its next poll is another connection.
            if queue.poll is mine:
                self._disconnect(account, queue)
            raise
        if mine.done():
            return failed(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")  # fmt: skip # noqa: E501
        queue.poll = None
        chosen = list(queue.pending)[:limit]
        queue.handed.update(chosen)
        return ok([self.update(number, queue.pending[number]) for number in chosen])

    def _confirmed_by(self, queue: BotQueue, offset: int) -> list[tuple[Address, str]]:
        found = (envelope for number, envelope in queue.pending.items() if number < offset)
        return [(said.address, said.message_id) for said in found]

    def _confirm(self, queue: BotQueue, offset: int) -> None:
        """Forget everything before an offset; a negative one keeps so many of the last."""
        if offset < 0:
            kept = list(queue.pending)[offset:]
            offset = kept[0] if kept else self._last + 1
        for number in [update for update in queue.pending if update < offset]:
            self._server.platform.pushes.ack(queue.pending.pop(number))
            queue.handed.discard(number)

    async def _fill(self, account: str, queue: BotQueue, timeout: float, mine: asyncio.Future[None]) -> None:
        """Take what the platform has pushed; wait for it if there is nothing. Raises `PlatformError`."""
        if queue.handed & set(queue.pending):
            self._connect(account, queue)
        incoming = self._drain(account, queue)
        if queue.pending or not timeout:
            return
        getting = asyncio.ensure_future(incoming.get())
        try:
            await asyncio.wait({getting, mine}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Also if the client has gone: a later poll may wait on the same connection.
            if not getting.done():
                getting.cancel()
            elif not getting.cancelled():
                self._take(account, queue, getting.result())
        if not mine.done():
            self._drain(account, queue)

    def _drain(self, account: str, queue: BotQueue) -> asyncio.Queue[Envelope | PlatformError]:
        """Take everything that the platform has pushed so far. Raises `PlatformError`."""
        if queue.connection is None:
            self._connect(account, queue)
        assert queue.connection is not None
        incoming = queue.connection.queue
        while not incoming.empty():
            self._take(account, queue, incoming.get_nowait())
        return incoming

    def _connect(self, account: str, queue: BotQueue) -> None:
        """A connection to the platform, which pushes all messages again that are not confirmed. Notes stay here."""
        while queue.connection is not None and not queue.connection.queue.empty():
            found = queue.connection.queue.get_nowait()
            if isinstance(found, Envelope) and found.parts == REOPENED:
                self._take(account, queue, found)
        queue.pending = {number: found for number, found in queue.pending.items() if found.parts == REOPENED}
        queue.handed.clear()
        queue.connection = self._server.platform.pushes.connect(account, Node("wire"), deeds=True)
        queue.connection.notes = True

    def _disconnect(self, account: str, queue: BotQueue) -> None:
        if queue.connection is not None:
            self._server.platform.pushes.disconnect(account, queue.connection)
            queue.connection = None

    def _take(self, account: str, queue: BotQueue, found: Envelope | PlatformError) -> None:
        if isinstance(found, PlatformError):
            queue.connection = None
            raise found
        kind = kind_of(found)
        if kind not in (queue.allowed or UNASKED):
            # The bot does not want to know.
            self._server.platform.pushes.ack(found)
            return
        key = (found.address.conversation, found.message_id, kind)
        number = queue.numbers.get(key)
        if number is None or number in queue.pending:
            # One that comes twice is another update with the same message.
            self._last += 1
            number = self._last
            queue.numbers.setdefault(key, number)
        queue.pending[number] = found
        queue.pending = dict(sorted(queue.pending.items()))

    def update(self, number: int, envelope: Envelope) -> dict[str, Any]:
        return update_of(self._server.platform, number, envelope, self._server.date(envelope.sent_at))

    def set_webhook(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """``setWebhook``; an empty address removes the webhook."""
        url, queue = given.text("url"), self.queue(caller.account)
        secret = given.text("secret_token")
        if secret and (len(secret) > 256 or not secret.replace("_", "").replace("-", "").isalnum()):
            raise BadParameter("secret token contains unallowed characters")
        if url and not url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
            raise BadParameter("bad webhook: An HTTPS URL must be provided for webhook")
        self._drop(caller.account, queue, given)
        queue.webhook, queue.secret = url, secret
        if "allowed_updates" in given:
            queue.allowed = tuple(str(kind) for kind in given.sequence("allowed_updates"))
        self._stop_pushing(queue)
        if url:
            if queue.poll is not None and not queue.poll.done():
                queue.poll.set_result(None)
            self._connect(caller.account, queue)
            queue.pusher = asyncio.ensure_future(self._push(caller.account, queue))
        return ok(True)

    def delete_webhook(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """``deleteWebhook``; what waits stays, unless the call says otherwise."""
        queue = self.queue(caller.account)
        self._drop(caller.account, queue, given)
        if queue.webhook:
            self._stop_pushing(queue)
            self._disconnect(caller.account, queue)
        queue.webhook = queue.secret = ""
        return ok(True)

    def webhook_info(self, caller: BotCaller) -> web.StreamResponse:
        queue = self.queue(caller.account)
        info: dict[str, Any] = {
            "url": queue.webhook,
            "has_custom_certificate": False,
            "pending_update_count": len(queue.pending),
        }
        if queue.allowed:
            info["allowed_updates"] = list(queue.allowed)
        if queue.error is not None:
            info["last_error_date"], info["last_error_message"] = int(queue.error[0]), queue.error[1]
        return ok(info)

    def _drop(self, account: str, queue: BotQueue, given: Parameters) -> None:
        if given.flag("drop_pending_updates"):
            # Also what has come while nobody asked for updates.
            self._server.platform.pushes.forget(account)
            self._confirm(queue, self._last + 1)

    def _stop_pushing(self, queue: BotQueue) -> None:
        if queue.pusher is not None:
            queue.pusher.cancel()
            queue.pusher = None

    async def _push(self, account: str, queue: BotQueue) -> None:
        """Call the webhook for each update: those of one chat in turn, and chats side by side."""
        chats: dict[str, asyncio.Task[None]] = {}
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE)) as session:
                while True:
                    for chat in dict.fromkeys(envelope.address.conversation for envelope in queue.pending.values()):
                        if chat not in chats or chats[chat].done():
                            chats[chat] = asyncio.ensure_future(self._push_chat(session, queue, chat))
                    await self._receive(account, queue)
        finally:
            for task in chats.values():
                task.cancel()

    async def _push_chat(self, session: aiohttp.ClientSession, queue: BotQueue, chat: str) -> None:
        """Call the webhook for the updates of a chat, each until it is answered with success."""
        while True:
            waiting = queue.pending.items()
            mine = ((number, said) for number, said in waiting if said.address.conversation == chat)
            number, envelope = next(mine, (0, None))
            if envelope is None:
                return
            if number in queue.handed:
                self._server.platform.pushes.repeat(envelope)
            queue.handed.add(number)
            why = await self._call(session, queue, self.update(number, envelope))
            if not why:
                queue.pending.pop(number, None)
                self._server.platform.pushes.ack(envelope)
                continue
            queue.error = (self._server.date(), why)
            await asyncio.sleep(_AGAIN)

    async def _receive(self, account: str, queue: BotQueue) -> None:
        """Wait for the next push of the platform. A connection that broke is opened again after a while."""
        try:
            if queue.connection is None:
                await asyncio.sleep(_AGAIN)
                self._connect(account, queue)
            assert queue.connection is not None
            self._take(account, queue, await queue.connection.queue.get())
        except PlatformError:
            pass

    async def _call(self, session: aiohttp.ClientSession, queue: BotQueue, update: Any) -> str:
        """Call the webhook once; what went wrong, or nothing."""
        headers = {_SECRET_HEADER: queue.secret} if queue.secret else {}
        try:
            async with session.post(queue.webhook, json=update, headers=headers) as response:
                good = 200 <= response.status < 300
                return "" if good else f"Wrong response from the webhook: {response.status}"
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return f"Connection failed: {type(error).__name__}"


#: methods that succeed and change nothing that a gateway or a person could notice
_WITHOUT_EFFECT = frozenset(
    {
        "setmycommands",
        "deletemycommands",
        "setmyname",
        "setmydescription",
        "setmyshortdescription",
        "setchatmenubutton",
        "setmydefaultadministratorrights",
    }
)


class TelegramServer(TelegramBase):
    """``/bot<token>/<method>``, and the files below ``/file/bot<token>/``."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.deliveries = Deliveries(self)
        self._sending = BotSends(self)
        self._changing = BotChanges(self)
        self._questions: dict[str, Callable[[BotCaller, Parameters], web.StreamResponse]] = {
            "getme": lambda caller, _: ok(bot_self(self.platform, caller.account)),
            "setwebhook": self.deliveries.set_webhook,
            "deletewebhook": self.deliveries.delete_webhook,
            "getwebhookinfo": lambda caller, _: self.deliveries.webhook_info(caller),
            "getchat": self._changing.chat,
            "getfile": self._get_file,
            "getmycommands": lambda _caller, _given: ok([]),
        }

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/bot{token}/{method}", self._call)
        app.on_startup.append(self._open)
        app.router.add_route("GET", "/file/bot{token}/{path:.+}", self._download)

    async def _open(self, app: web.Application) -> None:
        await self.deliveries.open()

    async def close(self) -> None:
        await self.deliveries.close()

    def hang_up(self) -> None:
        self.deliveries.hang_up()

    async def _call(self, request: web.Request) -> web.StreamResponse:
        owner = self.owner_of(request.match_info["token"])
        if owner is None:
            return failed(*((401, "Unauthorized") if ":" in request.match_info["token"] else (404, "Not Found")))
        caller = BotCaller(request=request, account=owner[0], token=owner[1])
        method = request.match_info["method"].lower()
        try:
            given = await read_parameters(request)
            return await self._answer(method, caller, given)
        except BadParameter as error:
            return failed(400, f"Bad Request: {error.facts}")

    async def _answer(self, method: str, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        """Answer a call. Sends, changes and the fake's own calls check the token when they arrive."""
        if self._sending.handles(method):
            return await self._sending.handle(method, caller, given)
        if self._changing.handles(method):
            return await self._changing.handle(method, caller, given)
        try:
            self.platform.tokens.check(caller.account, caller.token)
        except Unauthorized as error:
            return self.refusal(caller.request, error)
        if method == "getupdates":
            return await self.deliveries.get_updates(caller, given)
        if method in self._questions:
            return self._questions[method](caller, given)
        return ok(True) if method in _WITHOUT_EFFECT else failed(404, "Not Found")

    def _get_file(self, caller: BotCaller, given: Parameters) -> web.StreamResponse:
        found = self.files.by_id.get(given.text("file_id"))
        if found is None:
            raise BadParameter("invalid file_id")
        return ok({**file_object(found.file_id), "file_size": len(found.content), "file_path": found.path})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        found = self.files.at(request.match_info["path"])
        if self.owner_of(request.match_info["token"]) is None or found is None:
            return failed(404, "Not Found")
        return web.Response(body=found.content, content_type="application/octet-stream")
