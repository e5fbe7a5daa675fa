"""The signature of a request: HMAC-SHA256 over its time and its body, with a secret that both sides know. Pure."""

from __future__ import annotations

import hashlib
import hmac

#: the header that carries it
HEADER = "Trunkline-Signature"


def signature_of(secret: str, body: bytes, at: float) -> str:
    """The value of the header. `at`: seconds since the epoch; a receiver refuses a time that is not about now."""
    seconds = int(at)
    digest = hmac.new(secret.encode("utf-8"), b"%d." % seconds + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"
