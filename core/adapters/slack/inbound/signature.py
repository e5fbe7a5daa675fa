"""Whether a request to the webhook is from Slack: its signature, its age, and whether it was taken before. Pure.

Slack signs ``v0:TIMESTAMP:BODY`` with the signing secret of the app and HMAC-SHA256
(docs.slack.dev/authentication/verifying-requests-from-slack). A request older than five minutes is a replay.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from trunkline.core.reasons import Reason

#: seconds that a request may be old, or ahead of our clock
LONGEST_AGE = 300.0
#: headers, in lower case
TIMESTAMP, SIGNATURE = "x-slack-request-timestamp", "x-slack-signature"
_VERSION = "v0"
_LONGEST_TIMESTAMP = 12


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature of a request."""
    text = b"%s:%s:%s" % (_VERSION.encode(), timestamp.encode(), body)
    return f"{_VERSION}={hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()}"


def refused(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> tuple[Reason, str] | None:
    """Why a request is not to be read, and what is wrong with it; None: it is from Slack, and new.

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


class TakenSignatures:
    """The signatures of the last minutes that were answered with success. Slack signs each delivery for itself."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def add(self, signature: str, now: float) -> None:
        """Remember a request that was taken."""
        for old in [one for one, until in self._until.items() if until < now]:
            del self._until[old]
        # A request may be signed that much in the future.
        self._until[signature] = now + 2 * LONGEST_AGE

    def __contains__(self, signature: str) -> bool:
        return signature in self._until
