"""The adapter of a WhatsApp business number, by Meta's Cloud API. The only library is httpx.

Meta takes no idempotency key and has no look-up, so a send whose response was lost stays in doubt. Messages come only
by webhook, and Meta repeats a webhook, for days, until it is answered with success; so nothing is answered before it
is durable. The id of a message (``wamid...``) is the same each time.
"""

import hashlib
import hmac
import mimetypes
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.httpx_requests import HttpxRequests
from trunkline.core.adapters.media_files import MediaFiles, is_address
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.webhook_inbox import WebhookInbox, messages_of
from trunkline.core.adapters.whatsapp.config import WhatsAppConfig
from trunkline.core.adapters.whatsapp.errors import error_of
from trunkline.core.adapters.whatsapp.updates import UnreadableWebhook, WebhookContent, read_webhook
from trunkline.core.channels import LateOutcome, rules_for
from trunkline.core.channels.account_adapter import AccountAdapter
from trunkline.core.errors import Ambiguous, ConfigError, NotSent, Refused
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Capabilities, Capability, ChatKind, Envelope, Receipt, SendRequest

# The bodies of requests to the Cloud API. Pure.


#: what Meta takes: characters of a text, of a text with a file or with buttons, of a button and of its value
TEXT, CAPTION, BUTTON_TITLE, BUTTON_ID = 4096, 1024, 20, 256
#: reply buttons of a message
BUTTONS = 3
_PERSON = re.compile(r"\+?([0-9]+)(?::[0-9]+)?(?:@(?:s\.whatsapp\.net|c\.us))?", re.IGNORECASE)
#: the id of a person who hides their number: country, and up to 128 letters and digits
_HIDDEN = re.compile(r"[A-Za-z]{2}\.(?:ENT\.)?[A-Za-z0-9]{1,128}")
#: files that WhatsApp shows; any other is a document
_SHOWN = {
    "image/jpeg": "image",
    "image/png": "image",
    "image/webp": "sticker",
    "video/mp4": "video",
    "video/3gpp": "video",
    "audio/aac": "audio",
    "audio/amr": "audio",
    "audio/mpeg": "audio",
    "audio/mp4": "audio",
    "audio/ogg": "audio",
}
_WITH_CAPTION = ("image", "video", "document")


def recipient(place: Address) -> dict[str, str]:
    """The recipient of a message. Raises `Refused` for a place beyond the Cloud API."""
    if place.thread is not None:
        raise Refused("WhatsApp has no threads")
    if place.kind is ChatKind.GROUP:
        return {"recipient_type": "group", "to": place.conversation}
    if place.kind is ChatKind.DIRECT and (person := _PERSON.fullmatch(place.conversation)):
        return {"recipient_type": "individual", "to": person[1]}
    if place.kind is ChatKind.DIRECT and _HIDDEN.fullmatch(place.conversation):
        return {"recipient_type": "individual", "recipient": place.conversation}
    raise Refused("the Cloud API reaches people by phone number or business-scoped id, and groups by their id")


def message_body(request: SendRequest, uploaded: str | None = None) -> dict[str, Any]:
    """The body of a send. `uploaded`: the id of an uploaded file; without an id, the file is sent by address.

    Raises `Refused` for what a message of the Cloud API cannot have.
    """
    parts = request.parts or MessageParts()
    _check_limits(request, parts)
    body: dict[str, Any] = {"messaging_product": "whatsapp", **recipient(request.address)}
    if request.reply_to is not None:
        body["context"] = {"message_id": request.reply_to}
    if parts.buttons:
        return body | {"type": "interactive", "interactive": _interactive(request, uploaded)}
    if request.media:
        kind = kind_of(request.media[0], request.parts)
        return body | {"type": kind, kind: _file(request, kind, uploaded)}
    if not request.text:
        raise Refused("a message needs a text, a file or buttons")
    return body | {"type": "text", "text": {"body": request.text}}


def reaction_body(request: ActionRequest) -> dict[str, Any]:
    """The body of a reaction; an empty emoji takes the reaction away."""
    emoji = "" if request.remove else request.text.strip()
    if not emoji and not request.remove:
        raise Refused("there is no emoji")
    body: dict[str, Any] = {"messaging_product": "whatsapp", **recipient(request.address)}
    return body | {"type": "reaction", "reaction": {"message_id": request.message_id, "emoji": emoji}}


def _check_limits(request: SendRequest, parts: MessageParts) -> None:
    """Raise `Refused` for more than the Cloud API takes."""
    if len(request.media) > 1:
        raise Refused("a message of the Cloud API has one file: send each one by itself")
    limit = CAPTION if request.media or parts.buttons else TEXT
    if len(request.text) > limit:
        raise Refused(f"longer than {limit}")


def kind_of(media: str, parts: MessageParts | None = None) -> str:
    return _SHOWN.get(media_type(media, parts), "document")


def media_type(media: str, parts: MessageParts | None = None) -> str:
    """The media type of a file: from the message, else by the name."""
    given = parts.mime_type if parts is not None else None
    return given or mimetypes.guess_type(urlsplit(media).path or media)[0] or "application/octet-stream"


def name_of(media: str, parts: MessageParts | None = None) -> str:
    given = parts.file_name if parts is not None else None
    return given or unquote(urlsplit(media).path).rpartition("/")[2] or "file"


def _file(request: SendRequest, kind: str, uploaded: str | None) -> dict[str, Any]:
    media = request.media[0]
    found: dict[str, Any] = {"link": media} if uploaded is None else {"id": uploaded}
    if request.text:
        if kind not in _WITH_CAPTION:
            raise Refused(f"WhatsApp shows no text with a file of type {kind}: send it by itself")
        found["caption"] = request.text
    if kind == "document":
        found["filename"] = name_of(media, request.parts)
    return found


def _interactive(request: SendRequest, uploaded: str | None) -> dict[str, Any]:
    assert request.parts is not None
    buttons = [button for row in request.parts.buttons for button in row]
    if len(buttons) > BUTTONS:
        raise Refused(f"more than {BUTTONS} buttons")
    if not request.text:
        raise Refused("buttons need a text")
    replies: list[dict[str, Any]] = []
    for button in buttons:
        value = button.value or button.text
        if button.url is not None:
            raise Refused("a reply button opens no page")
        if not 0 < len(button.text) <= BUTTON_TITLE or len(value) > BUTTON_ID:
            raise Refused(f"a button has at most {BUTTON_TITLE} characters, and its value {BUTTON_ID}")
        replies.append({"type": "reply", "reply": {"id": value, "title": button.text}})
    found: dict[str, Any] = {"type": "button", "body": {"text": request.text}, "action": {"buttons": replies}}
    if request.media:
        kind = kind_of(request.media[0], request.parts)
        if kind not in _WITH_CAPTION:
            raise Refused(f"a message with buttons cannot have a file of type {kind}")
        header = {"link": request.media[0]} if uploaded is None else {"id": uploaded}
        found["header"] = {"type": kind, kind: header}
    return found


SIGNED = "x-hub-signature-256"
_SCHEME = "sha256="
#: characters of a challenge; Meta's are numbers
_LONGEST_CHALLENGE = 200


def signature(secret: str, body: bytes) -> str:
    return _SCHEME + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def is_signed(secret: str, call: WebhookCall) -> bool:
    """Whether the app's secret has signed the body, byte for byte."""
    given = call.headers.get(SIGNED, "")
    return hmac.compare_digest(given.encode("utf-8", "replace"), signature(secret, call.body).encode())


def challenge_answer(verify_token: str, call: WebhookCall) -> WebhookAnswer | None:
    """The answer to Meta's verification of this address; None for another token."""
    query = dict(call.query)
    given, asked = query.get("hub.verify_token", ""), query.get("hub.challenge", "")
    same = hmac.compare_digest(given.encode("utf-8", "replace"), verify_token.encode())
    if (
        not same
        or query.get("hub.mode") != "subscribe"
        or not asked.isascii()
        or not 0 < len(asked) <= _LONGEST_CHALLENGE
    ):
        return None
    return WebhookAnswer(body=asked.encode())


CHANNEL = "whatsapp"
_FORBIDDEN, _NOT_ALLOWED, _LATER = 403, 405, 503


class _Sent(msgspec.Struct, frozen=True):
    id: str


class _Accepted(msgspec.Struct, frozen=True):
    messages: tuple[_Sent, ...]


class WhatsAppAdapter(AccountAdapter):
    """`trunkline.core.adapters.port.PlatformAdapter` and `TakesWebhooks` for a business number."""

    def __init__(self, config: WhatsAppConfig, host: AdapterHost) -> None:
        """Raises `ConfigError` for a missing secret, or for a secret which no header can carry."""
        capabilities = Capabilities(
            can=frozenset({Capability.TEXT, Capability.MEDIA, Capability.BUTTONS, Capability.MESSAGE_IDS}),
            actions=frozenset({Action.REACT, Action.REPLY, Action.SEND_ATTACHMENT, Action.UPLOAD_FILE}),
            in_flight_seconds=config.request_timeout,
            text_limit=rules_for(CHANNEL).text_limit,
            caption_limit=CAPTION,
            button_text_limit=CAPTION,
        )
        super().__init__(CHANNEL, host.account, capabilities)
        self._config = config
        self._events = AccountEvents(host, CHANNEL)
        self._app_secret = host.secret(config.app_secret)
        self._verify_token = host.secret(config.verify_token)
        token = host.secret(config.token)
        if not (token.isascii() and token.isprintable()):
            raise ConfigError(f"{CHANNEL}:{host.account}: the token has characters that no header can carry")
        self._files = MediaFiles(host, config.files, config.request_timeout)
        self._http = HttpxRequests(config.request_timeout, {"Authorization": f"Bearer {token}"})
        self._inbox = WebhookInbox()

    def running(self) -> AbstractAsyncContextManager[object]:
        """Hold the adapter's resources while the block runs. Opens no connection."""
        return self._http.running()

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """The messages of webhooks from now on. Meta opens the connections, so nothing can break here."""
        async with self._inbox.stream() as received:
            self._events.record_connection("webhook")
            yield messages_of(received)

    def connect_late(self, call: Callable[[LateOutcome], None]) -> None:
        self._events.late = call

    async def ack(self, envelope: Envelope) -> None:
        """Note a durable message, for the answer to the webhook."""
        self._inbox.ack(envelope)

    async def webhook(self, call: WebhookCall) -> WebhookAnswer:
        """Answer a request of Meta: the verification of the address, or a signed webhook."""
        if call.method == "GET":
            answer = challenge_answer(self._verify_token, call)
            return answer or self._refuse(Reason.BAD_SIGNATURE, "the word of the verification is another one")
        if call.method != "POST":
            return WebhookAnswer(status=_NOT_ALLOWED)
        if not is_signed(self._app_secret, call):
            return self._refuse(Reason.BAD_SIGNATURE, "the body is not signed with the app's secret")
        try:
            content = read_webhook(call.body, self._config.phone_number_id, self.account, self._events.own)
        except UnreadableWebhook as error:
            # To refuse it would only bring it again, for days.
            self._events.record_drop("", str(error))
            return WebhookAnswer()
        self._record(content)
        if content.messages and not await self._inbox.hand_over(content.messages, self._config.webhook_timeout):
            return WebhookAnswer(status=_LATER)
        if content.others:
            # Not answered with success: Meta keeps what another gateway has to take.
            numbers = ", ".join(content.others)
            return self._refuse(Reason.OTHER_WEBHOOK_ACCOUNT, f"it is for the number with the id {numbers}")
        return WebhookAnswer()

    def _record(self, content: WebhookContent) -> None:
        for unread in content.unread:
            self._events.record_drop(unread.id, unread.detail, unread.reason)
        for failure in content.failures:
            code = "" if failure.error.code is None else str(failure.error.code)
            facts = {"recipient": failure.recipient, "code": code, "detail": failure.error.facts}
            self._events.report_loss(failure.recipient, failure.id, Reason.REFUSED, **facts)

    def _refuse(self, reason: Reason, detail: str) -> WebhookAnswer:
        self._events.record_refusal(reason, detail)
        return WebhookAnswer(status=_FORBIDDEN)

    async def send(self, request: SendRequest) -> Receipt:
        """Send a message. A file with a path is uploaded first."""
        self.check_sendable(request)
        uploaded = None
        if request.media and not is_address(request.media[0]):
            message_body(request, "not uploaded yet")
            uploaded = await self._upload(request)
        return await self._post(message_body(request, uploaded), request.address)

    async def act(self, request: ActionRequest) -> Receipt:
        """React to a message, or take the reaction away: the only change in the Cloud API."""
        if request.action is not Action.REACT or request.message_id is None:
            raise Refused(f"the Cloud API has no {request.action.value}")
        receipt = await self._post(reaction_body(request), request.address)
        return msgspec.structs.replace(receipt, provider_id=request.message_id)

    async def _post(self, body: dict[str, object], place: Address) -> Receipt:
        url = f"{self._config.api_root}/{self._config.phone_number_id}/messages"
        found = await self._http.request("POST", url, json=body)
        if not found.is_success:
            raise error_of(found.status_code, found.content, found.headers)
        try:
            accepted = msgspec.json.decode(found.content, type=_Accepted)
        except (msgspec.MsgspecError, ValueError) as error:
            raise Ambiguous("the response is not one of the Graph API") from error
        if not accepted.messages or not accepted.messages[0].id:
            raise Ambiguous("the response names no message")
        return Receipt(provider_id=accepted.messages[0].id, address=place)

    async def _upload(self, request: SendRequest) -> str:
        """Upload a file; returns the id. After an error nothing was sent, so no failure is ambiguous."""
        path, parts = request.media[0], request.parts
        content = (await self._files.read(path)).content
        name = name_of(path, parts)
        url = f"{self._config.api_root}/{self._config.phone_number_id}/media"
        form = {"messaging_product": "whatsapp", "type": media_type(path, parts)}
        try:
            found = await self._http.request("POST", url, data=form, files={"file": (name, content, form["type"])})
            if not found.is_success:
                raise error_of(found.status_code, found.content, found.headers)
            return msgspec.json.decode(found.content, type=_Sent).id
        except Ambiguous as error:
            raise NotSent(f"the file was not uploaded: {error.facts}") from error
        except (msgspec.MsgspecError, ValueError) as error:
            raise NotSent("the file was not uploaded: the response is not one of the Graph API") from error
