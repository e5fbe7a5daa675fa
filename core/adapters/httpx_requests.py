"""Single requests by httpx, for platforms without a client library: a call is a single request, and each ends.

Its errors are those of the contract (`core.adapters.evidence`). Nothing is retried, no redirect is followed, and no
connection is used twice: a connection that the server closes just when a request is written to it would leave a send in
doubt, and these platforms have no keys by which the doubt could be ended. A handshake for each message is cheaper.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

from trunkline.core.adapters.evidence import of_httpx
from trunkline.core.errors import Ambiguous, NotSent, Refused

#: of a request's time, what opening the connection may take
_TO_CONNECT = 0.5


class HttpxRequests:
    """Requests with a time limit; usable inside `running`."""

    def __init__(self, timeout: float, headers: dict[str, str] | None = None) -> None:
        self._timeout = timeout
        #: of requests to the platform, and not of downloads: nobody else gets its token
        self._headers = headers or {}
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Make the client, without opening a connection."""
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        timeout = httpx.Timeout(self._timeout, connect=self._timeout * _TO_CONNECT)
        async with httpx.AsyncClient(limits=limits, timeout=timeout) as client:
            self._client = client
            try:
                yield
            finally:
                self._client = None

    @property
    def client(self) -> httpx.AsyncClient:
        """The client itself, for streams. Raises `NotSent` outside `running`."""
        if self._client is None:
            raise NotSent("the account is not running")
        return self._client

    async def request(self, method: str, url: str, **parts: Any) -> httpx.Response:
        """Make a request and read the response, whatever the status. Raises `NotSent` or `Ambiguous`.

        Raises `Refused` for what no request can hold, such as half a character in JSON. The time limit holds for all of
        it: a server that answers byte by byte holds nothing up for longer.
        """
        client = self.client
        try:
            made = client.build_request(method, url, headers=self._headers, **parts)
        except httpx.InvalidURL as error:
            raise of_httpx(error) from error
        except (ValueError, TypeError, RecursionError) as error:
            raise Refused(f"it cannot be written as a request: {type(error).__name__}") from None
        try:
            with anyio.fail_after(self._timeout):
                return await client.send(made)
        except TimeoutError:
            raise Ambiguous(f"no response within {self._timeout:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise of_httpx(error) from error
