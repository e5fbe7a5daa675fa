"""Slack's Web API for an account: a call is exactly one request, and each failure is evidence.

The library's own retries are off: some of its handlers send a request again after a lost connection, and Slack would
post the message twice. Each request has a connection of its own: a connection kept open may be closed by the other side
just when the next message is on it, and that message would be in doubt.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from trunkline.core.adapters.evidence import of_aiohttp, of_status
from trunkline.core.adapters.slack.errors import of_response
from trunkline.core.errors import Ambiguous, NotSent, PlatformError

#: seconds for opening a connection, which carries nothing yet
_CONNECT = 10.0
#: sent without the library's own method, which warns about every message without a text
_POSTS = frozenset({"chat.postMessage", "chat.update"})


async def _no_redirect(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Follow no redirect: aiohttp would repeat the request elsewhere, and the library has no switch."""
    response = await handler(request)
    if 300 <= response.status < 400:
        response.close()
        raise Ambiguous(f"a redirect, which Slack does not use: status {response.status}")
    return response


class SlackWeb:
    """Calls methods of the Web API with a token."""

    def __init__(self, token: str, root: str, timeout: float) -> None:
        self._token = token
        self._root = root
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None
        self._client: AsyncWebClient | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold the sessions of the requests while the block runs. Opens no connection."""
        limits = aiohttp.ClientTimeout(total=self._timeout, connect=min(_CONNECT, self._timeout / 2))
        connector = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(connector=connector, timeout=limits, middlewares=(_no_redirect,)) as session:
            client = AsyncWebClient(self._token, base_url=self._root, session=session, retry_handlers=[])
            if self._root.startswith("http://"):
                # A fake on this machine is not behind the proxy that the library finds in the environment.
                client.proxy = None
            self._session, self._client = session, client
            try:
                yield
            finally:
                self._session = self._client = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """For what is not a method: sockets, and contents of files. Raises `NotSent` before and after `running`."""
        if self._session is None:
            raise NotSent("the adapter does not run")
        return self._session

    @property
    def proxy(self) -> str | None:
        """The proxy from the environment."""
        return None if self._client is None else self._client.proxy

    async def call(self, method: str, *, fine: Collection[str] = (), **given: Any) -> dict[str, Any]:
        """Call a method, e.g. ``chat.postMessage``, and return the response. Raises `PlatformError`.

        `fine`: error codes that are no failure here, such as ``already_reacted``; then the response has ``ok: false``.
        """
        client = self._client
        if client is None:
            raise NotSent("the adapter does not run")
        try:
            if method in _POSTS:
                found = {name: value for name, value in given.items() if value is not None}
                return _body(await cast("Any", client).api_call(method, json=found))
            # The library knows for each other method whether it takes JSON or a form.
            return _body(await getattr(client, method.replace(".", "_"))(**given))
        except SlackApiError as error:
            status, data, headers = _answer(error)
            if isinstance(data, dict) and cast("dict[str, Any]", data).get("error") in fine:
                return cast("dict[str, Any]", data)
            raise of_response(status, cast(object, data), headers) from error
        except PlatformError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise of_aiohttp(error) from error
        except Exception as error:
            # The library fails in its own ways at answers that are not Slack's. Something has answered.
            raise Ambiguous(f"an answer that the library cannot read: {type(error).__name__}") from error

    async def upload(self, url: str, content: bytes) -> None:
        """Send the content of a file to the address given by Slack. Raises `PlatformError`."""
        try:
            async with self.session.post(url, data=content, proxy=self.proxy) as response:
                await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise of_aiohttp(error) from error
        if response.status != 200:
            raise of_status(response.status, "the upload of a file")


def _body(response: Any) -> dict[str, Any]:
    data = response.data
    if not isinstance(data, dict):
        raise Ambiguous("the answer is not one of Slack's Web API")
    return cast("dict[str, Any]", data)


def _answer(error: SlackApiError) -> tuple[int, Any, Mapping[str, str]]:
    """Status, data and headers of a response without success; a response without JSON has no data."""
    response: Any = error.response
    if isinstance(response, aiohttp.ClientResponse):
        return response.status, None, response.headers
    return int(response.status_code), response.data, cast("Mapping[str, str]", response.headers)
