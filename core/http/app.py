"""The application: endpoints and further routes behind one set of guards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from trunkline.core.http.api import ENDPOINTS
from trunkline.core.http.auth import Tokens, bearer, require
from trunkline.core.http.clients import ANYBODY, Disconnect
from trunkline.core.http.endpoint import JSON, Call, Endpoint, Reply
from trunkline.core.http.guard.guard import Guard
from trunkline.core.http.openapi import document_endpoint
from trunkline.core.http.problems import PROBLEM_JSON, document_of, method_not_allowed, not_found
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
    every = (*endpoints, document_endpoint(endpoints))
    app = Starlette(routes=more, exception_handlers={HTTPException: _answer_routing})
    app.router.redirect_slashes = False
    app.state.endpoints = every
    app.state.served = served
    app.state.tokens = tokens
    app.state.settings = settings
    app.add_middleware(EndpointTable, endpoints=every, served=served, tokens=tokens)
    app.add_middleware(Guard, served=served, settings=settings, tokens=tokens)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID", "Last-Event-ID"],
            expose_headers=["X-Request-ID", "Retry-After"],
        )
    return app


class EndpointTable:
    """ASGI middleware that answers the endpoints, which it finds by path and method. Other paths are passed on."""

    def __init__(self, app: ASGIApp, endpoints: Sequence[Endpoint], served: Served, tokens: Tokens) -> None:
        self._app = app
        self._served = served
        self._tokens = tokens
        #: path template -> method -> endpoint
        self._table: dict[str, dict[str, Endpoint]] = {}
        #: the templates with parameters, by their number of segments
        self._templates: dict[int, list[tuple[str, list[str]]]] = {}
        for endpoint in endpoints:
            self._table.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        for template in self._table:
            if "{" in template:
                segments = template.split("/")
                self._templates.setdefault(len(segments), []).append((template, segments))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on. Raises `Problem` 405 for a path whose endpoints have other methods."""
        endpoint = self._find(scope) if scope["type"] == "http" else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        await _answer(endpoint, await _run(endpoint, scope, receive, self._served, self._tokens), send)

    def _find(self, scope: Scope) -> Endpoint | None:
        """The endpoint of a request. Notes it and the parameters of the path in the scope, as a router does."""
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        others: dict[str, Endpoint] = {}
        for template, parameters in self._matching(scope["path"]):
            by_method = self._table[template]
            if (found := by_method.get(method)) is not None:
                scope["route"], scope["path_params"] = found, parameters
                return found
            others = others or by_method
        if not others:
            return None
        scope["route"] = next(iter(others.values()))
        allowed = {*others, "HEAD"} if "GET" in others else set(others)
        raise method_not_allowed(scope["method"], ", ".join(sorted(allowed)))

    def _matching(self, path: str) -> Iterator[tuple[str, dict[str, str]]]:
        """The templates that a path matches, with the values of their parameters; first one without parameters."""
        if path in self._table and "{" not in path:
            yield path, {}
        segments = path.split("/")
        for template, names in self._templates.get(len(segments), ()):
            pairs = list(zip(names, segments, strict=True))
            if all(value if name.startswith("{") else value == name for name, value in pairs):
                yield template, {name.strip("{}"): value for name, value in pairs if name.startswith("{")}


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
        operated=served.operated,
        caller=caller,
        request_id=state["request_id"],
        method=scope["method"],
        path=path_of(scope),
        query=raw_query_of(scope) if endpoint.raw else query_of(scope, endpoint.query),
        body=await _body(endpoint, headers, receive),
        headers=headers,
        disconnect=state.get("disconnect") or Disconnect(),
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
    """Answer a path that no route has, and a method that its route does not have."""
    assert isinstance(error, HTTPException)
    problem = method_not_allowed(request.method, error.headers["Allow"]) if error.headers else not_found()
    content = msgspec.json.encode(document_of(problem, request.state.request_id))
    return Response(content, problem.status, problem.headers, PROBLEM_JSON)
