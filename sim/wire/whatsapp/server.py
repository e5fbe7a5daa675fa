"""Meta's Graph API on the wire, as far as the Cloud API of WhatsApp uses it.

``/{version}/{number}/messages``, ``/{version}/{number}/media``, ``/{version}/{media}`` and ``/{version}/{number}``, by
which a number gets the address of its webhooks. The number's id, its token and the app's secret: see `WhatsAppServer`.
"""

import asyncio
import hashlib
import hmac
import json
import math
import string
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import PlaceGone, PlatformError, RateLimited, Refused, Unauthorized
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, DeedKind, Envelope, Receipt
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.channels.whatsapp import FakeWhatsApp, WindowClosed
from trunkline.sim.platforms.rooms import WorldPort, digits, letters
from trunkline.sim.wire.server import WireServer

# Webhooks of the Cloud API: one address for each number, signed, and delivered again until it answers with success.

#: seconds until a webhook is delivered again; doubles up to the last
_AGAIN_FIRST, _AGAIN_LAST = 0.3, 60.0
#: seconds that the address has to answer
_PATIENCE = 30.0
#: seconds for which a message waits for the delivery of the one before it
_BEHIND = 1.0
#: seconds until the messages of an account are asked for again
_RECONNECT = 0.3
_SUCCESS = range(200, 300)


class WebhookNumber(msgspec.Struct, frozen=True, kw_only=True):
    """The number of an account: what every webhook says of it, and what signs them."""

    account: str
    #: id of the business account
    waba: str
    id: str
    display: str
    secret: str

    def body(self, **parts: Any) -> bytes:
        metadata = {"display_phone_number": self.display.removeprefix("+"), "phone_number_id": self.id}
        value = {"messaging_product": "whatsapp", "metadata": metadata, **parts}
        entry = {"id": self.waba, "changes": [{"value": value, "field": "messages"}]}
        return json.dumps({"object": "whatsapp_business_account", "entry": [entry]}).encode()


def scoped_id(number: str) -> str:
    """The business-scoped id of the person with a number."""
    return f"US.{digits('whatsapp', 'scoped', number, length=16)}"


def status_parts(message_id: str, recipient: str, status: str, at: float) -> dict[str, Any]:
    """A report about a message of the account as a webhook has it."""
    number = recipient.removeprefix("+")
    found: dict[str, Any] = {"id": message_id, "status": status, "timestamp": str(int(at)), "recipient_id": number}
    found["recipient_user_id"] = scoped_id(number)
    return {"contacts": [{"wa_id": number, "user_id": scoped_id(number)}], "statuses": [found]}


def message_parts(envelope: Envelope, sent_at: float) -> dict[str, Any]:
    """A person's message as a webhook has it."""
    number = envelope.peer.id.removeprefix("+")
    scoped = scoped_id(number)
    message: dict[str, Any] = {"from": number, "from_user_id": scoped, "id": envelope.message_id}
    message["timestamp"] = str(int(sent_at))
    if envelope.address.kind is ChatKind.GROUP:
        message["group_id"] = envelope.address.conversation
    quoted = envelope.reply_to if envelope.pressed is None else envelope.pressed
    if quoted is not None:
        message["context"] = {"id": quoted}
    if envelope.deed is not None:
        emoji = {"emoji": envelope.text} if envelope.deed.kind is DeedKind.REACT else {}
        message |= {"type": "reaction", "reaction": {"message_id": envelope.deed.of, **emoji}}
    elif envelope.files:
        [file] = envelope.files
        kind = file.mime_type.partition("/")[0]
        kind = kind if kind in ("image", "video", "audio") else "document"
        content = {"id": f"in-{file.name}", "mime_type": file.mime_type, "sha256": "none"}
        content |= {"caption": envelope.text} if envelope.text else {}
        message |= {"type": kind, kind: content | ({"filename": file.name} if kind == "document" else {})}
    elif envelope.pressed is None:
        message |= {"type": "text", "text": {"body": envelope.text}}
    else:
        reply = {"id": envelope.text, "title": envelope.text}
        message |= {"type": "interactive", "interactive": {"type": "button_reply", "button_reply": reply}}
    contact = {"profile": {"name": envelope.peer.name}, "wa_id": number, "user_id": scoped}
    return {"contacts": [contact], "messages": [message]}


def signed(secret: str, body: bytes) -> dict[str, str]:
    """The headers of a webhook."""
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}", "Content-Type": "application/json"}


class WebhookPusher:
    """Delivers what happens on one account to its address, while it runs."""

    def __init__(
        self, platform: FakeWhatsApp, world: WorldPort, number: WebhookNumber, url: str, *, epoch: float
    ) -> None:
        self._platform, self._world, self._number = platform, world, number
        self._account, self._url, self._epoch = number.account, url, epoch
        #: the newest delivery of each conversation
        self._newest: dict[str, asyncio.Event] = {}
        #: ids of messages that are being delivered
        self._going: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self._connection: Connection | None = None

    def start(self) -> None:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE))
            self._run(self._read_connections())

    async def stop(self) -> None:
        """Stop; what was not delivered waits for the next start."""
        session, self._session = self._session, None
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._going.clear()
        if self._connection is not None:
            self._platform.pushes.disconnect(self._account, self._connection)
            self._connection = None
        if session is not None:
            await session.close()

    def _run(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _read_connections(self) -> None:
        while True:
            if not self._world.account_fault("connect", self._platform.channel, self._account):
                connection = self._connection = self._platform.pushes.connect(self._account, Node("meta"), deeds=True)
                while not isinstance(found := await connection.queue.get(), PlatformError):
                    if found.message_id not in self._going:
                        self._going.add(found.message_id)
                        self._run(self._message(found))
            await asyncio.sleep(_RECONNECT)

    async def _message(self, envelope: Envelope) -> None:
        body = self._number.body(**message_parts(envelope, self._epoch + envelope.sent_at))
        conversation, done = envelope.address.conversation, asyncio.Event()
        earlier, self._newest[conversation] = self._newest.get(conversation), done
        try:
            if earlier is not None:
                # Meta promises no order, but does not turn around what it delivers without trouble.
                with suppress(TimeoutError):
                    await asyncio.wait_for(earlier.wait(), _BEHIND)
            await self._deliver(body)
        finally:
            done.set()
            self._going.discard(envelope.message_id)
        self._platform.pushes.ack(envelope)

    def report(self, message_id: str, recipient: str) -> None:
        """Deliver reports about a message of the account: it was sent, then delivered."""
        self._run(self._reports(message_id, recipient))

    async def _reports(self, message_id: str, recipient: str) -> None:
        for status in ("sent", "delivered"):
            at = self._epoch + self._world.now()
            await self._deliver(self._number.body(**status_parts(message_id, recipient, status, at)))

    async def _deliver(self, body: bytes) -> None:
        wait = _AGAIN_FIRST
        while not await self._post(body):
            await asyncio.sleep(wait)
            wait = min(2 * wait, _AGAIN_LAST)

    async def _post(self, body: bytes) -> bool:
        assert self._session is not None
        try:
            async with self._session.post(self._url, data=body, headers=signed(self._number.secret, body)) as response:
                return response.status in _SUCCESS
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False


async def answers_challenge(url: str, word: str) -> bool:
    """Whether an address answers the question of a subscription with its challenge."""
    challenge = str(1_158_201_444)
    query = {"hub.mode": "subscribe", "hub.verify_token": word, "hub.challenge": challenge}
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE)) as session,
            session.get(url, params=query) as response,
        ):
            return response.status in _SUCCESS and (await response.text()).strip() == challenge
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


# Bodies of requests to the Graph API, as the fake platform takes them. Pure.


class BadBody(Exception):
    """A body that Meta refuses: its code, and what is wrong."""

    def __init__(self, code: int, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class _Text(msgspec.Struct, frozen=True):
    body: str
    preview_url: bool = False


class _File(msgspec.Struct, frozen=True):
    id: str | None = None
    link: str | None = None
    caption: str = ""
    filename: str | None = None


class _Reaction(msgspec.Struct, frozen=True):
    message_id: str
    emoji: str = ""


class _Context(msgspec.Struct, frozen=True):
    message_id: str


class _Reply(msgspec.Struct, frozen=True):
    id: str
    title: str


class _ReplyButton(msgspec.Struct, frozen=True):
    reply: _Reply
    type: str = "reply"


class _Buttons(msgspec.Struct, frozen=True):
    buttons: tuple[_ReplyButton, ...]


class _Body(msgspec.Struct, frozen=True):
    text: str


class _Header(msgspec.Struct, frozen=True):
    type: str
    image: _File | None = None
    video: _File | None = None
    document: _File | None = None


class _Interactive(msgspec.Struct, frozen=True):
    type: str
    body: _Body
    action: _Buttons
    header: _Header | None = None


class GraphMessage(msgspec.Struct, frozen=True):
    messaging_product: str
    to: str | None = None
    recipient: str | None = None
    recipient_type: str = "individual"
    type: str = "text"
    status: str | None = None
    message_id: str | None = None
    context: _Context | None = None
    text: _Text | None = None
    image: _File | None = None
    video: _File | None = None
    audio: _File | None = None
    document: _File | None = None
    sticker: _File | None = None
    reaction: _Reaction | None = None
    interactive: _Interactive | None = None


class AskedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A requested message, in the parts of the fake platform."""

    text: str = ""
    media: tuple[str, ...] = ()
    parts: MessageParts | None = None


def read_body(given: bytes) -> GraphMessage:
    """The body of a request. Raises `BadBody`."""
    try:
        body = msgspec.json.decode(given, type=GraphMessage)
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadBody(100, str(error)) from None
    if body.messaging_product != "whatsapp":
        raise BadBody(100, "messaging_product must be whatsapp")
    return body


def place_of(body: GraphMessage, account: str) -> Address:
    """Where a message is to go. Raises `BadBody`."""
    to = body.to or body.recipient
    if not to:
        raise BadBody(131008, "Parameter 'to' is required")
    if body.recipient_type not in ("individual", "group"):
        raise BadBody(100, "recipient_type must be one of {INDIVIDUAL, GROUP}")
    group = body.recipient_type == "group"
    conversation = to if group or body.to is None else f"+{to.removeprefix('+')}"
    kind = ChatKind.GROUP if group else ChatKind.DIRECT
    return Address(channel="whatsapp", account=account, kind=kind, conversation=conversation)


def asked_message(body: GraphMessage, files: dict[str, str]) -> AskedMessage:
    """The message requested by a body. `files`: id of an upload -> name. Raises `BadBody`."""
    if body.type == "text":
        if body.text is None or not body.text.body:
            raise BadBody(131008, "Parameter 'text' is required")
        return AskedMessage(text=body.text.body)
    if body.type == "interactive":
        return _interactive(body.interactive, files)
    found: Any = getattr(body, body.type, None) if body.type in _FILES else None
    if not isinstance(found, _File):
        raise BadBody(131051, f"Unsupported message type: {body.type}")
    return AskedMessage(text=found.caption, media=(_source(found, files),))


_FILES = ("image", "video", "audio", "document", "sticker")


def _source(file: _File, files: dict[str, str]) -> str:
    if file.link is not None:
        return file.link
    if file.id is None or file.id not in files:
        raise BadBody(131009, "The media id does not exist, or belongs to another number")
    return files[file.id]


def _interactive(given: _Interactive | None, files: dict[str, str]) -> AskedMessage:
    if given is None or given.type != "button":
        raise BadBody(131009, "The type of the interactive message is not supported")
    rows = tuple((Button(text=button.reply.title, value=button.reply.id),) for button in given.action.buttons)
    if len({button.reply.id for button in given.action.buttons}) != len(rows):
        raise BadBody(131009, "Two buttons have the same id")
    header = given.header
    file = None if header is None else header.image or header.video or header.document
    media = () if file is None else (_source(file, files),)
    return AskedMessage(text=given.body.text, media=media, parts=MessageParts(buttons=rows))


_Handler = Callable[[web.Request, str, int], Awaitable[web.StreamResponse]]
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

    def token(self, account: str, number: int) -> str:
        return f"EAA{letters(self.channel, 'token', account, str(number), length=40, alphabet=_ALPHABET)}"

    def phone_number_id(self, account: str) -> str:
        return digits(self.channel, "number-id", account, length=15)

    def app_secret(self, account: str) -> str:
        return hashlib.sha256(f"{self.channel}/app/{account}".encode()).hexdigest()[:32]

    async def subscribe(self, account: str, url: str, verify_token: str) -> bool:
        """Deliver the webhooks of an account to an address, if it answers the question for its word."""
        if not await answers_challenge(url, verify_token):
            return False
        pusher = self._pushers.pop(account, None)
        if pusher is not None:
            await pusher.stop()
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

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/{version}/{id}/messages", self._with_owner(self._messages))
        app.router.add_post("/{version}/{id}/media", self._with_owner(self._upload))
        app.router.add_get("/{version}/{id}", self._with_owner(self._facts))
        app.router.add_post("/{version}/{id}", self._with_owner(self._configure))
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

    def _with_owner(self, handler: _Handler) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """A handler for requests with a valid token: it gets the account, and the number of the token."""

        async def handle(request: web.Request) -> web.StreamResponse:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            owner = self.owner_of(given or request.query.get("access_token", ""))
            try:
                if owner is None:
                    raise Unauthorized("the token belongs to nobody")
                self.platform.tokens.check(*owner)
                return await handler(request, *owner)
            except BadBody as error:
                return _failed(400, error.code, _TITLES[error.code], error.details)
            except PlatformError as error:
                return self.refusal(request, error)

        return handle

    async def _messages(self, request: web.Request, account: str, token: int) -> web.StreamResponse:
        if request.match_info["id"] != self.phone_number_id(account):
            return _unknown(request)
        return await self._message(request, account, token, read_body(await request.read()))

    async def _message(self, request: web.Request, account: str, token: int, body: GraphMessage) -> web.StreamResponse:
        if body.status == "read":
            return web.json_response({"success": True})
        place = place_of(body, account)

        def answer(receipt: Receipt) -> web.StreamResponse:
            to = body.to or body.recipient or ""
            if account in self._pushers:
                self._pushers[account].report(receipt.provider_id, to)
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

    async def _upload(self, request: web.Request, account: str, _: int) -> web.StreamResponse:
        if request.match_info["id"] != self.phone_number_id(account):
            return _unknown(request)
        form = await request.post()
        file = form.get("file")
        if form.get("messaging_product") != "whatsapp" or not isinstance(file, web.FileField):
            return _failed(400, 100, _TITLES[100], "messaging_product and file are required")
        id = digits(self.channel, "media", account, str(next(self._uploads)), length=16)  # noqa: A001 -- the word
        self._files[id] = (account, file.filename, str(form.get("type") or file.content_type), file.file.read())
        return web.json_response({"id": id})

    async def _facts(self, request: web.Request, account: str, _number: int) -> web.StreamResponse:
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

    async def _configure(self, request: web.Request, account: str, _: int) -> web.StreamResponse:
        """The address of a number's webhooks, as Meta takes it beside the one of the app."""
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
