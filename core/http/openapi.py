"""The OpenAPI document (3.1), made of the endpoints and of the types that they name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from trunkline.core.http.endpoint import JSON, Call, Endpoint
from trunkline.core.http.problems import PROBLEM_JSON, ProblemDocument

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
    """The document."""
    schemas = _Schemas(endpoints)
    paths: Json = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    made: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Trunkline",
            "version": _version(),
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
    """The schema of each type that an endpoint names."""

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
        """The schema of a type, without a reference at its top."""
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


def _version() -> str:
    try:
        return version("trunkline")
    except PackageNotFoundError:
        return "0"
