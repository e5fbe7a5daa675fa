"""The Telegram Bot API on the wire."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from trunkline.core.errors import PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Address, ChatKind, Envelope, Receipt
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.channels.telegram import FakeTelegram
from trunkline.sim.wire.server import WireServer


class TelegramServer(WireServer[FakeTelegram]):
    """``/bot<token>/<method>``."""

    channel = "telegram"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._connections: dict[str, Connection] = {}
        self._pending: dict[str, dict[int, Envelope]] = {}
        self._last_update = 0

    def add_routes(self, app: web.Application) -> None:
        app.router.add_route("*", "/bot{token}/{method}", self._call)

    def token(self, account: str, number: int) -> str:
        return f"{self.platform.bot_id(account)}:{account}-{number}"

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        status, why = _error_of(error)
        body: dict[str, Any] = {"ok": False, "error_code": status, "description": why}
        if isinstance(error, RateLimited):
            body["parameters"] = {"retry_after": round(error.retry_after or 1)}
        return web.json_response(body, status=status)

    async def _call(self, request: web.Request) -> web.StreamResponse:
        owner = self.owner_of(request.match_info["token"])
        if owner is None:
            return self.refusal(request, Unauthorized())
        account, number = owner
        given = (
            dict(request.query) | dict(await request.post())
            if request.content_type != "application/json"
            else await request.json()
        )
        match request.match_info["method"].lower():
            case "getme":
                return _ok(
                    {
                        "id": int(self.platform.bot_id(account)),
                        "is_bot": True,
                        "first_name": account,
                        "username": f"{account}_bot",
                    }
                )
            case "getupdates":
                return await self._get_updates(account, given)
            case "sendmessage":
                return await self._send_message(request, account, number, given)
            case _:
                return _ok(True)

    async def _send_message(
        self, request: web.Request, account: str, number: int, given: dict[str, Any]
    ) -> web.StreamResponse:
        chat, thread = str(given["chat_id"]), given.get("message_thread_id")
        place = Address(
            channel=self.channel,
            account=account,
            kind=ChatKind.GROUP if chat.startswith("-") else ChatKind.DIRECT,
            conversation=chat,
            thread=None if thread is None else str(thread),
        )
        text = str(given["text"])
        send = self.send_request(place, text, html=text if given.get("parse_mode") == "HTML" else None)

        def answer(receipt: Receipt) -> web.StreamResponse:
            return _ok(
                {
                    "message_id": int(receipt.provider_id),
                    "date": int(self.world.now()),
                    "chat": {"id": int(chat), "type": "private"},
                    "text": text,
                }
            )

        return await self.send(request, send, number, answer)

    async def _get_updates(self, account: str, given: dict[str, Any]) -> web.StreamResponse:
        offset, timeout = int(given.get("offset") or 0), float(given.get("timeout") or 0)
        pending = self._pending.setdefault(account, {})
        for number in [one for one in pending if one < offset]:
            self.platform.pushes.ack(pending.pop(number))
        connection = self._connections.get(account)
        if connection is None:
            connection = self._connections[account] = self.platform.pushes.connect(account, Node("wire"))
        if not pending and timeout:
            try:
                async with asyncio.timeout(timeout):
                    self._take(pending, await connection.queue.get())
            except TimeoutError:
                pass
        while not connection.queue.empty():
            self._take(pending, connection.queue.get_nowait())
        return _ok([{"update_id": number, "message": _message(one)} for number, one in pending.items()])

    def _take(self, pending: dict[int, Envelope], found: Envelope | PlatformError) -> None:
        if isinstance(found, Envelope):
            self._last_update += 1
            pending[self._last_update] = found


def _ok(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


def _message(envelope: Envelope) -> dict[str, Any]:
    place = envelope.address
    chat = {"id": int(place.conversation), "type": "private" if place.kind is ChatKind.DIRECT else "supergroup"}
    return {"message_id": int(envelope.message_id), "date": int(envelope.sent_at), "chat": chat, "text": envelope.text}


def _error_of(error: PlatformError) -> tuple[int, str]:
    if isinstance(error, Unauthorized):
        return 401, "Unauthorized"
    if isinstance(error, RateLimited):
        return 429, f"Too Many Requests: retry after {round(error.retry_after or 1)}"
    if isinstance(error, PlaceGone):
        return 400, "Bad Request: message thread not found"
    if isinstance(error, Refused):
        return 400, f"Bad Request: {error.facts}"
    return 500, "Internal Server Error"
