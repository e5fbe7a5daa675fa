"""The agents of docs/examples/agents answer on a real gateway, and the pages about agents agree with the code."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from tests.support.agents.attached import attached
from tests.support.for_each import for_each
from tests.support.pages import DOCS, blocks, only_block
from tools import docs
from trunkline.app.serve.settings import load_file
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.agents.program.config import ProgramConfig
from trunkline.core.agents.program.messages import FromProgram, ToProgram, decode
from trunkline.core.agents.protocol_schema import protocol_schema
from trunkline.core.agents.turn_document import HistoryLine, TurnDocument
from trunkline.core.agents.webhook.config import WebhookConfig
from trunkline.core.agents.webhook.messages import DoneCall, PostedTurn, WebhookReply, read_reply
from trunkline.core.events.gateway import TurnEnded

EXAMPLES = DOCS / "examples" / "agents"
PROTOCOL = DOCS / "agent-protocol.md"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")


@pytest.mark.anyio
async def test_the_program_in_python_answers_and_sends(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "program_agent.py")]
    async with attached(tmp_path, {"program": {"command": command}}) as main:
        assert await main.answer("hello") == "hello"
        main.say("remind buy bread")
        _, ended = await main.gateway.until(TurnEnded, 2)
        assert ended.outcome == "silent"
        assert await main.answers(2) == ["hello", "Remember: buy bread"]


@needs_node
@pytest.mark.anyio
async def test_the_program_in_javascript_answers_and_calls(tmp_path: Path) -> None:
    command = ["node", str(EXAMPLES / "program_agent.mjs")]
    async with attached(tmp_path, {"program": {"command": command}}) as main:
        assert await main.answer("hello") == "HELLO"
        assert "clerk" not in await main.answer("who")


@contextmanager
def receiver(secret: str) -> Iterator[str]:
    """The receiver of the example in a process of its own; gives its address."""
    command = [sys.executable, str(EXAMPLES / "webhook_agent.py"), "0"]
    environ = {**os.environ, "WEBHOOK_SECRET": secret}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environ
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.anyio
async def test_the_webhook_answers_what_is_signed(tmp_path: Path) -> None:
    with receiver("between us") as url:
        settings = {"webhook": {"url": url, "secret": {"env": "SECRET"}}}
        async with attached(tmp_path, settings, {"SECRET": "between us"}) as main:
            assert await main.answer("hello") == "You have written 5 characters."
            main.say("thanks")
            await main.gateway.until(TurnEnded, 2)
            assert (await main.answers(2))[1] == "You are welcome."


@pytest.mark.anyio
async def test_the_webhook_refuses_another_signature(tmp_path: Path) -> None:
    with receiver("between us") as url:
        settings = {"webhook": {"url": url, "secret": {"env": "SECRET"}}}
        async with attached(tmp_path, settings, {"SECRET": "somebody else's"}) as main:
            ended = await main.ask("hello")
            assert ended.reason == "agent-unreachable" and "answered 401" in ended.detail


def test_the_webhook_refuses_a_copy_that_is_too_old(monkeypatch) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    from trunkline.core.agents.webhook.agent import signature_of

    genuine: Any = __import__("webhook_agent").is_genuine
    header = signature_of("s", b"body", 1_000_000.9)
    assert genuine("s", header, b"body", 1_000_000.0)
    assert genuine("s", header, b"body", 1_000_299.0)
    assert not genuine("s", header, b"body", 1_000_301.0)
    assert not genuine("s", header, b"other", 1_000_000.0)
    assert not genuine("t", header, b"body", 1_000_000.0)
    for nonsense in ("", "t=,v1=", "t=²,v1=x", "v1=x", "t=1000000", header.replace("v1=", "v1=é")):
        assert not genuine("s", nonsense, b"body", 1_000_000.0)


def test_the_configuration_of_the_examples_is_valid() -> None:
    kinds = {name: one.kind for name, one in load_file(EXAMPLES / "gateway.yaml").agents.items()}
    assert kinds == {"main": "program", "node": "program", "hook": "webhook", "demo": "echo"}


def test_the_configuration_of_the_page_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(only_block(DOCS / "agents.md", "yaml", "demo:").text, "utf-8")
    assert sorted(one.kind for one in load_file(file).agents.values()) == ["echo", "openai", "program", "webhook"]


def test_the_configuration_of_a_model_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(only_block(DOCS / "agents.md", "yaml", "api_key:").text, "utf-8")
    [agent] = load_file(file).agents.values()
    assert agent.openai is not None
    assert (agent.openai.model, agent.openai.options) == ("gpt-x", {"temperature": 0.3})


def validator(part: str) -> Any:
    document = protocol_schema()
    return (
        jsonschema_rs.validator_for({"$ref": document[part]["$ref"], "$defs": document["$defs"]})
        if ("$ref" in document[part])
        else jsonschema_rs.validator_for({**document[part], "$defs": document["$defs"]})
    )


def test_the_turn_of_the_page_is_one() -> None:
    shown = only_block(PROTOCOL, "json", '"type": "turn"').text
    assert set(json.loads(shown)) == {*TurnDocument.__struct_fields__, "type"}
    assert msgspec.json.decode(shown, type=TurnDocument).text == "hello\n[voice message: 12 s]"
    assert list(validator("to_program").iter_errors(json.loads(shown))) == []


def test_the_lines_of_the_page_are_messages() -> None:
    (talk,) = [one.text for one in blocks(PROTOCOL.read_text("utf-8")) if one.text.startswith("gateway ")]
    said = [line.split(maxsplit=1)[1] for line in talk.splitlines() if line.startswith("program ")]
    assert [type(decode(line.encode())).__name__ for line in said] == ["Hello", "CallMessage", "AnswerMessage"]
    for line in said:
        assert list(validator("from_program").iter_errors(json.loads(line))) == []


def test_the_replies_of_the_page_are_replies() -> None:
    found = re.findall(r"^\| `(\{.*\})` \| ", PROTOCOL.read_text("utf-8"), re.MULTILINE)
    replies = [read_reply(one.encode()) for one in found]
    assert len(replies) == 3
    for one in found:
        assert list(validator("webhook_response").iter_errors(json.loads(one))) == []


@for_each(
    ("part", "message", "is_valid"),
    [
        ("from_program", {"type": "answer", "turn": "t", "text": None}, True),
        ("from_program", {"type": "answer", "turn": "t"}, False),
        ("from_program", {"type": "answer", "turn": "t", "text": "x", "more": 1}, False),
        ("from_program", {"type": "dance"}, False),
        ("webhook_response", {"answer": None}, True),
        ("webhook_response", {"calls": [{"call": "1", "tool": "history"}]}, True),
        ("webhook_response", {}, False),
        ("webhook_response", {"answer": "x", "error": "y"}, False),
    ],
)
def test_the_schema_accepts_what_the_gateway_accepts(part: str, message: dict[str, Any], *, is_valid: bool) -> None:
    assert validator(part).is_valid(message) is is_valid


def test_the_page_names_every_field() -> None:
    text = PROTOCOL.read_text("utf-8")
    messages = [*ToProgram.__args__, *FromProgram.__args__, PostedTurn, DoneCall, WebhookReply, HistoryLine]
    missing = {
        f"{one.__name__}.{name}"
        for one in messages
        for name in one.__struct_fields__
        if f"`{name}`" not in text and f'"{name}"' not in text
    }
    assert missing == set()


def test_every_limit_that_the_page_names_is_a_field() -> None:
    text = docs.without_generated((DOCS / "agents.md").read_text("utf-8"))
    fields = {*ProgramConfig.model_fields, *WebhookConfig.model_fields, *OpenAIConfig.model_fields}
    assert set(re.findall(r"`(max_\w+|\w*timeout|concurrency|connections|retries|repeatable)`", text)) <= fields
