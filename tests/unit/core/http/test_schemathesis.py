"""schemathesis asks everything that the OpenAPI document allows, and much that it forbids."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from schemathesis import Case, CheckContext, GenerationMode, Response, checks
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.schemas import OpenApiSchema

from tests.support.http import authorised
from tests.support.notes_api import Note, Notes
from tests.support.scale import run_all
from tests.support.served import api_on_thread, served_on_thread
from trunkline.core.http.app import ENDPOINTS, document, document_endpoint
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint

EVERY = (*ENDPOINTS, document_endpoint(ENDPOINTS))
EXAMPLES = 60 if run_all() else 8
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


def is_refused(context: CheckContext, response: Response, case: Case) -> bool | None:
    """What is forbidden is refused. So is, before all else, what is too long."""
    if response.status_code in (413, 414, 431):
        return None
    return checks.negative_data_rejection(context, response, case)


#: of what is forbidden
REFUSING = [*CHECKS, is_refused]


def name_of(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


#: a person to answer, a platform to send to, and a worker whose tasks wait
CONFIG = """
accounts: [{channel: webchat}, {channel: discord}]
agents: {main: {echo: {}}}
gateway: {hands: {each: {courier: {worker: true}}}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[httpx.Client]:
    state = tmp_path_factory.mktemp("schemathesis")
    config = state / "gateway.yaml"
    config.write_text(CONFIG)
    with served_on_thread(state, config) as client:
        yield client


@pytest.fixture(scope="module")
def schema(server: httpx.Client) -> OpenApiSchema:
    return schemathesis.openapi.from_url(f"{server.base_url}/openapi.json")


@pytest.fixture(scope="module")
def known(server: httpx.Client) -> dict[str, str]:
    """Values of path parameters that name something."""
    ana = {"kind": "direct", "id": "ana"}
    message = {"channel": "webchat", "peer": ana, "message_id": "m1", "text": "hello", "wait": 5}
    said = server.post("/v1/chat/inbound", json=message).json()
    bound = {"channel": "webchat", "account_id": "default", "conversation_id": "ben"}
    binding = server.post(
        "/v1/bindings", json={"target_session_key": said["session_key"], "conversation": bound}
    ).json()
    task = {"key": "k1", "hand": "courier", "task": "fetch it", "channel": "discord", "to": "user:100"}
    given = server.post("/v1/hands", json=task).json()
    return {
        "delegation": given["delegation"],
        "inbound": said["id"],
        "session": said["session_key"],
        "intent": said["outbound_payloads"][0]["intent_id"],
        "binding": binding.get("binding_id", "nothing"),
        "agent": "main",
    }


def ask(schema: OpenApiSchema, client: httpx.Client, endpoint: Endpoint, mode: GenerationMode, **path: str) -> None:
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
        # An empty list in the query is not sent at all, so what was forbidden about it is gone.
        assume(mode is GenerationMode.POSITIVE or not any(one in ([], {}, None) for one in (case.query or {}).values()))
        case.path_parameters.update(path)
        headers = {"Authorization": client.headers["Authorization"]}
        case.call_and_validate(base_url=str(client.base_url), headers=headers, checks=wanted, timeout=20)

    one()


@pytest.mark.parametrize("endpoint", EVERY, ids=name_of)
def test_what_is_allowed_is_answered_as_the_document_says(
    schema: OpenApiSchema, server: httpx.Client, endpoint: Endpoint
) -> None:
    ask(schema, server, endpoint, GenerationMode.POSITIVE)


@pytest.mark.parametrize("endpoint", [one for one in EVERY if "{" in one.path], ids=name_of)
def test_what_is_there_is_answered_as_the_document_says(
    schema: OpenApiSchema, server: httpx.Client, known: dict[str, str], endpoint: Endpoint
) -> None:
    names = re.findall(r"\{(\w+)\}", endpoint.path)
    ask(schema, server, endpoint, GenerationMode.POSITIVE, **{name: known.get(name, "nothing") for name in names})


@pytest.mark.parametrize("endpoint", [one for one in EVERY if one.query or one.body], ids=name_of)
def test_what_is_forbidden_is_refused(schema: OpenApiSchema, server: httpx.Client, endpoint: Endpoint) -> None:
    ask(schema, server, endpoint, GenerationMode.NEGATIVE)


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
        client = httpx.Client(base_url=url, headers=authorised())
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        for endpoint in wrong:
            with pytest.raises(FailureGroup):
                ask(schema, client, endpoint, GenerationMode.POSITIVE)


ANSWERING = [one for one in Notes().endpoints() if one.path != "/v1/wait"]


@pytest.mark.parametrize("endpoint", ANSWERING, ids=name_of)
def test_endpoints_without_a_subject_hold_too(tmp_path: Path, endpoint: Endpoint) -> None:
    with api_on_thread(tmp_path / "gateway.db", endpoints=(endpoint,)) as url:
        client = httpx.Client(base_url=url, headers=authorised())
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            ask(schema, client, endpoint, mode)


def test_the_document_is_the_one_of_all_endpoints(schema: OpenApiSchema) -> None:
    assert set(schema.raw_schema["paths"]) == {endpoint.path for endpoint in EVERY}
    assert json.loads(json.dumps(document(EVERY))) == schema.raw_schema


def test_names_of_operations_are_unique(schema: OpenApiSchema) -> None:
    ids = [one["operationId"] for path in schema.raw_schema["paths"].values() for one in path.values()]
    assert len(ids) == len(set(ids))
