"""How requests are read: paths, queries, media types and bodies."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.http import Api, api
from tests.support.notes_api import Notes
from trunkline.core.http.app import ENDPOINTS

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
async def one(tmp_path: Path, notes: Notes) -> AsyncGenerator[Api]:
    async with api(tmp_path / "gateway.db", endpoints=notes.endpoints()) as found:
        yield found


async def post(one: Api, content: bytes, **headers: str) -> tuple[int, str, Any]:
    answer = await one.http.post("/v1/notes", content=content, headers={**JSON, **headers})
    said = answer.json()
    return answer.status_code, said.get("type", "").rpartition(":")[2], said


async def test_a_body_is_decoded_and_answered(one: Api, notes: Notes) -> None:
    status, _, said = await post(one, b'{"text": "hello", "by": {"name": "Ana"}}')
    assert (status, said) == (200, {"text": "hello", "by": {"name": "Ana", "age": None}, "tags": []})
    assert [note.text for note in notes.kept] == ["hello"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"text": "x"} more',
        b'{"text": "\xff\xfe"}',
        b'{"text": "\x00"}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        "{'text': 'x'}".encode("utf-16"),
        b'\xef\xbb\xbf{"text": "x"}',
    ],
    ids=lambda content: repr(content[:12]),
)
async def test_what_is_no_json_is_refused(one: Api, notes: Notes, content: bytes) -> None:
    status, kind, said = await post(one, content)
    assert status in (400, 422), said
    assert kind in ("invalid-json", "invalid-body")
    assert notes.kept == []


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"{}", "$"),
        (b"[]", "$"),
        (b"null", "$"),
        (b'{"text": 7}', "$.text"),
        (b'{"text": null}', "$.text"),
        (b'{"text": "x", "more": 1}', "$"),
        (b'{"text": "x", "by": {"name": 7}}', "$.by.name"),
        (b'{"text": "x", "by": {"name": "A", "nam": 7}}', "$.by"),
        (b'{"text": "x", "tags": ["a", 2]}', "$.tags[1]"),
        (b'{"text": "x", "by": {"name": "A", "age": 1e400}}', "$.by.age"),
    ],
)
async def test_a_wrong_field_is_named(one: Api, notes: Notes, content: bytes, field: str) -> None:
    status, kind, said = await post(one, content)
    assert (status, kind) == (422, "invalid-body"), said
    assert said["field"] == field
    assert notes.kept == []


@pytest.mark.parametrize(
    "media_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/json; charset=utf-16",
        "application/jsonx",
    ],
)
async def test_another_media_type_is_refused(one: Api, notes: Notes, media_type: str) -> None:
    status, kind, _ = await post(one, b'{"text": "x"}', **{"Content-Type": media_type})
    assert (status, kind, notes.kept) == (415, "unsupported-media-type", [])


@pytest.mark.parametrize(
    "media_type", ["Application/JSON", "application/json;charset=UTF-8", 'application/json; charset="utf-8"']
)
async def test_json_in_utf_8_is_taken(one: Api, media_type: str) -> None:
    assert (await post(one, b'{"text": "x"}', **{"Content-Type": media_type}))[0] == 200


async def test_a_compressed_body_is_refused(one: Api, notes: Notes) -> None:
    assert (await post(one, b"\x1f\x8b", **{"Content-Encoding": "gzip"}))[:2] == (415, "unsupported-media-type")
    assert notes.kept == []


async def test_a_query_is_decoded(one: Api) -> None:
    answer = await one.http.get("/v1/notes?tag=a&tag=b%2Fc&limit=3&by=J%C3%B6rg+M")
    assert answer.json()["query"] == {"tag": ["a", "b/c"], "limit": 3, "by": "Jörg M"}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("limit=x", 422),
        ("limit=", 422),
        ("limit=1&limit=2", 422),
        ("limitt=1", 422),
        ("limit=1e99", 422),
        ("by=%FF", 400),
        ("%FF=1", 400),
        ("&&&", 422),
        ("=", 422),
    ],
)
async def test_an_unusable_query_is_refused(one: Api, query: str, status: int) -> None:
    answer = await one.http.get(f"/v1/notes?{query}")
    assert answer.status_code == status, answer.text
    assert answer.json()["type"].rpartition(":")[2] in ("invalid-query", "not-utf-8")


async def test_an_endpoint_without_parameters_takes_none(one: Api) -> None:
    assert (await one.http.get("/v1/notes/x?limit=1")).status_code == 422


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("x", "x"),
        ("a%2Fb", "a/b"),
        ("a%20b", "a b"),
        ("main:discord:100", "main:discord:100"),
        ("%C3%B6", "ö"),
        ("a+b", "a+b"),
    ],
)
async def test_a_parameter_of_a_path_is_decoded(one: Api, path: str, name: str) -> None:
    assert (await one.http.get(f"/v1/notes/{path}")).json() == name


async def test_a_path_that_is_not_utf_8_is_refused(one: Api) -> None:
    assert (await one.http.get("/v1/notes/%FF")).status_code == 400


@pytest.mark.parametrize(
    ("path", "status"), [("/v1/notes/", 404), ("/v1//notes", 404), ("/nothing", 404), ("/v1/notes/a/b", 404)]
)
async def test_other_addresses_are_not_found(one: Api, path: str, status: int) -> None:
    answer = await one.http.get(path)
    assert (answer.status_code, answer.json()["status"]) == (status, status)
    assert answer.headers["content-type"] == "application/problem+json"


async def test_another_method_is_not_allowed(one: Api) -> None:
    answer = await one.http.delete("/v1/notes/x")
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


async def test_a_path_of_two_templates_goes_to_the_one_that_has_the_method(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db") as found:
        shown = await found.http.get("/v1/queue/retry")
        assert (shown.status_code, shown.json()["detail"]) == (404, "Unknown name: no intent 'retry'")
        assert (await found.http.post("/v1/queue/retry", json={"intents": ["x"]})).json()["detail"].endswith("'x'")
        refused = await found.http.delete("/v1/queue/retry")
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        assert (await found.http.head("/v1/queue")).status_code == 200


async def test_both_methods_of_a_path_are_named(one: Api) -> None:
    answer = await one.http.put("/v1/notes")
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})


@pytest.mark.parametrize(
    ("name", "status", "kind"),
    [
        ("store", 503, "store-unavailable"),
        ("lease", 503, "standby"),
        ("unknown", 404, "unknown-name"),
        ("other", 500, "internal-error"),
        ("defect", 500, "internal-error"),
        ("gone", 410, "gone"),
        ("group", 404, "unknown-name"),
    ],
)
async def test_an_error_of_an_endpoint_is_a_problem(one: Api, name: str, status: int, kind: str) -> None:
    answer = await one.http.get(f"/v1/notes/{name}", headers={"X-Request-ID": "id-7"})
    said = answer.json()
    assert (answer.status_code, said["status"], said["type"]) == (status, status, f"urn:trunkline:problem:{kind}")
    assert said["request_id"] == answer.headers["x-request-id"] == "id-7"
    assert ("retry-after" in answer.headers) == (status == 503)
    assert "secret detail" not in answer.text


async def test_an_endpoint_answers_with_another_status(one: Api) -> None:
    answer = await one.http.get("/v1/notes/accepted")
    assert (answer.status_code, answer.headers["location"]) == (202, "/v1/notes/x")


@pytest.mark.parametrize("given", ["a" * 129, "a b", "", "x\ty", "é"])
async def test_an_odd_request_id_is_replaced(one: Api, given: str) -> None:
    answer = await one.http.get("/v1/notes/x", headers={b"X-Request-ID": given.encode()})
    assert answer.headers["x-request-id"].startswith("request-")


def is_of_the_core(cls: type) -> bool:
    """Whether it is a value that is stored too; its unknown fields are refused where a body is read."""
    return cls.__module__.startswith("trunkline.core.") and not cls.__module__.startswith("trunkline.core.http.")


def forbidding(type_: Any) -> list[str]:
    """The structs in a type that take unknown fields."""
    found: list[str] = []
    todo = list(msgspec.inspect.multi_type_info([type_]))
    seen: set[type] = set()
    while todo:
        info = todo.pop()
        if isinstance(info, msgspec.inspect.StructType):
            if info.cls in seen:
                continue
            seen.add(info.cls)
            if not info.forbid_unknown_fields and not is_of_the_core(info.cls):
                found.append(info.cls.__name__)
            todo += [field.type for field in info.fields]
        elif isinstance(info, msgspec.inspect.UnionType):
            todo += info.types
        elif isinstance(info, msgspec.inspect.CollectionType):
            todo.append(info.item_type)
        elif isinstance(info, msgspec.inspect.TupleType):
            todo += info.item_types
        elif isinstance(info, msgspec.inspect.DictType):
            todo.append(info.value_type)
    return found


async def test_every_body_and_query_refuses_unknown_fields() -> None:
    wrong = {
        f"{endpoint.method} {endpoint.path}": found
        for endpoint in ENDPOINTS
        for type_ in (endpoint.body, endpoint.query)
        if type_ is not None and (found := forbidding(type_))
    }
    assert wrong == {}


async def test_a_struct_that_takes_unknown_fields_is_found() -> None:
    class Open(msgspec.Struct):
        x: int

    assert forbidding(tuple[Open, ...]) == ["Open"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"to": {"channel": "discord", "account": "default", "kind": "direct", "conversation": "1", "odd": 1}}, "$.to"),
        ({"poll": {"question": "?", "options": ["a", "b"], "odd": 1}}, "$.poll"),
        ({"parts": {"buttons": [[{"text": "Yes", "odd": 1}]]}}, "$.parts.buttons[0][0]"),
    ],
)
async def test_an_unknown_field_inside_a_value_of_the_core_is_refused(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    async with api(tmp_path / "gateway.db") as one:
        body = {"key": "k", "channel": "discord", "to": "user:1", "text": "hello", "wait": False, **change}
        answer = await one.http.post("/v1/messages", json=body)
        assert (answer.status_code, answer.json().get("field")) == (422, field), answer.text
