"""The application: endpoints and further routes behind one set of guards."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from trunkline.core import VERSION
from trunkline.core.declared import values_in
from trunkline.core.http import routes
from trunkline.core.http.auth import Tokens, bearer, require
from trunkline.core.http.clients import ANYBODY, Disconnect
from trunkline.core.http.clients import Scope as Access
from trunkline.core.http.endpoint import JSON, Call, Endpoint, Reply
from trunkline.core.http.guard import Guard
from trunkline.core.http.problems import PROBLEM_JSON, ProblemDocument, method_not_allowed, not_found
from trunkline.core.http.requests import body_of, check_media_type, content_of, path_of, query_of, raw_query_of
from trunkline.core.http.routes.health import check_ready
from trunkline.core.http.served import Served
from trunkline.core.http.settings import HttpSettings

# The OpenAPI document (3.1), made of the endpoints and of the types that they name.

PATH = "/openapi.json"
_PARAMETER = re.compile(r"\{(\w+)\}")
_ANYTHING = "*/*"
_REF = "#/components/schemas/{name}"

Json = dict[str, Any]

_DESCRIPTION = """\
The API of a running Trunkline gateway. Fields are named as in its traces and its store; unknown fields are refused.
Errors are documents of `application/problem+json`: `type` names the kind, `reason` is a reason code where there is one.
"""

#: problems that many endpoints have
_WORDS = {
    400: "The request is malformed.",
    401: "No token, or an unknown one.",
    403: "The token lacks the scope, or the policy does not allow it.",
    404: "There is no such thing.",
    408: "The body came too slowly.",
    409: "Something else is stored already, or its state does not allow this.",
    410: "What the cursor points to is gone.",
    413: "The body is too large.",
    415: "The body is not JSON in UTF-8.",
    422: "A field or a parameter is unusable; `field` is its path.",
    429: "Too many requests; `Retry-After` is the time to wait, in seconds.",
    502: "A platform or an agent failed.",
    503: "The gateway waits for its store, or stops.",
}


def document_endpoint(endpoints: Sequence[Endpoint]) -> Endpoint:
    """The endpoint that answers the document of all endpoints, itself among them."""
    made: list[Json] = []

    async def openapi(call: Call) -> Json:
        """What a client can be generated from."""
        if not made:
            made.append(document([*endpoints, own]))
        return made[0]

    own = Endpoint(
        method="GET",
        path=PATH,
        scope=None,
        summary="This document",
        run=openapi,
        answer=dict[str, Any],
        always=True,
        tag="Health",
    )
    return own


def document(endpoints: Sequence[Endpoint]) -> Json:
    schemas = _Schemas(endpoints)
    paths: Json = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    made: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Trunkline",
            "version": VERSION,
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": heading} for heading in dict.fromkeys(endpoint.heading for endpoint in endpoints)],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of the gateway, with the scopes `read`, `send` and `operate`.",
                }
            },
        },
    }
    # As it is read: msgspec gives defaults as the values that they are in the structs.
    return msgspec.json.decode(msgspec.json.encode(made))


class _Schemas:
    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        types: list[Any] = [ProblemDocument]
        for endpoint in endpoints:
            types += [type_ for type_ in (endpoint.query, endpoint.body, endpoint.answer) if type_ is not None]
        schemas, self.components = msgspec.json.schema_components(types, ref_template=_REF)
        self._by_type = list(zip(types, schemas, strict=True))

    def of(self, wanted: Any) -> Json:
        """The schema of a type, or a reference to it."""
        return next(schema for known, schema in self._by_type if known is wanted)

    def resolved(self, wanted: Any) -> Json:
        """The schema of a type, without a reference at the top."""
        schema = self.of(wanted)
        return self.components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema


def _operation(endpoint: Endpoint, schemas: _Schemas) -> Json:
    name = endpoint.path.strip("/").removeprefix("v1/")
    operation: Json = {
        "operationId": re.sub(r"\W+", "_", f"{endpoint.method.lower()}_{name}").strip("_"),
        "summary": endpoint.summary,
        "description": _prose(endpoint.description or endpoint.run.__doc__ or ""),
        "responses": _responses(endpoint, schemas),
        "security": [] if endpoint.scope is None else [{"token": [endpoint.scope.value]}],
        "tags": [endpoint.heading],
    }
    if parameters := [*_path_parameters(endpoint), *_query_parameters(endpoint, schemas)]:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": schemas.of(endpoint.body)}}}
    elif endpoint.raw and endpoint.method != "GET":
        operation["requestBody"] = {"content": {_ANYTHING: {"schema": {}}}}
    return operation


def _responses(endpoint: Endpoint, schemas: _Schemas) -> Json:
    content: Json = {} if endpoint.answer is None else {endpoint.media_type: {"schema": schemas.of(endpoint.answer)}}
    if endpoint.raw:
        content = {_ANYTHING: {"schema": {}}}
    done: Json = {"description": "Done.", **({"content": content} if content else {})}
    problem: Json = {PROBLEM_JSON: {"schema": schemas.of(ProblemDocument)}}
    answers: Json = {str(status): done for status in (endpoint.status, *endpoint.also)}
    for status in _problem_statuses(endpoint):
        answers.setdefault(str(status), {"description": _WORDS.get(status, "A problem."), "content": problem})
    answers["default"] = {"description": "A problem.", "content": problem}
    return answers


def _problem_statuses(endpoint: Endpoint) -> list[int]:
    found = {429, *endpoint.problems}
    if not endpoint.always:
        found.add(503)
    if endpoint.scope is not None:
        found |= {401, 403}
    if "{" in endpoint.path:
        found |= {400, 404}
    if endpoint.query is not None:
        found |= {400, 422}
    if endpoint.body is not None:
        found |= {400, 408, 413, 415, 422}
    if endpoint.raw:
        found |= {400, 408, 413}
    return sorted(found)


def _path_parameters(endpoint: Endpoint) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _PARAMETER.findall(endpoint.path)
    ]


def _query_parameters(endpoint: Endpoint, schemas: _Schemas) -> list[Json]:
    if endpoint.query is None:
        return []
    schema = schemas.resolved(endpoint.query)
    required: list[str] = schema.get("required", [])
    fields: Json = schema.get("properties", {})
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _not_null(field)}
        for name, field in fields.items()
    ]


def _not_null(schema: Json) -> Json:
    """The schema without null, which no query can write."""
    if "anyOf" not in schema:
        return schema
    kinds = [kind for kind in schema["anyOf"] if kind != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name != "anyOf" and (name, value) != ("default", None)}
    return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _prose(text: str) -> str:
    return " ".join(line.strip() for line in text.strip().splitlines())


# All endpoints of the HTTP API, by path: each that a module of `core/http/routes/` has a name for.
#
# To add one: a handler below its declaration there, and a row in the table of the authorisation test
# (`tests/unit/core/http/test_authorisation.py`). Table of paths, checks of scopes and bodies, and the document follow;
# of a `Verb` also the HTTP client of the commands, and what they do with a store file. Types of queries and bodies
# forbid unknown fields.
#
# Streams, pages and WebSockets are Starlette routes, passed to `build_app` as `more`.

ENDPOINTS: tuple[Endpoint, ...] = tuple(
    sorted(values_in(routes.__path__, routes.__name__, Endpoint), key=lambda found: (found.path, found.method))
)


def build_app(
    served: Served, settings: HttpSettings, *, endpoints: Sequence[Endpoint] = ENDPOINTS, more: Sequence[BaseRoute] = ()
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
        require(caller, endpoint.scope, endpoint.reach)
    if not endpoint.always:
        check_ready(served)
        if endpoint.method != "GET" and endpoint.scope is not Access.READ:
            served.check_writable()
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


def _answer_routing(request: Request, error: Exception) -> NoReturn:
    """Raise the problem of a path without a route, or of a method unknown to the route."""
    assert isinstance(error, HTTPException)
    raise method_not_allowed(request.method, error.headers["Allow"]) if error.headers else not_found()
