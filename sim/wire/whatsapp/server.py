"""Meta's Graph API on the wire, as far as the Cloud API of WhatsApp uses it.

``/{version}/{number}/messages``, ``/{version}/{number}/media``, ``/{version}/{media}`` and ``/{version}/{number}``, by
which a number gets the address of its webhooks. The number's id, its token and the app's secret: see `WhatsAppServer`.
"""

from __future__ import annotations

import hashlib
import math
import string
from itertools import count
from typing import Any

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.errors import PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.values import Receipt
from trunkline.sim.platforms.channels.whatsapp import FakeWhatsApp, WindowClosed
from trunkline.sim.platforms.rooms import digits, letters
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.whatsapp.requests import BadBody, GraphMessage, asked_message, place_of, read_body
from trunkline.sim.wire.whatsapp.webhooks import WebhookNumber, WebhookPusher, answers_challenge

_ALPHABET = string.ascii_letters + string.digits
#: error of the platform -> status, code, and Meta's title of it
_ERRORS: tuple[tuple[type[PlatformError], int, int, str], ...] = (
    (WindowClosed, 400, 131047, "Re-engagement message"),
    (PlaceGone, 400, 131026, "Message undeliverable"),
    (Refused, 400, 100, "Invalid parameter"),
    (RateLimited, 429, 130429, "Rate limit hit"),
    (Unauthorized, 401, 190, "Error validating access token"),
    (PlatformError, 500, 131000, "Something went wrong"),
)
_TITLES = {
    100: "Invalid parameter",
    131008: "Required parameter is missing",
    131009: "Parameter value is not valid",
    131051: "Unsupported message type",
}


class WhatsAppServer(WireServer[FakeWhatsApp]):
    """``/{version}/...``, with any version."""

    channel = "whatsapp"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        #: id of an upload -> its account, name, media type and content
        self._files: dict[str, tuple[str, str, str, bytes]] = {}
        self._pushers: dict[str, WebhookPusher] = {}
        self._uploads = count(1)

    # ------------------------------------------------------------ what an operator copies from the dashboard

    def token(self, account: str, number: int) -> str:
        return f"EAA{letters(self.channel, 'token', account, str(number), length=40, alphabet=_ALPHABET)}"

    def phone_number_id(self, account: str) -> str:
        """The id of the account's number in the Graph API."""
        return digits(self.channel, "number-id", account, length=15)

    def app_secret(self, account: str) -> str:
        """The secret of the account's app, which signs its webhooks."""
        return hashlib.sha256(f"{self.channel}/app/{account}".encode()).hexdigest()[:32]

    async def subscribe(self, account: str, url: str, verify_token: str) -> bool:
        """Deliver the webhooks of an account to an address, if it answers the question for its word."""
        if not await answers_challenge(url, verify_token):
            return False
        await self._unsubscribe(account)
        number = WebhookNumber(
            account=account,
            waba=digits(self.channel, "waba", account, length=15),
            id=self.phone_number_id(account),
            display=self.platform.bot_id(account),
            secret=self.app_secret(account),
        )
        pusher = self._pushers[account] = WebhookPusher(self.platform, self.world, number, url, epoch=self.epoch)
        pusher.start()
        return True

    async def _unsubscribe(self, account: str) -> None:
        pusher = self._pushers.pop(account, None)
        if pusher is not None:
            await pusher.stop()

    def report_failure(self, account: str, message_id: str, recipient: str, code: int, title: str) -> None:
        """Report that an accepted message could not be delivered."""
        error = {"code": code, "title": title, "message": title, "error_data": {"details": title}}
        self._pushers[account].report(message_id, recipient, "failed", errors=[error])

    # ------------------------------------------------------------ the endpoints

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/{version}/{id}/messages", self._messages)
        app.router.add_post("/{version}/{id}/media", self._upload)
        app.router.add_get("/{version}/{id}", self._facts)
        app.router.add_post("/{version}/{id}", self._configure)
        app.router.add_get("/lookaside/{id}", self._content)
        app.on_startup.append(self._resume)

    async def _resume(self, _app: web.Application) -> None:
        for pusher in self._pushers.values():
            pusher.start()

    async def close(self) -> None:
        for pusher in self._pushers.values():
            await pusher.stop()

    def refusal(self, request: web.Request, error: PlatformError) -> web.StreamResponse:
        status, code, title = next(row[1:] for row in _ERRORS if isinstance(error, row[0]))
        headers: dict[str, str] = {}
        if isinstance(error, RateLimited) and error.retry_after is not None:
            headers["Retry-After"] = str(math.ceil(error.retry_after))
        return _failed(status, code, title, error.facts, headers)

    def _owner(self, request: web.Request) -> tuple[str, int]:
        """The account and the number of the token. Raises `Unauthorized`."""
        given = request.headers.get("Authorization", "").removeprefix("Bearer ") or request.query.get(
            "access_token", ""
        )
        owner = self.owner_of(given)
        if owner is None:
            raise Unauthorized("the token belongs to nobody")
        self.platform.tokens.check(*owner)
        return owner

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        try:
            account, number = self._owner(request)
            if request.match_info["id"] != self.phone_number_id(account):
                return _unknown(request)
            return await self._message(request, account, number, read_body(await request.read()))
        except BadBody as error:
            return _failed(400, error.code, _TITLES[error.code], error.details)
        except PlatformError as error:
            return self.refusal(request, error)

    async def _message(self, request: web.Request, account: str, token: int, body: GraphMessage) -> web.StreamResponse:
        if body.status == "read":
            return web.json_response({"success": True})
        place = place_of(body, account)

        def answer(receipt: Receipt) -> web.StreamResponse:
            to = body.to or body.recipient or ""
            if account in self._pushers:
                self._pushers[account].report(receipt.provider_id, to, "sent", "delivered")
            return web.json_response(
                {
                    "messaging_product": "whatsapp",
                    "contacts": [{"input": to, "wa_id": receipt.address.conversation.removeprefix("+")}],
                    "messages": [{"id": receipt.provider_id}] if receipt.provider_id else [],
                }
            )

        if body.type == "reaction":
            if body.reaction is None:
                raise BadBody(131008, "Parameter 'reaction' is required")
            emoji, mine = body.reaction.emoji, body.reaction.message_id
            change = self.action_request(Action.REACT, place, mine, text=emoji, remove=not emoji)
            return await self.act(request, change, token, answer)
        files = {upload: name for upload, (owner, name, _, _) in self._files.items() if owner == account}
        asked = asked_message(body, files)
        quoted = None if body.context is None else body.context.message_id
        send = self.send_request(place, asked.text, media=asked.media, parts=asked.parts, reply_to=quoted)
        return await self.send(request, send, token, answer)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        try:
            account, _ = self._owner(request)
        except PlatformError as error:
            return self.refusal(request, error)
        if request.match_info["id"] != self.phone_number_id(account):
            return _unknown(request)
        form = await request.post()
        file = form.get("file")
        if form.get("messaging_product") != "whatsapp" or not isinstance(file, web.FileField):
            return _failed(400, 100, _TITLES[100], "messaging_product and file are required")
        id = digits(self.channel, "media", account, str(next(self._uploads)), length=16)  # noqa: A001 -- the word
        self._files[id] = (account, file.filename, str(form.get("type") or file.content_type), file.file.read())
        return web.json_response({"id": id})

    async def _facts(self, request: web.Request) -> web.StreamResponse:
        """Of a number: its display; of an upload: where its content is."""
        try:
            account, _ = self._owner(request)
        except PlatformError as error:
            return self.refusal(request, error)
        id = request.match_info["id"]  # noqa: A001 -- the word
        if id == self.phone_number_id(account):
            display = self.platform.bot_id(account)
            return web.json_response({"id": id, "display_phone_number": display, "verified_name": account})
        owner, _, kind, content = self._files.get(id, ("", "", "", b""))
        if owner != account:
            return _unknown(request)
        facts: dict[str, Any] = {"id": id, "messaging_product": "whatsapp", "mime_type": kind}
        facts |= {"url": f"{self.url}/lookaside/{id}", "file_size": len(content)}
        return web.json_response(facts | {"sha256": hashlib.sha256(content).hexdigest()})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        found = self._files.get(request.match_info["id"])
        if found is None:
            return web.Response(status=404)
        return web.Response(body=found[3], content_type=found[2])

    async def _configure(self, request: web.Request) -> web.StreamResponse:
        """The address of a number's webhooks, as Meta takes it beside the one of the app."""
        try:
            account, _ = self._owner(request)
        except PlatformError as error:
            return self.refusal(request, error)
        try:
            given = (await request.json())["webhook_configuration"]
            url, word = str(given["override_callback_uri"]), str(given["verify_token"])
        except (ValueError, KeyError, TypeError):
            return _failed(400, 100, _TITLES[100], "webhook_configuration needs override_callback_uri and verify_token")
        if request.match_info["id"] != self.phone_number_id(account):
            return _unknown(request)
        if not await self.subscribe(account, url, word):
            return _failed(400, 100, _TITLES[100], "Callback verification failed")
        return web.json_response({"success": True})


def _failed(status: int, code: int, title: str, details: str, headers: dict[str, str] | None = None) -> web.Response:
    error = {
        "message": f"(#{code}) {title}",
        "type": "OAuthException",
        "code": code,
        "error_data": {"messaging_product": "whatsapp", "details": details},
        "fbtrace_id": letters("fbtrace", title, details, length=22, alphabet=_ALPHABET),
    }
    return web.json_response({"error": error}, status=status, headers=headers)


def _unknown(request: web.Request) -> web.Response:
    id = request.match_info["id"]  # noqa: A001 -- the word
    return _failed(400, 100, _TITLES[100], f"Object with ID '{id}' does not exist")
