"""schemathesis asks everything that the OpenAPI document allows, and much that it forbids."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import Case, GenerationMode, checks
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests.support.http import authorised
from tests.support.http_thread import api_on_thread
from tests.support.notes_api import Note, Notes
from tests.support.scale import run_all
from trunkline.core.http.api import ENDPOINTS
from trunkline.core.http.endpoint import Call, Endpoint, Scope
from trunkline.core.http.openapi import document, document_endpoint

EVERY = (*ENDPOINTS, document_endpoint(ENDPOINTS))
EXAMPLES = 60 if run_all() else 12
#: of what is allowed; that it is also taken depends on what the store holds
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.unsupported_method,
    checks.allow_header_conformance,
]
#: of what is forbidden
REFUSING = [*CHECKS, checks.negative_data_rejection]


def name_of(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with api_on_thread(tmp_path_factory.mktemp("schemathesis") / "gateway.db") as url:
        yield url


@pytest.fixture(scope="module")
def schema(base: str) -> OpenApiSchema:
    return schemathesis.openapi.from_url(f"{base}/openapi.json")


def ask(schema: OpenApiSchema, base: str, endpoint: Endpoint, mode: GenerationMode) -> None:
    """Ask an endpoint many things; a wrong answer raises."""
    operation = schema[endpoint.path][endpoint.method]
    wanted = REFUSING if mode is GenerationMode.NEGATIVE else CHECKS

    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        phases=[Phase.explicit, Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case: Case) -> None:
        case.call_and_validate(base_url=base, headers=authorised(), checks=wanted, timeout=20)

    one()


@pytest.mark.parametrize("endpoint", EVERY, ids=name_of)
def test_what_is_allowed_is_answered_as_the_document_says(schema: OpenApiSchema, base: str, endpoint: Endpoint) -> None:
    ask(schema, base, endpoint, GenerationMode.POSITIVE)


@pytest.mark.parametrize("endpoint", [one for one in EVERY if one.query or one.body], ids=name_of)
def test_what_is_forbidden_is_refused(schema: OpenApiSchema, base: str, endpoint: Endpoint) -> None:
    ask(schema, base, endpoint, GenerationMode.NEGATIVE)


def test_a_wrong_answer_would_be_found(tmp_path: Path) -> None:
    async def lie(call: Call) -> object:
        return {"text": 7}

    async def fail(call: Call) -> object:
        raise ZeroDivisionError

    path = "/v1/wrong"
    wrong = (
        Endpoint(method="GET", path=path, scope=Scope.READ, summary="Lie", run=lie, answer=Note),
        Endpoint(method="POST", path=path, scope=Scope.READ, summary="Fail", run=fail, body=Note, answer=Note),
    )
    with api_on_thread(tmp_path / "gateway.db", endpoints=wrong) as url:
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        for endpoint in wrong:
            with pytest.raises(FailureGroup):
                ask(schema, url, endpoint, GenerationMode.POSITIVE)


ANSWERING = [one for one in Notes().endpoints() if one.path != "/v1/wait"]


@pytest.mark.parametrize("endpoint", ANSWERING, ids=name_of)
def test_endpoints_without_a_subject_hold_too(tmp_path: Path, endpoint: Endpoint) -> None:
    with api_on_thread(tmp_path / "gateway.db", endpoints=(endpoint,)) as url:
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            ask(schema, url, endpoint, mode)


def test_the_document_is_the_one_of_all_endpoints(schema: OpenApiSchema) -> None:
    assert set(schema.raw_schema["paths"]) == {endpoint.path for endpoint in EVERY}
    assert json.loads(json.dumps(document(EVERY))) == schema.raw_schema


def test_names_of_operations_are_unique(schema: OpenApiSchema) -> None:
    ids = [one["operationId"] for path in schema.raw_schema["paths"].values() for one in path.values()]
    assert len(ids) == len(set(ids))
