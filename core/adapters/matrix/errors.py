"""The evidence in the responses of a homeserver: by error code and status, never by sentences. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from trunkline.core.adapters.evidence import of_status, wait_in
from trunkline.core.adapters.json_values import as_object
from trunkline.core.errors import PlatformError, RateLimited, Refused, Unauthorized

_NO_TOKEN = frozenset({"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED"})
_MS = 1000.0
#: milliseconds; a longer wait is none
_LONGEST_WAIT = 1e12
#: characters of a sentence of the server that an error quotes
_QUOTED = 200


class MatrixRefused(Refused):
    """The homeserver refused the request for good."""

    #: its error code, e.g. ``M_FORBIDDEN``; empty: the response has none
    code: str = ""
    status: int = 0


class MatrixErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a response without success."""

    errcode: str = ""
    error: str = ""
    retry_after_ms: float | None = None


def error_of(status: int, body: bytes, retry_after: str | None = None) -> PlatformError:
    """The error of a response without success. `retry_after`: the header ``Retry-After``, in seconds.

    A response that is no JSON, as of a proxy, counts by its status.
    """
    found = _read(body)
    facts = ": ".join(part for part in (found.errcode, found.error[:_QUOTED]) if part)
    if found.errcode in _NO_TOKEN:
        return Unauthorized(facts)
    wait = None if found.retry_after_ms is None else found.retry_after_ms / _MS
    if found.errcode == "M_LIMIT_EXCEEDED":
        return RateLimited(facts, retry_after=wait_in(retry_after) if wait is None else wait)
    error = of_status(status, facts, retry_after=wait_in(retry_after) if wait is None else wait)
    if type(error) is not Refused:
        return error
    refused = MatrixRefused(facts or f"status {status}")
    refused.code, refused.status = found.errcode, status
    return refused


def _read(body: bytes) -> MatrixErrorBody:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return MatrixErrorBody()
    given = as_object(found)
    fields: dict[str, Any] = {}
    for name, kind in (("errcode", str), ("error", str), ("retry_after_ms", int | float)):
        if isinstance(given.get(name), kind) and not isinstance(given[name], bool):
            if kind is not str and not 0 <= given[name] <= _LONGEST_WAIT:
                continue
            fields[name] = given[name]
    return MatrixErrorBody(**fields)
