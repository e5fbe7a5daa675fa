"""Bindings over HTTP, of conversations of a mailbox account: made once, followed by what people write, and ended."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.chat import say, texts, web_chat
from tests.support.http import Api
from tests.support.small_gateway import Echo
from trunkline import Turn

pytestmark = pytest.mark.anyio

BEN = {"channel": "webchat", "account_id": "default", "conversation_id": "user:ben"}


async def bind(one: Api, status: int = 200, **fields: Any) -> dict[str, Any]:
    answer = await one.http.post("/v1/bindings", json={"conversation": BEN, **fields})
    assert answer.status_code == status, answer.text
    return answer.json()


async def listed(one: Api, **query: Any) -> list[tuple[str, str]]:
    answer = await one.http.get("/v1/bindings", params=query)
    assert answer.status_code == 200, answer.text
    return [(row["binding_id"], row.get("status", "active")) for row in answer.json()["rows"]]


async def test_a_bound_conversation_is_answered_in_its_place_by_the_session_it_is_bound_to(tmp_path: Path) -> None:
    sessions: dict[str, str] = {}

    async def act(turn: Turn) -> str:
        sessions[turn.text] = turn.session_id
        return f"you said {turn.text}"

    async with web_chat(tmp_path / "gateway.db", agent=Echo(act)) as one:
        ana = (await say(one, "hello", wait=True)).json()
        made = await bind(one, target_session_key=ana["session_key"], label="together")
        assert made["conversation"]["conversation"] == "ben"
        said = await say(one, "me too", by="ben", wait=True)
        assert texts(said) == ["you said me too"]
        found = said.json()
        assert (found["session_id"], found["route"]["matched_by"]) == (ana["session_id"], "binding.session")
        assert found["outbound_payloads"][0]["address"]["conversation"] == "ben", "in its place"
        assert sessions["me too"] == sessions["hello"]
        outbox = await one.http.get("/v1/chat/outbox", params={"channel": "webchat", "conversation": "ana"})
        assert [message["text"] for message in outbox.json()["messages"]] == ["you said hello"]

    async with web_chat(tmp_path / "gateway.db", agent=Echo(act)) as one:
        assert await listed(one) == [(made["binding_id"], "active")], "after a restart"
        assert (await say(one, "still", "m2", by="ben", wait=True)).json()["session_id"] == ana["session_id"]
        ended = await one.http.delete(f"/v1/bindings/{made['binding_id']}", params={"reason": "ben has left"})
        assert (ended.status_code, ended.json()["status"]) == (200, "ended")
        assert await listed(one) == []
        assert await listed(one, ended="true") == [(made["binding_id"], "ended")]
        alone = (await say(one, "alone", "m3", by="ben", wait=True)).json()
        assert (alone["session_id"] == ana["session_id"], alone["route"]["matched_by"]) == (False, "default")
        again = await one.http.delete(f"/v1/bindings/{made['binding_id']}")
        assert (again.status_code, again.json()["type"].rpartition(":")[2]) == (409, "illegal-transition")


async def test_a_request_that_is_repeated_makes_one_binding(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        key = (await say(one, wait=True)).json()["session_key"]
        first = await bind(one, target_session_key=key, request="r1")
        assert await bind(one, target_session_key=key, request="r1") == first
        assert await bind(one, target_session_key=key) == first, "it is bound so already"
        await one.http.delete(f"/v1/bindings/{first['binding_id']}")
        assert (await bind(one, target_session_key=key, request="r1"))["binding_id"] == first["binding_id"]
        assert await listed(one) == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"placement": "child"}, "binding-capability-unsupported"),
        ({"target_session_key": "main:webchat:default:direct:nobody"}, "unknown-session"),
        ({"target_session_key": "nobody:main"}, "unknown-session"),
        ({"conversation": {**BEN, "channel": "slack"}}, "binding-adapter-unavailable"),
        ({"conversation": {**BEN, "account_id": "other"}}, "binding-adapter-unavailable"),
        ({"target_kind": "acp"}, "unsupported"),
    ],
)
async def test_what_cannot_be_bound_is_refused_and_nothing_is_stored(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        key = (await say(one, wait=True)).json()["session_key"]
        refused = await bind(one, 409, **{"target_session_key": key, **fields})
        assert (refused["type"].rpartition(":")[2], refused["reason"]) == ("binding-refused", reason)
        assert await listed(one, ended="true") == []
