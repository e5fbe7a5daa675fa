"""What becomes of a turn whose model misbehaves: it ends within its limits, with a reason, and the session goes on."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.model_server import (
    DONE,
    Break,
    Hang,
    Reply,
    Send,
    Wait,
    breaks_off,
    ends_early,
    event,
    events,
    fails,
    piece,
    raw,
    says,
    tool_call,
    wants,
)
from tests.support.model_turns import Served, asking
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.reasons import Reason

pytestmark = pytest.mark.anyio

KEY = "sk-very-secret-0123456789"
SEND = {"action": "send", "message": "from the tool"}


@pytest.fixture
def path(tmp_path: Path, anyio_backend: str) -> Path:
    return tmp_path / "gateway.db"


async def goes_on(served: Served) -> None:
    """The next turn of the session works, and its answer is the only one more that people see."""
    seen = list(served.texts)
    served.model.instead(says("all is well"))
    assert (await served.say("again")).outcome == "replied"
    await served.running.until(IntentSettled, len(seen) + 1)
    assert served.texts == [*seen, "all is well"]


FAILURES: dict[str, tuple[Reply, Reason, str]] = {
    "the answer breaks off": (ends_early("half an ans", Break()), Reason.AGENT_BROKE_OFF, "middle of the answer"),
    "the answer just ends": (ends_early("half an ans"), Reason.AGENT_BROKE_OFF, "broke off after 11"),
    "a call breaks off": (
        breaks_off(piece({"tool_calls": [tool_call("message", '{"action": "se')]})),
        Reason.AGENT_BROKE_OFF,
        "broke off",
    ),
    "it says done without an end": (
        Reply(steps=(Send(event(piece({"content": "x"}))), Send(DONE))),
        Reason.AGENT_BROKE_OFF,
        "broke off",
    ),
    "nothing but an end": (Reply(steps=(Send(DONE),)), Reason.AGENT_BROKE_OFF, "after 0"),
    "an error in the stream": (
        Reply(steps=(Send(event(piece({"content": "x"}))), Send(event({"error": {"message": "out of memory"}})))),
        Reason.AGENT_BROKE_OFF,
        "out of memory",
    ),
    "it refuses": (says("", refusal="I cannot help with that."), Reason.AGENT_REFUSED, "I cannot help with that."),
    "a filter ends it": (says("some", finish="content_filter"), Reason.AGENT_REFUSED, "content filter"),
    "its own limit": (says("cut her", finish="length"), Reason.ANSWER_TOO_LONG, "after 7 characters"),
    "too long": (says("x" * 2000), Reason.ANSWER_TOO_LONG, "more than 1000 characters"),
    "huge arguments": (wants(tool_call("message", "x" * 2000)), Reason.ANSWER_TOO_LONG, "more than 1000"),
    "one endless line": (raw(b"data: " + b"x" * 300_000), Reason.ANSWER_TOO_LONG, "bytes at once"),
    "no JSON": (raw(b"data: {nonsense\n\n"), Reason.BAD_ANSWER, "no piece of an answer"),
    "JSON of another kind": (raw(b"data: [1, 2]\n\n"), Reason.BAD_ANSWER, "no piece of an answer"),
    "deep JSON": (raw(b"data: " + b"[" * 50_000 + b"\n\n"), Reason.BAD_ANSWER, "no piece of an answer"),
    "content is a number": (events({"choices": [{"delta": {"content": 5}}]}), Reason.BAD_ANSWER, "no piece"),
    "a web page": (raw(b"<html>hello</html>", "text/html"), Reason.BAD_ANSWER, "text/html"),
    "JSON cut in the middle": (raw(b'{"choices": [', "application/json"), Reason.BAD_ANSWER, "no piece"),
    "a huge JSON value": (raw(b"[" + b"1," * 300_000, "application/json"), Reason.ANSWER_TOO_LONG, "at once"),
    "wrong key": (fails(401, f"Incorrect API key provided: {KEY}"), Reason.AGENT_UNREACHABLE, "api_key"),
    "no such model": (fails(404, "The model `m` does not exist"), Reason.AGENT_UNREACHABLE, "'m'"),
    "a bad request": (fails(400, f"strange temperature {KEY}"), Reason.AGENT_UNREACHABLE, "strange temperature ***"),
    "too long for the model": (
        fails(400, "too long", code="context_length_exceeded"),
        Reason.INPUT_TOO_LONG,
        "too long for the model",
    ),
    "overloaded": (fails(503, "overloaded"), Reason.AGENT_UNREACHABLE, "overloaded"),
    "no money": (fails(429, "no money", code="insufficient_quota"), Reason.AGENT_UNREACHABLE, "no money"),
    "an error without words": (raw(b"\xff\xfe", "text/plain", status=500), Reason.AGENT_UNREACHABLE, "(500)"),
    "a redirection": (
        Reply(status=302, kind="text/plain", headers=(("location", "http://127.0.0.1:9/"),)),
        Reason.AGENT_UNREACHABLE,
        "redirects",
    ),
    "it never answers": (Reply(steps=(Hang(),)), Reason.AGENT_TIMEOUT, "nothing for 0.6 s"),
    "it begins and hangs": (ends_early("begins", Hang()), Reason.AGENT_TIMEOUT, "nothing for 0.6 s"),
    "it drips": (says("slow " * 200, wait=0.05), Reason.AGENT_TIMEOUT, "no complete answer within 2 s"),
}


@pytest.mark.slow(every=6)
@pytest.mark.parametrize("name", FAILURES)
async def test_a_turn_whose_model_fails_ends_with_a_reason(path: Path, name: str) -> None:
    reply, reason, words = FAILURES[name]
    script = [reply, reply]
    # Only those that wait for a time limit get a short one: this machine may be busy.
    times: dict[str, Any] = {"silence": 0.6, "timeout": 2.0} if reason is Reason.AGENT_TIMEOUT else {}
    async with asking(path, script, key=KEY, max_answer=1000, retries=1, **times) as served:
        found, detail = await served.fails()
        assert found is reason
        assert words in detail
        assert KEY not in detail
        assert served.texts == []
        assert len(detail) < 500
        await goes_on(served)


RETRIED = {
    "overloaded": fails(503),
    "rate": fails(429, headers=[("retry-after", "0")]),
    "broken": ends_early("half", Break()),
    "unfinished": ends_early("half"),
}


@pytest.mark.parametrize("name", RETRIED)
async def test_what_fails_for_the_moment_is_asked_again(path: Path, name: str) -> None:
    async with asking(path, [RETRIED[name], RETRIED[name], says("at last")]) as served:
        assert (await served.say()).outcome == "replied"
        await served.running.until(IntentSettled)
        assert served.texts == ["at last"]
        assert len(served.model.asked) == 3
        first, *others = [one.messages for one in served.model.asked]
        assert all(one == first for one in others)


async def test_retries_are_counted(path: Path) -> None:
    async with asking(path, [fails(500)] * 9, retries=2) as served:
        assert (await served.fails())[0] is Reason.AGENT_UNREACHABLE
        assert len(served.model.asked) == 3


@pytest.mark.slow(every=6)
@pytest.mark.parametrize("name", ["wrong key", "no such model", "a bad request", "no money", "it refuses", "no JSON"])
async def test_what_will_fail_again_is_not_asked_again(path: Path, name: str) -> None:
    async with asking(path, [FAILURES[name][0]]) as served:
        await served.fails()
        assert len(served.model.asked) == 1


async def test_a_wait_that_the_endpoint_asks_for_is_kept(path: Path) -> None:
    busy = fails(429, headers=[("retry-after-ms", "300")])
    async with asking(path, [busy, says("now")], retry_wait=0) as served:
        before = anyio.current_time()
        await served.say()
        assert anyio.current_time() - before >= 0.3


@pytest.mark.parametrize(
    "headers",
    [
        [("retry-after", "3600")],
        [("date", "Mon, 23 Nov 2026 05:00:00 GMT"), ("retry-after", "Mon, 23 Nov 2026 06:00:00 GMT")],
    ],
    ids=["seconds", "a date"],
)
async def test_a_wait_that_is_too_long_is_not_begun(path: Path, headers: list[tuple[str, str]]) -> None:
    async with asking(path, [fails(429, "slow down", headers=headers)]) as served:
        reason, detail = await served.fails()
        assert reason is Reason.AGENT_UNREACHABLE
        assert "asks to wait 3600 s" in detail
        assert len(served.model.asked) == 1
        await goes_on(served)


async def test_no_connection_is_a_reason(path: Path) -> None:
    async with asking(path, base_url="http://127.0.0.1:9/v1", retries=1) as served:
        reason, detail = await served.fails()
        assert reason is Reason.AGENT_UNREACHABLE
        assert "no connection to http://127.0.0.1:9/v1" in detail


async def test_a_turn_has_a_time_limit_over_all_its_requests(path: Path) -> None:
    """Each answer comes in time; together they take too long."""
    call = wants(tool_call("agent_list"))
    slow = Reply(steps=(Wait(0.2), *call.steps))
    async with asking(path, lambda _: slow, turn_timeout=1.0, max_calls=1000, max_rounds=1000) as served:
        reason, detail = await served.fails()
        assert reason is Reason.AGENT_TIMEOUT
        assert "took longer than 1 s" in detail
        assert 2 < len(served.model.asked) < 7


async def test_a_thousand_calls_in_one_answer_are_not_begun(path: Path) -> None:
    calls = [tool_call("message", SEND, index=number) for number in range(1000)]
    async with asking(path, [wants(*calls)], max_answer=200_000) as served:
        reason, detail = await served.fails()
        assert reason is Reason.TOO_MANY_CALLS
        assert "1000 tool calls" in detail
        assert served.texts == []
        await goes_on(served)


async def test_calls_without_end_are_stopped(path: Path) -> None:
    """What was sent before the limit stays sent, once; the next turn works."""
    script = [wants(tool_call("message", SEND | {"message": f"number {n}"})) for n in range(40)]
    async with asking(path, script, max_calls=5, max_rounds=100) as served:
        reason, detail = await served.fails()
        assert reason is Reason.TOO_MANY_CALLS
        assert "6 tool calls in one turn; 5 are allowed" in detail
        await served.running.until(IntentSettled, 5)
        assert served.texts == [f"number {n}" for n in range(5)]
        await goes_on(served)


async def test_requests_without_end_are_stopped(path: Path) -> None:
    async with asking(path, lambda _: wants(tool_call("agent_list")), max_rounds=4) as served:
        reason, detail = await served.fails()
        assert reason is Reason.TOO_MANY_CALLS
        assert "after 4 requests" in detail
        assert len(served.model.asked) == 4


@pytest.mark.slow(every=4)
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (tool_call("launch_rockets", {}), "no tool 'launch_rockets'; there are: message, agent_send_async"),
        (tool_call("", {}), "no tool ''"),
        (tool_call("message", "{not json"), "the arguments are no JSON"),
        (tool_call("message", "[1]"), "a JSON array instead of an object"),
        (tool_call("message", '"text"'), "a JSON string instead of an object"),
        (tool_call("message", "[" * 5000), "the arguments are no JSON"),
        (tool_call("message", {"action": "explode"}), "explode"),
        (tool_call("message", {"action": "send", "message": "x", "target": "nowhere:::"}), "nowhere"),
        (tool_call("message", ""), "action"),
        (tool_call("agent_send_async", {"agent_id": "nobody", "message": "x"}), "nobody"),
        (tool_call("agent_send_async", {"agent_id": "main", "message": "x"}), "main"),
        (tool_call("agent_cancel", {"delegation_id": "no-such"}), "no-such"),
        (tool_call("agent_cancel", {}), "delegation_id is missing"),
    ],
    ids=lambda value: "" if isinstance(value, str) else value["function"]["name"] or "nameless",
)
async def test_nonsense_in_a_call_is_given_back_to_the_model(path: Path, call: dict, words: str) -> None:
    async with asking(path, [wants(call), says("I was wrong")], max_answer=100_000) as served:
        assert (await served.say()).outcome == "replied"
        await served.running.until(IntentSettled)
        assert served.texts == ["I was wrong"]
        *_, asked, result = served.model.asked[1].messages
        assert asked["tool_calls"][0]["id"] == result["tool_call_id"]
        # Endpoints refuse a request with arguments that are no JSON object.
        assert isinstance(json.loads(asked["tool_calls"][0]["function"]["arguments"]), dict)
        told = json.loads(result["content"])
        assert told["ok"] is False
        assert words in told["error"]


async def test_calls_with_the_same_id_are_told_apart(path: Path) -> None:
    calls = [tool_call("message", SEND | {"message": text}, id="same", index=n) for n, text in enumerate("ab")]
    async with asking(path, [wants(*calls), says("NO_REPLY")]) as served:
        await served.say()
        await served.running.until(IntentSettled, 2)
        assert served.texts == ["a", "b"]
        *_, asked, first, second = served.model.asked[1].messages
        ids = [one["id"] for one in asked["tool_calls"]]
        assert len(set(ids)) == 2
        assert [first["tool_call_id"], second["tool_call_id"]] == ids


async def test_a_message_that_is_too_long_fails_and_is_not_cut(path: Path) -> None:
    async with asking(path, context_tokens=3000) as served:
        reason, detail = await served.fails("x" * 9000)
        assert reason is Reason.INPUT_TOO_LONG
        assert "`context_tokens` is 3000" in detail
        assert served.model.asked == []
        await goes_on(served)


@pytest.mark.parametrize("text", ["", "  \n", "NO_REPLY"])
async def test_an_empty_answer_is_no_answer(path: Path, text: str) -> None:
    async with asking(path, [says(text)]) as served:
        ended = await served.say()
        assert (ended.outcome, ended.reason) == ("silent", None)
        await goes_on(served)


async def test_stopping_the_gateway_closes_the_stream(path: Path) -> None:
    async with asking(path, [ends_early("begins", Hang())]) as served:
        served.platform.say("m1")
        await served.model.until(1)
    assert served.running.recorded(TurnEnded) == []
    assert served.model.left_early == 1


async def test_a_person_can_be_notified(path: Path) -> None:
    notice = {"turns": {"error_notice": "Sorry, that did not work."}}
    async with asking(path, [says("", refusal="no")], gateway=notice) as served:
        assert (await served.fails())[0] is Reason.AGENT_REFUSED
        await served.running.until(IntentSettled)
        assert served.texts == ["Sorry, that did not work."]
        await goes_on(served)
