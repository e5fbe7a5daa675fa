"""The application: endpoints and further routes behind one set of guards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from trunkline.core.http.api import ENDPOINTS
from trunkline.core.http.auth import Tokens, bearer, require
from trunkline.core.http.endpoint import ANYBODY, JSON, Call, Departure, Endpoint, Reply
from trunkline.core.http.guard.guard import Guard
from trunkline.core.http.guard.request_log import Seen, log_request
from trunkline.core.http.openapi import document_endpoint
from trunkline.core.http.problems import PROBLEM_JSON, Problem, document_of, nothing_here, problem_of
from trunkline.core.http.requests import body_of, check_media_type, content_of, path_of, query_of, raw_query_of
from trunkline.core.http.routes.health import check_ready
from trunkline.core.http.served import Served
from trunkline.core.http.settings import HttpSettings


def build_app(
    served: Served,
    settings: HttpSettings,
    *,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """The HTTP API of a gateway. `more`: streams, pages and WebSockets, which authenticate by `app.state.tokens`.

    Routes find the gateway in `app.state.served`, the tokens in `app.state.tokens`, the id of the request in
    `request.state.request_id`. A `Problem` or `TrunklineError` that they raise is answered as a problem.
    """
    tokens = Tokens(settings.tokens)

    def observe(seen: Seen) -> None:
        served.metrics.request(seen)
        log_request(seen)

    by_path: defaultdict[str, list[Endpoint]] = defaultdict(list)
    every = (*endpoints, document_endpoint(endpoints))
    for endpoint in every:
        by_path[endpoint.path].append(endpoint)
    routes = [_route(path, found, served, tokens) for path, found in by_path.items()]
    app = Starlette(routes=[*routes, *more], exception_handlers={HTTPException: _answer_routing})
    app.router.redirect_slashes = False
    app.state.endpoints = every
    app.state.served = served
    app.state.tokens = tokens
    app.state.settings = settings
    app.add_middleware(Direct, endpoints=every, served=served, tokens=tokens)
    app.add_middleware(Guard, served=served, settings=settings, tokens=tokens, observe=observe)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID", "Last-Event-ID"],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    return app


class Direct:
    """ASGI middleware that answers endpoints whose path has no parameter: most requests need no search for a route."""

    def __init__(self, app: ASGIApp, endpoints: Sequence[Endpoint], served: Served, tokens: Tokens) -> None:
        self._app = app
        self._served = served
        self._tokens = tokens
        self._endpoints = {(one.path, one.method): one for one in endpoints if "{" not in one.path}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        endpoint = self._endpoints.get((scope["path"], scope["method"])) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        # As the router leaves it: the log and the metrics name the route.
        scope["route"] = endpoint
        await _answer(endpoint, await _run(endpoint, scope, receive, self._served, self._tokens), send)


def problem_response(error: Exception, request_id: str) -> Response:
    """An error as the response that it is answered with."""
    problem = problem_of(error)
    content = msgspec.json.encode(document_of(problem, request_id))
    return Response(content, problem.status, problem.headers, PROBLEM_JSON)


def _route(path: str, endpoints: Sequence[Endpoint], served: Served, tokens: Tokens) -> Route:
    return Route(path, _Endpoints(endpoints, served, tokens), methods=sorted(one.method for one in endpoints))


class _Endpoints:
    """The endpoints of one path, as an ASGI application."""

    def __init__(self, endpoints: Sequence[Endpoint], served: Served, tokens: Tokens) -> None:
        self._by_method = {endpoint.method: endpoint for endpoint in endpoints}
        self._served = served
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._by_method["GET" if scope["method"] == "HEAD" else scope["method"]]
        await _answer(endpoint, await _run(endpoint, scope, receive, self._served, self._tokens), send)


async def _run(endpoint: Endpoint, scope: Scope, receive: Receive, served: Served, tokens: Tokens) -> Any:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    state = scope["state"]
    caller = ANYBODY
    if endpoint.scope is not None:
        caller = tokens.caller(bearer(headers))
        state["caller"] = caller.name
        require(caller, endpoint.scope)
    if not endpoint.always:
        check_ready(served)
    call = Call(
        served=served,
        caller=caller,
        request_id=state["request_id"],
        method=scope["method"],
        path=path_of(scope),
        query=raw_query_of(scope) if endpoint.raw else query_of(scope, endpoint.query),
        body=await _body(endpoint, headers, receive),
        headers=headers,
        departure=state.get("departure") or Departure(),
    )
    return await endpoint.run(call)


async def _body(endpoint: Endpoint, headers: Mapping[str, str], receive: Receive) -> Any:
    if endpoint.raw:
        return await content_of(receive)
    if endpoint.body is None:
        return None
    check_media_type(headers)
    return body_of(await content_of(receive), endpoint.body)


async def _answer(endpoint: Endpoint, answer: Any, send: Send) -> None:
    status, media_type, more = endpoint.status, endpoint.media_type, list[tuple[bytes, bytes]]()
    if isinstance(answer, Reply):
        status, media_type = answer.status or status, answer.media_type or media_type
        more = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers.items()]
        answer = answer.answer
    content = _content(endpoint, answer)
    headers = [(b"content-length", b"%d" % len(content)), (b"content-type", media_type.encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _content(endpoint: Endpoint, answer: Any) -> bytes:
    if endpoint.raw:
        return answer
    return msgspec.json.encode(answer) if endpoint.media_type == JSON else answer.encode()


def _answer_routing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        detail = f"The method {request.method} is not possible here."
        problem = Problem(405, "method-not-allowed", detail, headers=dict(error.headers or {}))
    else:
        problem = nothing_here()
    return problem_response(problem, request.state.request_id)
