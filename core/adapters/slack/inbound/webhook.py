"""Events and interactions by HTTP: checked, handed to the gateway, and answered when they are durable."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs

from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.refusals import WebhookRefusals
from trunkline.core.adapters.slack.inbound.feed import SlackFeed
from trunkline.core.adapters.slack.inbound.reader import LARGEST_UPDATE, OtherTeam
from trunkline.core.adapters.slack.inbound.signature import SIGNATURE, TakenSignatures, refused
from trunkline.core.adapters.slack.inbound.sockets import parsed
from trunkline.core.errors import NotSent
from trunkline.core.reasons import Reason
from trunkline.core.well_formed import well_formed

_OK = WebhookAnswer()
#: Slack delivers again
_LATER = WebhookAnswer(status=503, body=b"not now")
#: characters of what an event quotes
_LONGEST = 300
_FORM = "application/x-www-form-urlencoded"


class SlackWebhook:
    """The address that an app's events and interactions are sent to."""

    def __init__(self, secret: str, feed: SlackFeed, host: AdapterHost, patience: float) -> None:
        self._secret = secret
        self._feed = feed
        self._host = host
        self._refusals = WebhookRefusals(host, "slack")
        #: seconds to wait until a message is durable
        self._patience = patience
        self._taken = TakenSignatures()

    async def take(self, call: WebhookCall) -> WebhookAnswer:
        """Check and read a request. Success means that every message in it is durable, or that there is none."""
        if call.method != "POST":
            return WebhookAnswer(status=405, body=b"POST only")
        now = self._host.env.now()
        wrong = refused(self._secret, call.headers, call.body, now)
        signature = call.headers.get(SIGNATURE, "")
        if wrong is None and signature in self._taken:
            wrong = Reason.STALE_WEBHOOK, "it was taken before"
        if wrong is not None:
            return self._refuse(*wrong, status=401)
        answer = await self._read(call)
        if answer.status < 300:
            self._taken.add(signature, now)
        return answer

    async def _read(self, call: WebhookCall) -> WebhookAnswer:
        payload, interactive = _payload(call)
        update = str(call.headers.get("x-slack-request-timestamp", ""))
        if payload is None or len(call.body) > LARGEST_UPDATE:
            self._feed.drop(update, "it is too large" if payload is not None else "it is no JSON object")
            return _OK
        if payload.get("type") == "url_verification":
            return WebhookAnswer(body=well_formed(str(payload.get("challenge", ""))).encode())
        if payload.get("type") != "event_callback" and not interactive:
            return _OK
        found = payload.get("event_id")
        return await self._hand_over(payload, interactive, found if isinstance(found, str) else update)

    async def _hand_over(self, payload: dict[str, Any], interactive: bool, update: str) -> WebhookAnswer:
        safe = asyncio.Event()
        over = asyncio.Event()

        async def done() -> None:
            safe.set()
            over.set()

        try:
            if not self._feed.take(payload, interactive=interactive, done=done, update=update):
                return _OK
        except OtherTeam as error:
            return self._refuse(Reason.OTHER_WEBHOOK_ACCOUNT, str(error), status=403)
        except NotSent:
            return _LATER
        forget = self._feed.at_end(over.set)
        try:
            async with asyncio.timeout(self._patience):
                await over.wait()
        except TimeoutError:
            return _LATER
        finally:
            forget()
        return _OK if safe.is_set() else _LATER

    def _refuse(self, reason: Reason, detail: str, *, status: int) -> WebhookAnswer:
        detail = well_formed(detail[:_LONGEST])
        self._refusals.refused(reason, detail)
        return WebhookAnswer(status=status, body=json.dumps({"error": reason.value}).encode())


def _payload(call: WebhookCall) -> tuple[dict[str, Any] | None, bool]:
    """The JSON of a request, and whether it is an interaction: those come as a form with one field."""
    if not call.headers.get("content-type", "").startswith(_FORM):
        return parsed(call.body), False
    try:
        found = parse_qs(call.body.decode("utf-8")).get("payload", [""])[0]
    except ValueError:
        return None, True
    return parsed(found), True
