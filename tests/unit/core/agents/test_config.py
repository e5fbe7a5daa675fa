"""What `agents` of a configuration accepts, and how it names what is wrong."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.for_each import for_each
from trunkline.core.agents.config import AgentImplementation

PROGRAM: dict[str, Any] = {"command": ["agent"]}
WEBHOOK: dict[str, Any] = {"url": "https://example.org/turn"}


@for_each(
    ("value", "kind"),
    [
        ({"echo": {}}, "echo"),
        ({"echo": {"introduction": "I echo."}}, "echo"),
        ({"openai": {"model": "m", "base_url": "http://127.0.0.1:1/v1"}}, "openai"),
        ({"program": PROGRAM}, "program"),
        ({"program": {"command": ["a"], "env": {"A": "text", "B": {"env": "X"}}}}, "program"),
        ({"webhook": WEBHOOK}, "webhook"),
        ({"webhook": {"url": "http://127.0.0.1:8000/turn"}}, "webhook"),
        ({"webhook": {"url": "http://[::1]:8000/turn"}}, "webhook"),
        ({"webhook": {"url": "http://agent.internal/turn", "allow_http": True}}, "webhook"),
        ({"webhook": {**WEBHOOK, "secret": {"env": "S"}, "headers": {"Authorization": {"file": "t"}}}}, "webhook"),
    ],
)
def test_exactly_one_implementation_is_accepted(value: dict[str, Any], kind: str) -> None:
    assert AgentImplementation.model_validate(value).kind == kind


@for_each(
    ("value", "place", "says"),
    [
        ({}, "", "it has none of them"),
        ({"echo": {}, "program": PROGRAM}, "", "it has `echo` and `program`"),
        ({"robot": {}}, "robot", "Extra inputs"),
        ({"program": {}}, "program.command", "required"),
        ({"program": {"command": []}}, "program.command", "at least 1"),
        ({"program": {"command": [" "]}}, "program.command", "it is empty"),
        ({"program": {"command": ["a\0"]}}, "program.command", "null character"),
        ({"program": {**PROGRAM, "env": {"A=B": "x"}}}, "program.env", "no name of an environment variable"),
        ({"program": {**PROGRAM, "env": {"A": "x\0"}}}, "program.env", "null character"),
        ({"program": {**PROGRAM, "timeout": 0}}, "program.timeout", "greater than 0"),
        ({"program": {**PROGRAM, "concurrency": 0}}, "program.concurrency", "greater than or equal to 1"),
        ({"program": {**PROGRAM, "history": {"lines": -1}}}, "program.history.lines", "greater than or equal to 0"),
        ({"webhook": {"url": "http://example.org/turn"}}, "webhook", "set `allow_http: true`"),
        ({"webhook": {"url": "ftp://example.org"}}, "webhook.url", "write a URL such as"),
        ({"webhook": {"url": "https://"}}, "webhook.url", "write a URL such as"),
        ({"webhook": {"url": "https://example.org:99999"}}, "webhook.url", "not a URL"),
        ({"webhook": {"url": "https://ana:secret@example.org"}}, "webhook.url", "into `headers`"),
        ({"webhook": {"url": "https://example.org/#a"}}, "webhook.url", "fragment"),
        ({"webhook": {"url": "https://example.org/a b"}}, "webhook.url", "percent-encode"),
        ({"webhook": {**WEBHOOK, "headers": {"a b": "x"}}}, "webhook.headers", "no name of a header"),
        ({"webhook": {**WEBHOOK, "headers": {"Host": "x"}}}, "webhook.headers", "the gateway itself sets Host"),
        ({"webhook": {**WEBHOOK, "headers": {"A": "x\r\nB: y"}}}, "webhook.headers", "line breaks"),
    ],
)
def test_what_is_wrong_is_named(value: dict[str, Any], place: str, says: str) -> None:
    with pytest.raises(ValidationError) as caught:
        AgentImplementation.model_validate(value)
    (error,) = caught.value.errors()
    assert ".".join(str(part) for part in error["loc"]) == place
    assert says in error["msg"]
    assert "secret@" not in error["msg"]
