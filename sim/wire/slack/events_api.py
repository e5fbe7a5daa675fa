"""The Events API: Slack sends each update to the address of an app, signed, and again if that does not take it."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import urlencode

import aiohttp

from trunkline.core.values import Envelope
from trunkline.sim.wire.slack.feeds import UpdateFeed
from trunkline.sim.wire.slack.hosts import SlackHost

#: seconds before each further delivery of an event; after the last one it is given up
RETRIES = (1.0, 60.0, 300.0)
#: seconds that an app has for its answer
PATIENCE = 3.0


class WebhookFeed(UpdateFeed):
    """The updates of one account, to its address."""

    def __init__(self, server: SlackHost, account: str, url: str, *, retries: tuple[float, ...] = RETRIES) -> None:
        super().__init__(server, account)
        self.url = url
        self._retries = retries
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
        for number, wait in enumerate((0.0, *(() if interactive else self._retries))):
            await asyncio.sleep(wait)
            again = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason} if number else {}
            status, _ = await self.post(body.encode(), kind, again)
            if 200 <= status < 300:
                self.server.platform.pushes.ack(envelope)
                return
            reason = "http_error" if status else "http_timeout"


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a request, by the signing secret."""
    return f"v0={hmac.new(secret.encode(), b'v0:' + timestamp.encode() + b':' + body, hashlib.sha256).hexdigest()}"
