"""The model on the wire: what its echo answers, what somebody may write down, and what clients see."""

import json
from typing import Any

import httpx
import msgspec
import pytest

from trunkline.sim.wire.model.answers import Echo, WrittenAnswer, said_since_the_last_answer
from trunkline.sim.wire.model.server import ModelServer

pytestmark = pytest.mark.anyio


def user(*texts: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text} for text in texts]


def spoke(text: str = "re: x", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


async def ask(model: ModelServer, messages: Any, **more: Any) -> Any:
    """The text of the answer, streamed or not."""
    async with httpx.AsyncClient() as client:
        body = {"model": "echo", "messages": messages, **more}
        response = await client.post(f"{model.url}/chat/completions", json=body)
        if not more.get("stream"):
            return response.json()
        lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
        pieces = [json.loads(line) for line in lines]
        return "".join(one["choices"][0]["delta"].get("content") or "" for one in pieces if one["choices"])


class Opened:
    """A model that echoes, or plays what was written down."""

    def __init__(self, *written: WrittenAnswer, **settings: Any) -> None:
        self.echo = Echo()
        self.echo.written += [answer.reply for answer in written]
        self.model = ModelServer(self.echo, **settings)

    async def __aenter__(self) -> ModelServer:
        await self.model.open()
        return self.model

    async def __aexit__(self, *_: object) -> None:
        await self.model.close()


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        (user("one"), ("one",)),
        ([{"role": "system", "content": "be kind"}, *user("one", "two")], ("one", "two")),
        ([*user("one"), spoke(), *user("two", "three")], ("two", "three")),
        ([*user("one"), spoke("", tool_calls=[{}]), {"role": "tool", "content": "12"}], ("one",)),
        ([*user("one"), spoke("let me look", tool_calls=[{}])], ("one",)),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}], ("a",)),
        ([*user("one"), spoke()], ()),
        (["nonsense", {"role": "user", "content": 5}], ("",)),
    ],
)
def test_everything_since_the_last_answer_counts(messages: Any, said: tuple[str, ...]) -> None:
    assert said_since_the_last_answer(messages) == said


@pytest.mark.parametrize("stream", [True, False])
async def test_an_echo_answers_each_question_and_numbers_repeats(stream: bool) -> None:
    async with Opened() as model:

        async def text(*questions: str) -> str:
            found = await ask(model, user(*questions), stream=stream)
            return found if stream else found["choices"][0]["message"]["content"]

        assert await text("one", "two") == "re: one\nre: two"
        assert await text("one") == "re: one"
        assert await text("one", "two") == "re: one\nre: two (2)"
        assert [one.path for one in model.asked] == ["/v1/chat/completions"] * 3


async def test_written_answers_come_first_and_in_order() -> None:
    opened = Opened(
        WrittenAnswer(says="hello"),
        WrittenAnswer(fails=429),
        msgspec.convert({"says": "wait", "calls": [{"name": "look", "arguments": {"at": 1}}]}, WrittenAnswer),
    )
    async with opened as model:
        assert (await ask(model, user("q")))["choices"][0]["message"]["content"] == "hello"
        assert (await ask(model, user("q")))["error"]["message"]
        message = (await ask(model, user("q")))["choices"][0]["message"]
        assert message["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"at": 1}'}
        assert "index" not in message["tool_calls"][0]
        assert opened.echo.written == []
        assert (await ask(model, user("q")))["choices"][0]["message"]["content"] == "re: q"


async def test_an_answer_may_break_off() -> None:
    async with Opened(WrittenAnswer(says="half of it", ends="break")) as model:
        with pytest.raises(httpx.RemoteProtocolError):
            await ask(model, user("q"), stream=True)


async def test_the_next_client_is_answered_after_one_that_left() -> None:
    async with Opened(WrittenAnswer(says="half of it", ends="hang")) as model:
        async with httpx.AsyncClient(timeout=0.3) as client:
            with pytest.raises(httpx.ReadTimeout):
                await client.post(f"{model.url}/chat/completions", json={"messages": user("q"), "stream": True})
        assert (await ask(model, user("q")))["choices"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "expected `says`"),
        ({"fails": 429, "says": "x"}, "expected `says`"),
        ({"fails": 200}, "from 400 to 599"),
        ({"says": "x", "ends": "later"}, "`break` or `hang`"),
        ({"says": "x", "wait": -1}, "0 or more"),
        ({"sais": "x"}, "unknown field"),
    ],
)
def test_a_bad_answer_is_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=says):
        msgspec.convert(given, WrittenAnswer)


async def test_models_are_listed_and_other_paths_unknown() -> None:
    async with Opened() as model, httpx.AsyncClient() as client:
        found = (await client.get(f"{model.url}/models")).json()
        assert [one["id"] for one in found["data"]] == ["echo"]
        assert (await client.get(f"{model.url}/nothing")).status_code == 404
        assert (await client.post(f"{model.url}/nothing", json={"messages": []})).status_code == 404


@pytest.mark.parametrize("body", [b"{", b"[1]", b'{"model": "m"}', b'{"messages": 5}', b""])
async def test_a_bad_body_is_refused_in_openais_form(body: bytes) -> None:
    async with Opened() as model, httpx.AsyncClient() as client:
        response = await client.post(f"{model.url}/chat/completions", content=body)
        assert response.status_code == 400
        assert response.json()["error"]["message"]


async def test_what_is_asked_and_answered_is_notified() -> None:
    told: list[str] = []
    async with Opened(seen=lambda _: told.append("asked"), note_answer=lambda *_: told.append("answered")) as model:
        await ask(model, user("q"))
    assert told == ["asked", "answered"]
