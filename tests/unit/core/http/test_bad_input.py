"""Bad input at the front door: a typed problem, and nothing stored."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat import said, web_chat
from tests.support.http import Api, authorised
from trunkline.core.events.delivery import IntentSettled

pytestmark = pytest.mark.anyio

PATH = "/v1/chat/inbound"
JSON = {"Content-Type": "application/json"}
#: tables that a gateway writes by itself while it runs
OWN = {"meta", "lease", "sqlite_sequence"}


def stored(path: Path) -> dict[str, int]:
    """How many rows each table of a store has."""
    with closing(sqlite3.connect(path)) as raw:
        tables = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: raw.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in tables if name not in OWN}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "gateway.db"


@pytest.fixture
async def one(path: Path) -> AsyncGenerator[Api]:
    async with web_chat(path) as found:
        yield found


async def refused(one: Api, path: Path, status: int, kind: str, **request: Any) -> dict[str, Any]:
    """Post what is refused, and check that the store has not changed."""
    before = stored(path)
    answer = await one.http.post(PATH, **request)
    document = answer.json()
    assert (answer.status_code, document["type"]) == (status, f"urn:trunkline:problem:{kind}"), document
    assert answer.headers["content-type"] == "application/problem+json"
    assert document["status"] == status
    assert document["detail"]
    assert stored(path) == before, "something was stored"
    return document


async def test_a_good_message_is_stored(one: Api, path: Path) -> None:
    before = stored(path)
    answer = await one.http.post(PATH, json=said(wait=20))
    assert answer.status_code == 200
    assert stored(path) != before, "so the other tests would see it"


@pytest.mark.parametrize("secret", ["wrong", "", "token-with-every-scop", "token-with-every-scope "])
async def test_a_wrong_token(one: Api, path: Path, secret: str) -> None:
    if secret.strip() != "token-with-every-scope":
        await refused(one, path, 401, "unauthorized", json=said(), headers=authorised(secret))


async def test_no_token(one: Api, path: Path) -> None:
    await refused(one, path, 401, "unauthorized", json=said(), headers={"Authorization": ""})


async def test_a_token_that_may_not_send_is_refused_with_the_missing_scope(one: Api, path: Path) -> None:
    document = await refused(one, path, 403, "missing-scope", json=said(), headers=authorised("token-read"))
    assert document["scope"] == "send"


async def test_a_body_of_50_mb(one: Api, path: Path) -> None:
    await refused(one, path, 413, "body-too-large", json=said("x" * 50_000_000))


async def test_a_body_of_50_mb_without_a_length(one: Api, path: Path) -> None:
    async def pieces() -> AsyncGenerator[bytes]:
        yield b'{"text": "'
        for _ in range(800):
            yield b"x" * 65_536
        yield b'"}'

    await refused(one, path, 413, "body-too-large", content=pieces(), headers=JSON)


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
async def test_another_content_type(one: Api, path: Path, media_type: str) -> None:
    headers = {"Content-Type": media_type}
    await refused(one, path, 415, "unsupported-media-type", content=b"{}", headers=headers)


@pytest.mark.parametrize("content", [b"", b"{", b'{"channel": ', b"\xff\xfe{}", b'{"text": "\xc3"}', b"NaN"])
async def test_what_is_no_json(one: Api, path: Path, content: bytes) -> None:
    await refused(one, path, 400, "invalid-json", content=content, headers=JSON)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"peer": {"kind": "direct"}}, "$.peer"),
        ({"peer": {"kind": "crowd", "id": "1"}}, "$.peer.kind"),
        ({"text": None}, "$.text"),
        ({"message_id": ""}, "$.message_id"),
        ({"message_id": 7}, "$.message_id"),
        ({"txt": "hello"}, "$"),
        ({"wait": -1}, "$.wait"),
        ({"wait": 1e9}, "$.wait"),
        ({"media": "a.png"}, "$.media"),
        ({"peer": {"kind": "direct", "id": "x" * 5_000}}, "$.peer.id"),
    ],
)
async def test_an_unusable_field(one: Api, path: Path, change: dict[str, Any], field: str) -> None:
    document = await refused(one, path, 422, "invalid-body", json={**said(), **change})
    assert document["field"] == field


async def test_an_unknown_channel(one: Api, path: Path) -> None:
    await refused(one, path, 404, "unknown-channel", json=said(channel="carrier-pigeon"))


async def test_an_unknown_account(one: Api, path: Path) -> None:
    await refused(one, path, 404, "unknown-account", json=said(account="other"))


async def test_a_message_id_again_with_another_text(one: Api, path: Path) -> None:
    first = await one.http.post(PATH, json=said("hello", wait=20))
    await one.running.until(IntentSettled)
    await refused(one, path, 409, "message-id-reused", json=said("something else"))
    again = await one.http.post(PATH, json=said("hello"))
    assert (again.json()["id"], again.json()["duplicate"]) == (first.json()["id"], True)


@pytest.mark.parametrize("name", ["nothing", "%00", "a%2Fb"])
async def test_the_outcome_of_an_unknown_message(one: Api, name: str) -> None:
    answer = await one.http.get(f"{PATH}/{name}")
    assert (answer.status_code, answer.json()["type"]) == (404, "urn:trunkline:problem:unknown-inbound")
