"""Events and interactions by HTTP: checked, handed to the gateway, and answered when they are durable."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from cachetools import TTLCache

from trunkline.core.adapters.account_events import AccountEvents
from trunkline.core.adapters.port import AdapterHost, WebhookAnswer, WebhookCall
from trunkline.core.adapters.slack.inbound.events import LARGEST_UPDATE, OtherTeam
from trunkline.core.adapters.slack.inbound.feed import SlackFeed
from trunkline.core.adapters.slack.inbound.sockets import parsed
from trunkline.core.errors import NotSent
from trunkline.core.reasons import Reason
from trunkline.core.well_formed import well_formed

# Slack signs ``v0:TIMESTAMP:BODY`` with the signing secret of the app and HMAC-SHA256
# (docs.slack.dev/authentication/verifying-requests-from-slack). A request older than five minutes is a replay.

#: seconds that a request may be old, or ahead of our clock
LONGEST_AGE = 300.0
#: headers, in lower case
TIMESTAMP, SIGNATURE = "x-slack-request-timestamp", "x-slack-signature"
_VERSION = "v0"
#: answered requests whose repeats are answered at once
_REMEMBERED = 10_000
_LONGEST_TIMESTAMP = 12


def sign(secret: str, timestamp: str, body: bytes) -> str:
    text = b"%s:%s:%s" % (_VERSION.encode(), timestamp.encode(), body)
    return f"{_VERSION}={hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()}"


def refusal_of(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> tuple[Reason, str] | None:
    """The reason against reading a request, with the details; None for a new request of Slack.

    The signature is checked first: what is wrong with the time of an unsigned request says nothing.
    """
    timestamp, given = headers.get(TIMESTAMP, ""), headers.get(SIGNATURE, "")
    if not (timestamp.isascii() and timestamp.isdecimal()) or len(timestamp) > _LONGEST_TIMESTAMP:
        return Reason.BAD_SIGNATURE, "it has no time of signing"
    if not given.isascii() or not hmac.compare_digest(sign(secret, timestamp, body), given):
        return Reason.BAD_SIGNATURE, "it is not signed with the signing secret of this app"
    if abs(now - int(timestamp)) > LONGEST_AGE:
        return Reason.STALE_WEBHOOK, f"it was signed {abs(now - int(timestamp)):.0f} s from now"
    return None


_OK = WebhookAnswer()
#: Slack delivers again
_LATER = WebhookAnswer(status=503, body=b"not now")
_FORM = "application/x-www-form-urlencoded"


class SlackWebhook:
    def __init__(self, secret: str, feed: SlackFeed, host: AdapterHost, events: AccountEvents, patience: float) -> None:
        self._secret = secret
        self._feed = feed
        self._host = host
        self._events = events
        #: seconds to wait until a message is durable
        self._patience = patience
        #: signature -> the successful answer: a delivery that is repeated within a second has the signature of the
        #: first. A request may be signed ahead of our clock
        self._taken: TTLCache[str, WebhookAnswer] = TTLCache(_REMEMBERED, 2 * LONGEST_AGE, timer=host.env.now)

    async def answer_call(self, call: WebhookCall) -> WebhookAnswer:
        """Check and read a request. Answers with success when every message of the request, if any, is durable."""
        if call.method != "POST":
            return WebhookAnswer(status=405, body=b"POST only")
        now = self._host.env.now()
        wrong = refusal_of(self._secret, call.headers, call.body, now)
        signature = call.headers.get(SIGNATURE, "")
        if wrong is not None:
            return self._refuse(*wrong, status=401)
        before = self._taken.get(signature)
        if before is not None:
            return before
        answer = await self._read_call(call)
        if answer.status < 300:
            self._taken[signature] = answer
        return answer

    async def _read_call(self, call: WebhookCall) -> WebhookAnswer:
        payload, interactive = _payload(call)
        update = str(call.headers.get("x-slack-request-timestamp", ""))
        if payload is None or len(call.body) > LARGEST_UPDATE:
            self._events.record_drop(update, "it is too large" if payload is not None else "it is no JSON object")
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
            if not self._feed.take_update(payload, interactive=interactive, done=done, update=update):
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
        self._events.record_refusal(reason, detail)
        return WebhookAnswer(status=status, body=json.dumps({"error": reason.value}).encode())


def _payload(call: WebhookCall) -> tuple[dict[str, Any] | None, bool]:
    """The JSON of a request, and whether the request is an interaction, which is a form with a single field."""
    if not call.headers.get("content-type", "").startswith(_FORM):
        return parsed(call.body), False
    try:
        found = parse_qs(call.body.decode("utf-8")).get("payload", [""])[0]
    except ValueError:
        return None, True
    return parsed(found), True
