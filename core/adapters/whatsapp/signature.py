"""What proves that a request to the webhook comes from Meta. Pure."""

from __future__ import annotations

import hashlib
import hmac

from trunkline.core.adapters.port import WebhookAnswer, WebhookCall

#: the header with the signature
SIGNED = "x-hub-signature-256"
_SCHEME = "sha256="
#: characters of a challenge; Meta's are numbers
_LONGEST = 200


def signature(secret: str, body: bytes) -> str:
    """The value of the header for a body."""
    return _SCHEME + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def is_signed(secret: str, call: WebhookCall) -> bool:
    """Whether the app's secret has signed the body, byte for byte."""
    given = call.headers.get(SIGNED, "")
    return hmac.compare_digest(given.encode("utf-8", "replace"), signature(secret, call.body).encode())


def challenge_answer(verify_token: str, call: WebhookCall) -> WebhookAnswer | None:
    """The answer to Meta's question whether this address wants its webhooks; None: the word is not ours."""
    query = dict(call.query)
    given, asked = query.get("hub.verify_token", ""), query.get("hub.challenge", "")
    same = hmac.compare_digest(given.encode("utf-8", "replace"), verify_token.encode())
    if not same or query.get("hub.mode") != "subscribe" or not asked.isascii() or not 0 < len(asked) <= _LONGEST:
        return None
    return WebhookAnswer(body=asked.encode())
