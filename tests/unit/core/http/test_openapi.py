"""The OpenAPI document: its references resolve, its schemas are schemas, and it says what each endpoint needs."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from tests.support.for_each import for_each
from tests.support.notes_api import Notes
from trunkline.core.http.app import ENDPOINTS, document, document_endpoint

EVERY = (*ENDPOINTS, document_endpoint(ENDPOINTS))
DOCUMENT = document(EVERY)


def walk(value: Any) -> Iterator[Any]:
    yield value
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inside:
        yield from walk(one)


def test_it_is_json() -> None:
    assert json.loads(json.dumps(DOCUMENT)) == DOCUMENT


def test_every_reference_resolves() -> None:
    references = {one["$ref"] for one in walk(DOCUMENT) if isinstance(one, dict) and isinstance(one.get("$ref"), str)}
    assert references
    for reference in references:
        found: Any = DOCUMENT
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]


@for_each("name", sorted(DOCUMENT["components"]["schemas"]))
def test_every_schema_is_a_schema(name: str) -> None:
    jsonschema_rs.meta.validate(DOCUMENT["components"]["schemas"][name])


@for_each("endpoint", EVERY, ids=lambda one: f"{one.method} {one.path}")
def test_an_endpoint_is_described(endpoint: Any) -> None:
    operation = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]
    assert operation["summary"] and operation["description"], "a handler says what it does"
    assert operation["tags"]
    assert operation["security"] == ([] if endpoint.scope is None else [{"token": [endpoint.scope.value]}])
    has_body = endpoint.body is not None or (endpoint.raw and endpoint.method == "POST")
    assert ("requestBody" in operation) == has_body
    assert {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"} == {
        part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")
    }
    problems = {
        status for status, one in operation["responses"].items() if "application/problem+json" in one["content"]
    }
    assert {"429", "default"} <= problems
    assert {"401", "403"} <= problems or endpoint.scope is None


def test_a_query_is_described_without_null() -> None:
    notes = document(Notes().endpoints())
    found = {one["name"]: one for one in notes["paths"]["/v1/notes"]["get"]["parameters"]}
    assert found["by"]["schema"] == {"type": "string"}
    assert found["limit"]["schema"]["type"] == "integer"
    assert found["tag"]["schema"]["type"] == "array"
    assert not found["tag"]["required"]
