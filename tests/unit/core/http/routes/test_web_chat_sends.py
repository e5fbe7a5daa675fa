"""Messages to people of the web chat that no message of theirs caused: sends of clients, and heartbeats."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.chat import web_chat
from tests.support.http import Api
from trunkline.core.errors import InvalidSend
from trunkline.core.sends.api import SendMessage

pytestmark = pytest.mark.anyio

HEARTBEAT = [{"id": "main", "heartbeat": {"every": "1h", "target": "webchat", "to": "user:ana"}}]


async def mailbox(one: Api, wait: float = 0) -> list[tuple[str, str]]:
    """Conversation and text of each message."""
    found = await one.http.get("/v1/chat/outbox", params={"channel": "webchat", "wait": wait})
    assert found.status_code == 200, found.text
    return [(message["address"]["conversation"], message["text"]) for message in found.json()["messages"]]


async def test_clients_send_to_a_web_chat_that_is_served(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        body = {"key": "k1", "channel": "webchat", "to": "user:ana", "text": "by HTTP"}
        for cached in (False, True):
            sent = await one.http.post("/v1/messages", json=body)
            assert (sent.status_code, sent.json()["status"], sent.json()["cached"]) == (200, "delivered", cached)
        outcome = await one.served.gateway.send(
            SendMessage(key="k2", channel="webchat", to="user:ben", text="in process")
        )
        assert outcome.status == "delivered"
        assert await mailbox(one) == [("ana", "by HTTP"), ("ben", "in process")]


async def test_a_heartbeat_reaches_the_web_chat(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db", agents=HEARTBEAT) as one:
        assert (await one.http.post("/v1/agents/main/heartbeat", json={})).status_code < 300
        with anyio.fail_after(20):
            [(person, _)] = await mailbox(one, wait=15)
        assert person == "ana"


@pytest.mark.parametrize("profile", ["openclaw", "openclaw-2026-08"])
async def test_upstream_profiles_send_nothing_to_it(tmp_path: Path, profile: str) -> None:
    config: dict[str, Any] = {"profile": profile, "agents": HEARTBEAT}
    async with web_chat(tmp_path / "gateway.db", **config) as one:
        body = {"key": "k1", "channel": "webchat", "to": "user:ana", "text": "by HTTP"}
        refused = await one.http.post("/v1/messages", json=body)
        assert (refused.status_code, refused.json()["reason"]) == (422, "unknown-channel")
        with pytest.raises(InvalidSend, match="internal"):
            await one.served.gateway.send(SendMessage(key="k2", channel="webchat", to="user:ben", text="in process"))
        await one.http.post("/v1/agents/main/heartbeat", json={})
        assert await mailbox(one, wait=0.5) == []
