"""Requests to Discord by discord.py's `HTTPClient`, a single request for each call.

The library's own `HTTPClient.request` cannot be used for sends: it makes a request again after 500, 502, 504 and 524,
up to five times, although the first may have been accepted, and it sleeps in a 429 instead of reporting it. Neither can
be switched off. So `request`, the only method through which all of the library's endpoints go, is replaced here: one
call is one request, and its failure is an error of ours. Its routes, headers and user agent stay the library's.

The library's base address is a constant of the class `Route`. Only the path of a route is used here, below the root of
the account, so that accounts with different roots do not disturb each other.
"""

import asyncio
import json as stdlib_json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
from discord.http import HTTPClient, Route

from trunkline.core.adapters.discord.calls import RestCall
from trunkline.core.adapters.discord.errors import error_of
from trunkline.core.adapters.evidence import of_aiohttp
from trunkline.core.errors import Ambiguous, NotSent

#: seconds for the handshake that closes a gateway socket; a dead socket never answers
_CLOSING = 1.0


class OneRequestClient(HTTPClient):
    """`HTTPClient` of an account. Every failure is a `trunkline.core.errors.PlatformError`."""

    def __init__(self, api_root: str, token: str, timeout: float) -> None:
        super().__init__(asyncio.get_running_loop())
        self.token = token
        self._root = api_root.rstrip("/")
        self._timeout = timeout
        self._web: aiohttp.ClientSession | None = None
        self._changes: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make the sessions, without opening a connection."""
        timeout = aiohttp.ClientTimeout(total=self._timeout)
        self._web = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        # A connection that was kept open may be over just as it is used: a change would be in doubt.
        self._changes = aiohttp.ClientSession(
            timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), connector=aiohttp.TCPConnector(force_close=True)
        )

    async def close(self) -> None:
        sessions, self._web, self._changes = (self._web, self._changes), None, None
        for session in sessions:
            if session is not None:
                await session.close()

    @property
    def web(self) -> aiohttp.ClientSession:
        """The session. Raises `NotSent` before `open` and after `close`."""
        if self._web is None:
            raise NotSent("the account is not running")
        return self._web

    async def call(self, call: RestCall) -> Any:
        """Make a request, and return the JSON of the answer; None for an empty answer. Raises `PlatformError`."""
        form: list[dict[str, Any]] = [{"name": name, "value": value} for name, value in (call.form or {}).items()]
        if call.files and call.form is None:
            text = msgspec.json.encode(call.json).decode()
            form.append({"name": "payload_json", "value": text, "content_type": "application/json"})
        for number, file in enumerate(call.files):
            name = f"files[{number}]" if call.form is None else "file"
            form.append({"name": name, "value": file.content, "filename": file.name, "content_type": file.type})
        return await self.request(
            Route(call.method, call.path),
            form=form or None,
            json=None if form else call.json,
            params=call.params,
            reason=call.reason,
            token=call.token,
        )

    async def request(  # type: ignore[override] -- the same, with a token for one request
        self,
        route: Route,
        *,
        files: Any = None,
        form: Any = None,
        json: object = None,
        params: Mapping[str, str] | None = None,
        reason: str | None = None,
        token: str | None = None,
    ) -> Any:
        """Make a single request, whatever the outcome. `files` are in `form` already."""
        headers = {"User-Agent": self.user_agent}
        own = self.token if token is None else token
        if own:
            headers["Authorization"] = f"Bot {own}"
        if reason:
            headers["X-Audit-Log-Reason"] = quote(reason, safe="/ ", errors="replace")
        data: Any = None
        if form:
            # Discord does not understand escaped brackets in the names of fields.
            data = aiohttp.FormData(quote_fields=False)
            for field in form:
                data.add_field(**field)
        elif json is not None:
            headers["Content-Type"] = "application/json"
            data = msgspec.json.encode(json)
        url = self._root + route.url.removeprefix(Route.BASE)
        session = self.web if route.method == "GET" or self._changes is None else self._changes
        try:
            # A redirect could be to anywhere, and would carry the request there a second time.
            async with session.request(
                route.method,
                url,
                data=data,
                params=params or {},
                headers=headers,
                allow_redirects=False,
                middlewares=(_translate_failure,),
            ) as response:
                return await _answer(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise of_aiohttp(error) from error

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        """Open a gateway socket. Raises `NotSent`, or what the status of the refused handshake means."""
        try:
            return await self.web.ws_connect(
                url,
                autoclose=False,
                compress=compress,
                max_msg_size=0,
                headers={"User-Agent": self.user_agent},
                timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSING),  # pyright: ignore[reportCallIssue] -- an attrs class
            )
        except aiohttp.WSServerHandshakeError as error:
            raise error_of(error.status, dict(error.headers or {}), b"") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise NotSent(f"no gateway: {type(error).__name__}") from error


async def _translate_failure(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Turn every failure into an error of the contract, which aiohttp does not repeat.

    It makes a PUT or DELETE again whose connection broke without a response, also on a new connection. The
    first may have been carried out: then a second DELETE is refused.
    """
    try:
        return await handler(request)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise of_aiohttp(error) from error


async def _answer(response: aiohttp.ClientResponse) -> Any:
    """The JSON of a success. Raises the error of any other status, also if the body breaks off."""
    good = 200 <= response.status < 300
    try:
        body = await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError):
        if good or response.status >= 500:
            raise
        body = b""
    if not good:
        raise error_of(response.status, response.headers, body)
    if not body:
        return None
    try:
        # Not by msgspec: one half of a surrogate pair in one message must not hide a page of the history.
        return stdlib_json.loads(body)
    except (ValueError, RecursionError):
        raise Ambiguous(f"status {response.status}, and the answer is no JSON") from None
