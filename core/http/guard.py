"""The guard around the application: ids, checks, limits, headers, errors as problems, and one log line per request."""

import ipaddress
import logging
import math
import re
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import anyio
import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.core.http.auth import Tokens, bearer
from trunkline.core.http.clients import RequestSeen
from trunkline.core.http.connections import RESERVED, Proxies, client_of
from trunkline.core.http.problems import PROBLEM_JSON, Problem, document_of, problem_of, stopping, unavailable
from trunkline.core.http.served import Served
from trunkline.core.http.settings import HttpLimits, HttpSettings, Rate

# Hosts that a request may name, and pages that may make requests: against rebound names and pages of other sites.

_LOOPBACK_NAME = "localhost"
#: a name, an IPv4 or IPv6 address, and perhaps a port
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_PORT = re.compile(r":[0-9]{1,5}$")

Headers = Sequence[tuple[bytes, bytes]]
ByName = dict[bytes, list[str]]


def check_origin(given: ByName, settings: HttpSettings) -> None:
    """Raise `Problem` for a host that is not ours, and for a page that may not use the API.

    A page whose name is rebound to this address asks for its own name, which is no address and not configured. A page
    of another site says so in `Origin` or `Sec-Fetch-Site`, which no script can change.
    """
    hosts = given.get(b"host", [])
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        raise Problem(400, "bad-host", "A request has one `Host`, a name or an address with an optional port.")
    if settings.only_hosts and not _is_ours(hosts[0], settings.hosts):
        detail = "This host is not served here. Name it in `http.hosts` of the configuration, or ask for the address."
        raise Problem(421, "host-not-served", detail)
    origins = given.get(b"origin")
    if origins:
        allowed = len(origins) == 1 and (_is_same(origins[0], hosts[0]) or origins[0].lower() in settings.origins)
    else:
        site = given.get(b"sec-fetch-site", [])
        allowed = "cross-site" not in site or given.get(b"sec-fetch-mode") == ["navigate"]
    if not allowed:
        raise Problem(403, "cross-site", "Pages of other sites may not use this API, unless `http.origins` names them.")


def by_name(headers: Headers) -> ByName:
    found: ByName = {}
    for name, value in headers:
        found.setdefault(name, []).append(value.decode("latin-1").strip())
    return found


@lru_cache(maxsize=256)
def _is_ours(host: str, names: Sequence[str]) -> bool:
    name = host.rpartition(":")[0] if _PORT.search(host) else host
    name = name.strip("[]").lower()
    return name == _LOOPBACK_NAME or name in names or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_same(origin: str, host: str) -> bool:
    scheme, _, rest = origin.lower().partition("://")
    return scheme in ("http", "https") and rest == host.lower()


# The body of a request, counted and timed while it is read.


#: what is read and thrown away after an early answer, so that its sender comes to read the answer
_LINGER_TIME, _LINGER_SIZE = 2.0, 67_108_864


class BodyReader:
    """The body of a request. Raises `Problem` 413 for a body over the limit, 408 for a body that is too slow."""

    def __init__(
        self, given: ByName, receive: Receive, limits: HttpLimits, whole: Callable[[], bool] = lambda: False
    ) -> None:
        """`whole`: whether the rest of the body is here, so that receiving it waits for nobody."""
        self._whole = whole
        self._receive = receive
        self._limits = limits
        self._read = 0
        self._until: float | None = None
        #: the body has come to its end, or its sender has gone
        self.ended = not (b"content-length" in given or b"transfer-encoding" in given)
        self._declared = _declared(given)
        #: the body is too large or too slow: its connection cannot be used again
        self.refused = False

    def check(self) -> None:
        """Raise `Problem` 413 if the declared length is over the limit, before any of it is read."""
        if self._declared > self._limits.body:
            raise self._too_large()

    async def receive(self) -> Message:
        if self.ended:
            return await self._receive()
        self.check()
        message = await (self._receive() if self._whole() else self._in_time())
        self._note(message)
        if self._read > self._limits.body:
            raise self._too_large()
        return message

    async def _in_time(self) -> Message:
        if self._until is None:
            self._until = anyio.current_time() + self._limits.body_time
        with anyio.move_on_at(self._until):
            return await self._receive()
        self.refused = True
        raise Problem(408, "request-timeout", f"The body did not come within {self._limits.body_time:g} s.")

    async def drain(self) -> None:
        """Throw away what is still to come, for a moment: a sender that writes everything first would see no answer."""
        left = _LINGER_SIZE
        with anyio.move_on_after(_LINGER_TIME):
            while not self.ended and left > 0:
                message = await self._receive()
                left -= len(message.get("body", b""))
                self._note(message)

    def _note(self, message: Message) -> None:
        self._read += len(message.get("body", b""))
        self.ended = message["type"] == "http.disconnect" or not message.get("more_body", False)

    def _too_large(self) -> Problem:
        self.refused = True
        return Problem(413, "body-too-large", f"The body is larger than {self._limits.body} bytes.")


def _declared(given: ByName) -> int:
    length = given.get(b"content-length", [""])[0]
    return int(length) if length.isdecimal() else 0


LOG = logging.getLogger("trunkline.http")
#: what is taken over from a client as the id of its request
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
#: headers of every answer that has no others of the same name
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
_STREAM = b"text/event-stream"
#: routes that supervisors and monitors request all the time, and the files of a page
_PROBES = ("/v1/health/", "/metrics", "/chat/")
#: buckets kept at once; the oldest goes first, and begins full when it comes again
_MOST_BUCKETS = 10_000


class Guard:
    """ASGI middleware, outermost: nothing reaches the application that is not checked."""

    def __init__(self, app: ASGIApp, served: Served, settings: HttpSettings, tokens: Tokens) -> None:
        self._app = app
        self._served = served
        self._settings = settings
        self._tokens = tokens
        self._rate = RateLimit(settings.limits.rate, served.env.steady)
        #: requests in work, and with streams and sockets by client
        self._working = 0
        self._of_client = Counter[str]()
        self._proxies = Proxies(settings.trusted_proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})["request_id"] = self._request_id(scope)
        if scope.get("raw_path") is not None:
            # Parameters of the path are decoded after it was matched, so that one may contain a slash.
            scope["path"] = scope["raw_path"].decode("ascii", "replace")
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        else:
            await self._request(scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with self._counted(scope):
                self._admit(scope, by_name(scope["headers"]))
                await self._app(scope, receive, send)
        except Problem as problem:
            LOG.info("socket refused: %s", problem.slug)
            await send({"type": "websocket.close", "code": 1008, "reason": problem.slug})

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = self._served.env.steady()
        given, state = by_name(scope["headers"]), scope["state"]
        body = BodyReader(given, receive, self._settings.limits, state.get("whole", _unknown))
        answer = _Answer(scope, body, send, self._settings.limits.write_time)
        answer.on_stream = self._leave
        self._working += 1
        try:
            try:
                if self._working > self._settings.limits.requests and not scope["path"].startswith(RESERVED):
                    raise unavailable("busy", "Too many requests are in work.")
                with self._counted(scope):
                    self._admit(scope, given)
                    body.check()
                    await self._app(scope, body.receive, answer.send)
            except anyio.get_cancelled_exc_class():
                await self._cut(scope, answer)
                raise
            except Exception as error:  # noqa: BLE001 (every error is answered, and logged if it is a defect)
                await self._fail(error, scope, answer)
        finally:
            if not answer.streams:
                self._leave()
            seconds = self._served.env.steady() - began
            seen = RequestSeen.from_scope(scope, answer.status, seconds, stream=answer.streams)
            self._served.metrics.count_request(seen)
            log_request(seen)

    @contextmanager
    def _counted(self, scope: Scope) -> Generator[None]:
        """Count a request or socket of a client, which a proxy may hide from the connections. Raises `Problem` 503."""
        host = (scope.get("client") or ("",))[0]
        if not host or host in self._proxies:
            yield
            return
        client = client_of(host)
        self._of_client[client] += 1
        try:
            if self._of_client[client] > self._settings.limits.per_address and not scope["path"].startswith(RESERVED):
                raise unavailable("busy", "Too many requests of this address are in work.")
            yield
        finally:
            self._of_client[client] -= 1
            if not self._of_client[client]:
                del self._of_client[client]

    def _leave(self) -> None:
        self._working -= 1

    def _admit(self, scope: Scope, given: ByName) -> None:
        token = bearer({"authorization": given.get(b"authorization", [""])[0]})
        caller = None if token is None else self._tokens.find(token)
        client = scope.get("client")
        self._rate.take(f"token {caller.name}" if caller else f"address {client_of(client[0]) if client else ''}")
        check_origin(given, self._settings)

    async def _cut(self, scope: Scope, answer: "_Answer") -> None:
        """Answer a request that was in work for longer than the server takes to stop."""
        if answer.begun or not self._served.stopping.is_set():
            return
        with anyio.move_on_after(1, shield=True):
            await self._fail(stopping(), scope, answer)

    async def _fail(self, error: Exception, scope: Scope, answer: "_Answer") -> None:
        if isinstance(error, OSError | ClientDisconnect):
            answer.abort()
            return
        problem = problem_of(error)
        if problem.status == 500:
            LOG.error("request %s failed", scope["state"]["request_id"], exc_info=error)
        if answer.begun:
            # Half an answer must not look like a whole one.
            answer.abort()
            return
        content = msgspec.json.encode(document_of(problem, scope["state"]["request_id"]))
        headers = {**problem.headers, "Content-Type": PROBLEM_JSON, "Content-Length": str(len(content))}
        raw = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        await answer.send({"type": "http.response.start", "status": problem.status, "headers": raw})
        await answer.send({"type": "http.response.body", "body": content})

    def _request_id(self, scope: Scope) -> str:
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                return value.decode()
        return self._served.env.ids.new("request")


def _unknown() -> bool:
    return False


class _Answer:
    """The answer of the application: headers are added, and a client that has stopped to read is cut."""

    def __init__(self, scope: Scope, body: BodyReader, send: Send, write_time: float) -> None:
        self._scope = scope
        self._body = body
        self._send = send
        self._write_time = write_time
        self.begun = False
        self.status = 0
        #: it is a stream of events, which is not counted as a request in work
        self.streams = False
        self.on_stream: Callable[[], None] = lambda: None
        self._closes = False

    async def send(self, message: Message) -> None:
        """Send a message. Raises `OSError` if the client does not read."""
        if message["type"] == "http.response.start":
            self._begin(message)
        elif self._closes and not message.get("more_body", False):
            await self._write({**message, "more_body": True})
            await self._body.drain()
            message = {"type": "http.response.body", "body": b""}
        await self._write(message)

    def abort(self) -> None:
        cut: Callable[[], None] | None = self._scope["state"].get("abort")
        if cut is not None:
            cut()

    def _begin(self, message: Message) -> None:
        self.begun = True
        self.status = message["status"]
        # ASGI has the names in lower case.
        headers: list[tuple[bytes, bytes]] = message["headers"]
        there = dict(headers)
        headers += [header for header in _RAW if header[0] not in there]
        headers.append((b"x-request-id", self._scope["state"]["request_id"].encode()))
        if self._body.refused:
            headers.append((b"connection", b"close"))
            self._closes = b"content-length" in there
        if there.get(b"content-type", b"").startswith(_STREAM):
            self.streams = True
            self.on_stream()

    async def _write(self, message: Message) -> None:
        is_writable: Callable[[], bool] | None = self._scope["state"].get("is_writable")
        if is_writable is not None and is_writable():
            # It waits for nobody, so that no limit is needed.
            await self._send(message)
            return
        with anyio.move_on_after(self._write_time):
            await self._send(message)
            return
        self.abort()
        raise OSError("the client does not read")


class RateLimit:
    """Token buckets: how often a token, or an address without one, may ask. `steady` is the steady clock."""

    def __init__(self, rate: Rate, steady: Callable[[], float]) -> None:
        self._rate = rate
        self._steady = steady
        #: key -> requests left, and when that was; the least recently used first
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: str) -> None:
        """Count a request. Raises `Problem` 429 with the time to wait."""
        rate, now = self._rate, self._steady()
        left, at = self._buckets.pop(key, (float(rate.burst), now))
        left = min(float(rate.burst), left + max(0.0, now - at) * rate.per_second)
        enough = left >= 1
        self._buckets[key] = (left - 1 if enough else left, now)
        if len(self._buckets) > _MOST_BUCKETS:
            del self._buckets[next(iter(self._buckets))]
        if not enough:
            wait = max(1, math.ceil((1 - left) / rate.per_second))
            detail = f"Too many requests: at most {rate.per_second:g} per second over time, and {rate.burst} at once."
            raise Problem(429, "too-many-requests", detail, headers={"Retry-After": str(wait)})


def log_request(seen: RequestSeen) -> None:
    """Log a request; probes, which come every few seconds, and files of the page only in detail."""
    LOG.log(
        logging.DEBUG if seen.route.startswith(_PROBES) and seen.status < 500 else logging.INFO,
        "%s %s %d %.1f ms",
        seen.method,
        seen.route,
        seen.status,
        seen.seconds * 1000,
        extra={"request_id": seen.request_id, "caller": seen.caller},
    )
