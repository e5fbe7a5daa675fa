"""Slack's Web API for an account: a call is a single request, and each failure is evidence.

The library's own retries are off: some of its handlers send a request again after a lost connection, and Slack would
post the message twice. Each request has a connection of its own: a connection kept open may be closed by the other side
just when the next message is on it, and that message would be in doubt.
"""

import re
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from trunkline.core import errors
from trunkline.core.adapters.evidence import of_aiohttp, of_status, wait_in
from trunkline.core.adapters.json_values import as_object

# The evidence in Slack's error codes. Pure.
#
# A response of Slack has ``ok`` and, if that is false, a code such as ``channel_not_found``, mostly with status 200. A
# code that is not listed here is a refusal for good: Slack has looked at the request and said no.

#: Slack may have done a part of it: the reference of each method says so of the first two
_DOUBT = frozenset({"internal_error", "fatal_error", "service_unavailable"})
#: the data of the request did not arrive whole, so it was not carried out
_INCOMPLETE = frozenset({"request_timeout"})
#: the workspace is being moved; nothing was done, and a later request can succeed
_LATER = frozenset({"team_added_to_org"})
_TOKENS = frozenset({"not_authed", "invalid_auth", "account_inactive", "token_revoked", "token_expired"})
_TOO_MANY = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_GONE = frozenset({"channel_not_found", "not_in_channel", "thread_not_found", "user_disabled"})
_ARCHIVED = frozenset({"is_archived"})
_CODE = re.compile(r"[a-z0-9_:.-]{1,80}")
_KNOWN = _DOUBT | _INCOMPLETE | _LATER | _TOKENS | _TOO_MANY | _GONE | _ARCHIVED
_OK = 200
_SERVER_ERROR = 500
_RATE_LIMITED = 429


def of_code(code: str, facts: str = "", *, retry_after: float | None = None) -> errors.PlatformError:
    if _CODE.fullmatch(code) is None:
        return errors.Refused("an error without a readable code")
    kinds: tuple[tuple[frozenset[str], type[errors.PlatformError]], ...] = (
        (_DOUBT, errors.Ambiguous),
        (_INCOMPLETE, errors.NotSent),
        (_LATER, errors.PlatformError),
        (_TOKENS, errors.Unauthorized),
        (_TOO_MANY, errors.RateLimited),
        (_ARCHIVED, errors.PlaceArchived),
        (_GONE, errors.PlaceGone),
    )
    kind = next((kind for codes, kind in kinds if code in codes), errors.Refused)
    return kind(f"{code}, {facts}" if facts else code, retry_after=retry_after)


def of_response(status: int, data: object, headers: Mapping[str, str]) -> errors.PlatformError:
    """The error of a response without success. An answer of another server proves nothing about a message.

    Servers in between have an `error` in their JSON too, so with a status of 5xx an unlisted code says nothing.
    """
    wait = wait_in(headers.get("Retry-After"))
    if status == _RATE_LIMITED:
        return errors.RateLimited("ratelimited", retry_after=wait)
    given = as_object(data)
    code, needed = given.get("error"), given.get("needed")
    if isinstance(code, str) and (status < _SERVER_ERROR or code in _KNOWN):
        facts = f"it needs the scope {needed}" if isinstance(needed, str) and _CODE.fullmatch(needed) else ""
        return of_code(code, facts, retry_after=wait)
    if status == _OK:
        return errors.Ambiguous("the answer is not one of Slack's Web API")
    return of_status(status, retry_after=wait)


#: seconds for opening a connection, which carries nothing yet
_CONNECT = 10.0
#: sent without the library's own method, which warns about every message without a text
_POSTS = frozenset({"chat.postMessage", "chat.update"})


async def _no_redirect(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Follow no redirect: aiohttp would repeat the request elsewhere, and the library has no switch."""
    response = await handler(request)
    if 300 <= response.status < 400:
        response.close()
        raise errors.Ambiguous(f"a redirect, which Slack does not use: status {response.status}")
    return response


class SlackWeb:
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
            raise errors.NotSent("the adapter does not run")
        return self._session

    @property
    def proxy(self) -> str | None:
        return None if self._client is None else self._client.proxy

    async def call(self, method: str, *, fine: Collection[str] = (), **given: Any) -> dict[str, Any]:
        """Call a method, e.g. ``chat.postMessage``, and return the response. Raises `PlatformError`.

        `fine`: error codes that are no failure here, such as ``already_reacted``; then the response has ``ok: false``.
        """
        client = self._client
        if client is None:
            raise errors.NotSent("the adapter does not run")
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
        except errors.PlatformError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise of_aiohttp(error) from error
        except Exception as error:
            # The library fails in its own ways at answers that are not Slack's. Something has answered.
            raise errors.Ambiguous(f"an answer that the library cannot read: {type(error).__name__}") from error

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
        raise errors.Ambiguous("the answer is not one of Slack's Web API")
    return cast("dict[str, Any]", data)


def _answer(error: SlackApiError) -> tuple[int, Any, Mapping[str, str]]:
    """Status, data and headers of a response without success; a response without JSON has no data."""
    response: Any = error.response
    if isinstance(response, aiohttp.ClientResponse):
        return response.status, None, response.headers
    return int(response.status_code), response.data, cast("Mapping[str, str]", response.headers)
