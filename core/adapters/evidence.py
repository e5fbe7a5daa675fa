"""The evidence of a failed request: certainly not sent, certainly refused, or ambiguous.

Decided by the type of the library's error and by the status of the response, never by a text. A connection that could
not be opened carried nothing. Once a request may have been written, only a response ends the doubt.
"""

import math
from typing import TYPE_CHECKING

from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused, Unauthorized

if TYPE_CHECKING:
    import aiohttp
    import httpx

_TOO_MANY = 429
_UNAUTHORIZED = 401
_REQUEST_TIMEOUT = 408


def of_status(status: int, facts: str = "", *, retry_after: float | None = None) -> PlatformError:
    """The error of a response without success, where the platform's own error code says nothing better.

    4xx: the platform has refused it for good, but for 429. 408 and 5xx: what was asked may have been done before the
    failure, so it is in doubt.
    """
    if status == _TOO_MANY:
        return RateLimited(facts or "too many requests", retry_after=retry_after)
    if status == _UNAUTHORIZED:
        return Unauthorized(facts or "the token is not accepted")
    if 400 <= status < 500 and status != _REQUEST_TIMEOUT:
        return Refused(facts or f"status {status}")
    return Ambiguous(f"status {status}{f': {facts}' if facts else ''}")


def wait_in(retry_after: str | None) -> float | None:
    """The seconds in a header ``Retry-After``; None for anything but a time."""
    try:
        wait = float(retry_after if retry_after is not None and retry_after.isascii() else "")
    except ValueError:
        return None
    return wait if 0 <= wait < math.inf else None


def of_httpx(error: "httpx.HTTPError | httpx.InvalidURL") -> PlatformError:
    """The error of a request of httpx without a response."""
    import httpx

    before = (
        httpx.ConnectError,
        httpx.ConnectTimeout,
        httpx.PoolTimeout,
        # A proxy opens no connection; through a proxy that does, an error is that of the connection.
        httpx.ProxyError,
        httpx.UnsupportedProtocol,
        httpx.InvalidURL,
    )
    return _of(error, isinstance(error, before))


def of_aiohttp(error: "aiohttp.ClientError | TimeoutError | OSError") -> PlatformError:
    """The error of a request of aiohttp without a response. A plain `TimeoutError` ends the whole request."""
    import aiohttp

    before = (
        aiohttp.ClientConnectorError,
        aiohttp.ClientHttpProxyError,
        aiohttp.ConnectionTimeoutError,
        aiohttp.InvalidURL,
    )
    return _of(error, isinstance(error, before))


def _of(error: Exception, before: bool) -> PlatformError:
    facts = type(error).__name__
    return NotSent(f"no connection: {facts}") if before else Ambiguous(f"no response: {facts}")
