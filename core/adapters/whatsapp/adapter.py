"""The adapter of a WhatsApp business number, by Meta's Cloud API. The only library is httpx.

Meta takes no idempotency key and has no look-up, so a send whose response was lost stays in doubt. Messages come only
by webhook, and Meta repeats a webhook, for days, until it is answered with success; so nothing is answered before it
is durable. The id of a message (``wamid...``) is the same each time.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.account_adapter import AccountAdapter
from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.httpx_requests import HttpxRequests
from trunkline.core.adapters.media_files import MediaFiles, is_address
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.whatsapp.bodies import (
    CAPTION,
    media_type,
    message_body,
    name_of,
    reaction_body,
)
from trunkline.core.adapters.whatsapp.config import WhatsAppConfig
from trunkline.core.adapters.whatsapp.errors import error_of, is_success
from trunkline.core.adapters.whatsapp.inbox import WebhookInbox
from trunkline.core.adapters.whatsapp.updates import UnreadableWebhook, WebhookContent, read_webhook
from trunkline.core.channels import rules_for
from trunkline.core.errors import Ambiguous, ConfigError, NotSent, Refused
from trunkline.core.reasons import Reason
from trunkline.core.values import (
    Address,
    Capabilities,
    Capability,
    Envelope,
    Receipt,
    SendRequest,
)

#: the header with the signature
SIGNED = "x-hub-signature-256"
_SCHEME = "sha256="
#: characters of a challenge; Meta's are numbers
_LONGEST_CHALLENGE = 200


def signature(secret: str, body: bytes) -> str:
    """The value of the header for a body."""
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
_OK, _FORBIDDEN, _NOT_ALLOWED, _LATER = 200, 403, 405, 503


class _Sent(msgspec.Struct, frozen=True):
    id: str


class _Accepted(msgspec.Struct, frozen=True):
    messages: tuple[_Sent, ...]


class _Uploaded(msgspec.Struct, frozen=True):
    id: str


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

    # ------------------------------------------------------------ inbound

    @asynccontextmanager
    async def connect(self) -> AsyncGenerator[AsyncIterator[Envelope]]:
        """The messages of webhooks from now on. Meta opens the connections, so nothing can break here."""
        async with self._inbox.stream() as envelopes:
            self._events.record_connection("webhook")
            yield envelopes

    async def ack(self, envelope: Envelope) -> None:
        """Note a durable message, so that the webhook can be answered."""
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
            content = read_webhook(call.body, self._config.phone_number_id, self.account)
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
            self._events.record_drop(unread.id, unread.detail)
        for failure in content.failures:
            code = "" if failure.error.code is None else str(failure.error.code)
            self._events.record_failure(failure.id, failure.recipient, code=code, detail=failure.error.facts)

    def _refuse(self, reason: Reason, detail: str) -> WebhookAnswer:
        self._events.record_refusal(reason, detail)
        return WebhookAnswer(status=_FORBIDDEN)

    # ------------------------------------------------------------ outbound

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
        if not is_success(found.status_code):
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
            if not is_success(found.status_code):
                raise error_of(found.status_code, found.content, found.headers)
            return msgspec.json.decode(found.content, type=_Uploaded).id
        except Ambiguous as error:
            raise NotSent(f"the file was not uploaded: {error.facts}") from error
        except (msgspec.MsgspecError, ValueError) as error:
            raise NotSent("the file was not uploaded: the response is not one of the Graph API") from error
