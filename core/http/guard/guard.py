"""The guard around the application: ids, checks, limits, headers, errors as problems, and one log line per request."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable

import anyio
import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trunkline.core.http.auth import Tokens, bearer
from trunkline.core.http.clients import RequestSeen
from trunkline.core.http.guard.body import BodyReader
from trunkline.core.http.guard.origins import ByName, by_name, check_origin
from trunkline.core.http.problems import AGAIN, PROBLEM_JSON, Problem, document_of, problem_of, stopping
from trunkline.core.http.served import Served
from trunkline.core.http.settings import HttpSettings, Rate

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
#: routes that supervisors and monitors request all the time
_PROBES = ("/v1/health/", "/metrics")
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
        #: requests in work
        self._working = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or a WebSocket."""
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
            self._admit(scope, by_name(scope["headers"]))
        except Problem as problem:
            LOG.info("socket refused: %s", problem.slug)
            await send({"type": "websocket.close", "code": 1008, "reason": problem.slug})
            return
        await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = self._served.env.steady()
        given, state = by_name(scope["headers"]), scope["state"]
        body = BodyReader(given, receive, self._settings.limits, state.get("whole", _unknown))
        answer = _Answer(scope, body, send, self._settings.limits.write_time)
        answer.on_stream = self._leave
        self._working += 1
        try:
            try:
                if self._working > self._settings.limits.requests:
                    headers = {"Retry-After": str(AGAIN)}
                    raise Problem(503, "busy", "Too many requests are in work.", headers=headers)
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

    def _leave(self) -> None:
        self._working -= 1

    def _admit(self, scope: Scope, given: ByName) -> None:
        token = bearer({"authorization": given.get(b"authorization", [""])[0]})
        caller = None if token is None else self._tokens.find(token)
        client = scope.get("client")
        self._rate.take(f"token {caller.name}" if caller else f"address {client[0] if client else ''}")
        check_origin(given, self._settings)

    async def _cut(self, scope: Scope, answer: _Answer) -> None:
        """Answer a request that was in work for longer than the server takes to stop."""
        if answer.begun or not self._served.stopping.is_set():
            return
        with anyio.move_on_after(1, shield=True):
            await self._fail(stopping(), scope, answer)

    async def _fail(self, error: Exception, scope: Scope, answer: _Answer) -> None:
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
        """Cut the connection."""
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
    """Log a request; probes, which come every few seconds, only in detail."""
    LOG.log(
        logging.DEBUG if seen.route.startswith(_PROBES) and seen.status < 500 else logging.INFO,
        "%s %s %d %.1f ms",
        seen.method,
        seen.route,
        seen.status,
        seen.seconds * 1000,
        extra={"request_id": seen.request_id, "caller": seen.caller},
    )
