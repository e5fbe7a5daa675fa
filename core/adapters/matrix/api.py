"""Requests to a homeserver by mautrix: a call is a single request on the wire, and each error is evidence."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, cast

import aiohttp
import msgspec
from mautrix.api import HTTPAPI, Method, Path, PathBuilder
from mautrix.errors import MatrixConnectionError

from trunkline.core.adapters.evidence import of_aiohttp, of_status, wait_in
from trunkline.core.adapters.json_values import Json, as_object, careful_json
from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused, Unauthorized

# The evidence in the responses of a homeserver: by error code and status, never by sentences. Pure.

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


#: bytes of an error's body that are read
_LONGEST_ERROR = 65_536
_NOT_FOUND, _NOT_THERE = 404, "M_NOT_FOUND"

V3 = Path.v3
V1 = Path.v1
MEDIA = PathBuilder("_matrix/media/v3")


async def _one_request(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Turn every failure into an error of the contract.

    aiohttp repeats a PUT whose connection turned out to be closed, but no request that raised such an error.
    """
    try:
        response = await handler(request)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise of_aiohttp(error) from error
    if response.status < 300:
        return response
    try:
        body = await response.content.read(_LONGEST_ERROR)
    except (aiohttp.ClientError, TimeoutError, OSError):
        # The status has arrived, and is evidence enough.
        body = b""
    response.close()
    raise error_of(response.status, body, response.headers.get("Retry-After"))


class CarefulResponse(aiohttp.ClientResponse):
    """A response which no single value, written into a room by anybody, makes unreadable."""

    async def json(
        self,
        *,
        encoding: str | None = None,
        loads: Callable[[str], Any] = careful_json,
        content_type: str | None = "application/json",
    ) -> Any:
        return await super().json(encoding=encoding, loads=loads, content_type=content_type)


def _session(total: float, *, keep: bool = True) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(force_close=not keep),
        timeout=aiohttp.ClientTimeout(total=total),
        middlewares=(_one_request,),
        response_class=CarefulResponse,
    )


class MatrixApi:
    """The client-server API of a homeserver, for a user."""

    def __init__(self, homeserver: str, token: str, *, request_timeout: float, poll_seconds: float) -> None:
        self._homeserver = homeserver
        self._token = token
        self._timeouts = (request_timeout, request_timeout + poll_seconds)
        self._questions: HTTPAPI | None = None
        self._changes: HTTPAPI | None = None
        self._syncs: HTTPAPI | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Hold the sessions of the requests while the block runs. Opens no connection."""
        usual, patient = self._timeouts
        # A connection that was kept open may break just as it is used: what was to be sent would be in doubt.
        async with _session(usual) as asks, _session(usual, keep=False) as changes, _session(patient) as syncs:
            self._questions, self._changes, self._syncs = (self._over(session) for session in (asks, changes, syncs))
            try:
                yield
            finally:
                self._questions = self._changes = self._syncs = None

    def _over(self, session: aiohttp.ClientSession) -> HTTPAPI:
        # mautrix would repeat a request by itself; the gateway does that, under its own rules.
        return HTTPAPI(self._homeserver, self._token, client_session=session, default_retry_count=0)

    async def get(self, path: PathBuilder, query: Mapping[str, str] | None = None, *, patient: bool = False) -> Json:
        """Ask. `patient`: the server may hold the response back for as long as a poll. Raises `PlatformError`."""
        return await self._request(Method.GET, path, None, query or {}, patient=patient)

    async def find(self, path: PathBuilder) -> Json | None:
        """Ask for something; None if the server has nothing there."""
        try:
            return await self.get(path)
        except MatrixRefused as error:
            # Without the server's own word for it, the page of a proxy would be the proof that a room is not encrypted.
            if error.status == _NOT_FOUND and error.code == _NOT_THERE:
                return None
            raise

    async def put(self, path: PathBuilder, content: Json) -> Json:
        """Raises `PlatformError`."""
        return await self._request(Method.PUT, path, content, {})

    async def post(self, path: PathBuilder, content: Json) -> Json:
        """Raises `PlatformError`."""
        return await self._request(Method.POST, path, content, {})

    async def upload(self, body: bytes, mime_type: str, name: str) -> str:
        """Upload a file, unseen by anybody; returns the ``mxc://`` address. Raises `PlatformError`."""
        headers = {"Content-Type": mime_type}
        # An empty body would be replaced by an empty JSON object.
        found = await self._request(
            Method.POST, MEDIA.upload, body or b"\n", {"filename": name} if name else {}, headers=headers
        )
        address = found.get("content_uri")
        if not isinstance(address, str) or not address.startswith("mxc://"):
            raise NotSent("the answer to an upload names no file")
        return address

    async def _request(
        self,
        method: Method,
        path: PathBuilder,
        content: Json | bytes | None,
        query: Mapping[str, str],
        *,
        patient: bool = False,
        headers: dict[str, str] | None = None,
    ) -> Json:
        asks = self._syncs if patient else self._questions
        api = asks if method is Method.GET else self._changes
        if api is None:
            raise NotSent("the account is not running")
        try:
            # Its annotations leave the contents of objects open.
            request = cast("Callable[..., Awaitable[object]]", api.request)  # pyright: ignore[reportUnknownMemberType]
            found = await request(method, path, content, headers, dict(query))
        except MatrixConnectionError as error:
            cause = error.__cause__
            known = isinstance(cause, aiohttp.ClientError)
            raise (of_aiohttp(cause) if known else Ambiguous(type(error).__name__)) from error
        except TimeoutError as error:
            raise of_aiohttp(error) from error
        except (ValueError, RecursionError) as error:
            raise Ambiguous(f"the answer cannot be read: {type(error).__name__}") from error
        if not isinstance(found, dict):
            raise Ambiguous("the answer is no JSON object")
        return cast("Json", found)


@contextmanager
def nothing_sent() -> Generator[None]:
    """Guard the requests before a change: without their answer, the change is not made."""
    try:
        yield
    except Ambiguous as error:
        raise NotSent(f"a question before it had no answer: {error.facts}") from error
