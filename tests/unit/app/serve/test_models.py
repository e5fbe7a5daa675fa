"""A served gateway whose agent asks a scripted model, over HTTP: conversations, and models that misbehave."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.support.model_server import (
    Asked,
    Break,
    Hang,
    ModelServer,
    Reply,
    ends_early,
    fails,
    model_server,
    says,
    tool_call,
    wants,
)
from tests.support.prometheus_text import read
from trunkline.app.serve.server import Serving, serving
from trunkline.app.serve.settings import Overrides, load_settings

pytestmark = pytest.mark.anyio

NOTICE = "Sorry, that did not work."
FILE = """\
gateway:
  agents: [{{id: main, prompt: BASE}}]
  channels: {{webchat: {{prompt: CHANNEL}}}}
  hands: {{prompt: CALLBACK, each: {{archive: {{worker: true, deadline: 1h}}}}}}
  tools: {{message: {{cross_context: {{allow_across_providers: true}}}}}}
  turns: {{error_notice: "Sorry, that did not work."}}
agents:
  main: {{openai: {{model: m, base_url: "{url}", retries: 0, silence: {silence}, timeout: 20s, max_calls: 5}}}}
  helper: {{echo: {{}}}}
accounts: [{{channel: webchat}}, {{channel: discord}}]
"""
LIST = wants(tool_call("agent_list"))


class Talk:
    """A served gateway, and a client with every scope."""

    def __init__(self, server: Serving, http: httpx.AsyncClient, model: ModelServer) -> None:
        self.server = server
        self.http = http
        self.model = model
        self._said = 0

    async def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = await self.http.request(method, path, **more)
        assert answer.status_code in (200, 202), answer.text
        return answer.json()

    async def say(self, text: str, *, peer: str = "ana", wait: float | bool = True) -> Any:
        """Somebody writes in the web chat; what became of it."""
        self._said += 1
        body = {"channel": "webchat", "peer": {"kind": "direct", "id": peer}, "message_id": f"m-{self._said}"}
        return await self.ask("POST", "/v1/chat/inbound", json={**body, "text": text, "wait": wait})


def texts(answer: Any) -> list[str]:
    return [one["text"] for one in answer["outbound_payloads"]]


@asynccontextmanager
async def talking(folder: Path, *script: Reply, silence: str = "20s") -> AsyncGenerator[Talk]:
    path = folder / "gateway.yaml"
    async with model_server(script) as model:
        path.write_text(FILE.format(url=model.url, silence=silence))
        settings = load_settings(path, state=folder / "state", overrides=Overrides(port=0), environ={})
        async with serving(settings) as server:
            headers = {"Authorization": f"Bearer {server.token}"}
            async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=60, trust_env=False) as http:
                with anyio.fail_after(30):
                    while not server.gateway.serving:  # noqa: ASYNC110 (the gateway has no event for it)
                        await anyio.sleep(0.01)
                yield Talk(server, http, model)


@pytest.mark.slow
async def test_a_model_writes_to_the_people_of_a_bridge(tmp_path: Path) -> None:
    send = {"action": "send", "channel": "discord", "target": "user:77", "message": "Ana asks for you."}
    async with talking(tmp_path, wants(tool_call("message", send)), says("I have told them.")) as talk:
        answer = await talk.say("tell 77")
        assert sorted(texts(answer)) == ["Ana asks for you.", "I have told them."]
        assert answer["complete"] is True
        box = await talk.ask("GET", "/v1/chat/outbox?channel=discord&wait=20")
        assert [(one["address"]["conversation"], one["text"]) for one in box["messages"]] == [
            ("77", "Ana asks for you.")
        ]


async def test_the_work_of_a_worker_comes_back_in_a_turn_with_every_prompt(tmp_path: Path) -> None:
    script = [
        wants(tool_call("agent_send_async", {"agent_id": "archive", "message": "find the letter"})),
        says("The archive looks for it."),
        says("It is of 1899."),
    ]
    async with talking(tmp_path, *script) as talk:
        first = await talk.say("where is the letter?", wait=0)
        with anyio.fail_after(30):
            while (taken := await talk.ask("POST", "/v1/hands/take", json={"hand": "archive"}))["task"] is None:  # noqa: ASYNC110
                await anyio.sleep(0.02)
        task = taken["task"]
        assert task["task"] == "find the letter"
        answer = {"text": "box 9, of 1899", "ticket": task["ticket"]}
        assert (await talk.ask("POST", f"/v1/hands/{task['delegation']}/answer", json=answer))["first"] is True
        done = await talk.ask("GET", f"/v1/chat/inbound/{first['id']}?wait=30")
        assert texts(done) == ["The archive looks for it.", "It is of 1899."]
        assert (done["complete"], done["delegations"]) == (True, [])
        asked = talk.model.asked
        assert asked[0].messages[0]["content"] == "BASE\n\nCHANNEL"
        assert asked[2].messages[0]["content"] == "BASE\n\nCHANNEL\n\nCALLBACK"
        assert "archive wrote:\noutcome: ok\n" in asked[2].messages[-1]["content"]


async def test_another_agent_is_given_a_task(tmp_path: Path) -> None:
    script = [
        wants(tool_call("agent_send_async", {"agent_id": "helper", "message": "say it"})),
        says("One moment."),
        says("It is said."),
    ]
    async with talking(tmp_path, *script) as talk:
        answer = await talk.say("let it be said")
        assert (texts(answer), answer["complete"]) == (["One moment.", "It is said."], True)
        assert "helper wrote:\noutcome: ok\n" in talk.model.asked[2].messages[-1]["content"]


MISBEHAVING: dict[str, tuple[list[Reply], str]] = {
    "it is slow": ([ends_early("begins", Hang())], "agent-timeout"),
    "it breaks off": ([ends_early("half an ans", Break())], "agent-broke-off"),
    "it is gone": ([fails(503)], "agent-unreachable"),
    "it calls nonsense without end": ([wants(tool_call("rockets", "{")) for _ in range(9)], "too-many-calls"),
    "a thousand calls at once": ([wants(*(tool_call("agent_list", index=n) for n in range(1000)))], "too-many-calls"),
    "a call again and again": ([LIST] * 9, "too-many-calls"),
    "it refuses": ([says("", refusal="I cannot help with that.")], "agent-refused"),
}


@pytest.mark.parametrize("name", MISBEHAVING)
async def test_a_person_whose_model_misbehaves_is_told_and_goes_on(tmp_path: Path, name: str) -> None:
    script, reason = MISBEHAVING[name]
    async with talking(tmp_path, *script, silence="500ms" if reason == "agent-timeout" else "20s") as talk:
        answer = await talk.say("hello")
        assert (answer["turn"]["outcome"], answer["turn"]["reason"]) == ("failed", reason)
        assert (texts(answer), answer["complete"]) == ([NOTICE], True)
        talk.model.instead(says("all is well"))
        again = await talk.say("again")
        assert (again["turn"]["outcome"], texts(again)) == ("replied", ["all is well"])


def repeats(asked: Asked) -> Reply:
    """A slow answer with the last message."""
    return says(f"to {asked.messages[-1]['content']}", wait=0.02)


@pytest.mark.slow
async def test_a_hundred_people_at_once_get_each_their_own_answer(tmp_path: Path) -> None:
    found: dict[str, list[str]] = {}

    async def one(talk: Talk, peer: str) -> None:
        found[peer] = texts(await talk.say(f"hello of {peer}", peer=peer, wait=60))

    async with talking(tmp_path) as talk:
        talk.model.plays(repeats)
        async with anyio.create_task_group() as group:
            for n in range(100):
                group.start_soon(one, talk, f"p{n}")
        assert found == {f"p{n}": [f"to hello of p{n}"] for n in range(100)}
        page = read((await talk.http.get("/metrics")).text)[1]
        assert page["trunkline_model_answers_total", (("agent", "main"),)] == 100
        assert page["trunkline_model_tokens_total", (("agent", "main"), ("kind", "prompt"))] == 1100
        assert page["trunkline_model_tokens_total", (("agent", "main"), ("kind", "completion"))] == 500


async def test_a_reload_leaves_the_turns_that_run_alone(tmp_path: Path) -> None:
    async with talking(tmp_path, says("slowly " * 5, wait=0.05)) as talk:
        first = await talk.say("hello", wait=0)
        await talk.model.until(1)
        path = tmp_path / "gateway.yaml"
        path.write_text(path.read_text().replace("BASE", "CHANGED").replace("max_calls: 5", "max_calls: 6"))
        reloaded = await talk.ask("POST", "/v1/admin/reload")
        assert reloaded["changed"] == ["gateway.agents"]
        assert reloaded["needs_restart"] == ["agents"]
        done = await talk.ask("GET", f"/v1/chat/inbound/{first['id']}?wait=30")
        assert texts(done) == ["slowly " * 5]
        await talk.say("again")
        assert [one.messages[0]["content"] for one in talk.model.asked] == ["BASE\n\nCHANNEL", "CHANGED\n\nCHANNEL"]
