"""What strangers hand over as JSON is read alike at every door: half characters, and ids with control characters."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from trunkline.core.agents.openai.agent import arguments_of
from trunkline.core.agents.openai.answer import AnswerReader
from trunkline.core.agents.program.messages import AnswerMessage, CallMessage, Malformed
from trunkline.core.agents.program.messages import decode as decode_line
from trunkline.core.agents.webhook.messages import BadReply, read_reply
from trunkline.core.errors import AgentFailed
from trunkline.core.http.chat.bodies import InboundBody
from trunkline.core.http.chat.frames import HelloFrame, SayFrame, id_of
from trunkline.core.http.chat.frames import decode as decode_frame
from trunkline.core.http.problems import Problem
from trunkline.core.http.requests import body_of
from trunkline.core.well_formed import decode_json, well_formed_json


def _program(text: str) -> str | None:
    message = decode_line(b'{"type": "answer", "turn": "t", "text": "%s"}' % text.encode())
    assert isinstance(message, AnswerMessage), message
    return message.text


def _webhook(text: str) -> Any:
    return read_reply(b'{"answer": "%s"}' % text.encode()).answer


def _model(text: str) -> str:
    reader = AnswerReader(1000)
    reader.add(b'{"choices": [{"message": {"content": "%s"}, "finish_reason": "stop"}]}' % text.encode())
    return reader.done().text


def _post(text: str) -> str:
    body = b'{"channel": "webchat", "peer": {"kind": "direct", "id": "ana"}, "message_id": "1", "text": "%s"}'
    return body_of(body % text.encode(), InboundBody).text


def _socket(text: str) -> str:
    frame = decode_frame(f'{{"type": "say", "id": "1", "text": "{text}"}}')
    assert isinstance(frame, SayFrame)
    return frame.text


TEXTS: dict[str, Callable[[str], Any]] = {
    "program": _program,
    "webhook": _webhook,
    "model": _model,
    "post": _post,
    "socket": _socket,
}


@for_each("door", TEXTS)
@for_each(
    ("escaped", "text"),
    [
        (r"cut \ud83d", "cut ?"),
        (r"cut \uD83D off", "cut ? off"),
        (r"\ude00 rest", "? rest"),
        (r"\ud83d\ud83d\ude00", "?😀"),
        (r"\ud83d\n", "?\n"),
        (r"whole \ud83d\ude00", "whole 😀"),
        (r"a backslash \\ud83d", r"a backslash \ud83d"),
        (r"two \\\ud83d", r"two \?"),
    ],
)
def test_half_a_character_becomes_a_question_mark(door: str, escaped: str, text: str) -> None:
    assert TEXTS[door](escaped) == text


def test_half_a_character_in_the_arguments_of_a_model() -> None:
    reader = AnswerReader(1000)
    call = {"id": "c", "function": {"name": "send", "arguments": '{"text": "cut \\ud83d"}'}}
    reader.add(json.dumps({"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "stop"}]}))
    assert arguments_of(reader.done().calls[0].arguments) == {"text": "cut ?"}


@given(st.lists(st.sampled_from(["\\", '"', "x", "é", "😀", "\ud83d", "\ude00", "u", "d", "8", "\n"])).map("".join))
def test_any_text_that_json_can_write_is_read(text: str) -> None:
    """As the same text is that a platform hands over: as UTF-16, whose halves that meet are one character."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("�", "?")
    assert msgspec.json.decode(well_formed_json(json.dumps(text))) == whole
    assert decode_json(msgspec.json.decode, json.dumps(text)) == whole


def _refused(read: Callable[[], Any]) -> str:
    with pytest.raises((Problem, BadReply, AgentFailed)) as error:
        read()
    return str(error.value)


def _call_of_program(id_: str) -> str:
    message = decode_line(json.dumps({"type": "call", "turn": "t", "call": id_, "tool": "x"}).encode())
    assert isinstance(message, Malformed)
    assert message.turn == "t"
    return message.what


def _call_of_model(id_: str) -> str:
    call = {"id": id_, "function": {"name": "send", "arguments": "{}"}}
    piece = json.dumps({"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "stop"}]})
    return _refused(lambda: AnswerReader(1000).add(piece))


def _body(**changed: Any) -> str:
    body = {"channel": "webchat", "peer": {"kind": "direct", "id": "a"}, "message_id": "1", "text": "x", **changed}
    return _refused(lambda: body_of(json.dumps(body).encode(), InboundBody))


def _frame(frame: dict[str, Any]) -> str:
    return _refused(lambda: decode_frame(json.dumps(frame)))


IDS: dict[str, Callable[[str], str]] = {
    "call of a program": _call_of_program,
    "call of a webhook": lambda id_: _refused(
        lambda: read_reply(json.dumps({"calls": [{"call": id_, "tool": "x"}]}).encode())
    ),
    "call of a model": _call_of_model,
    "peer of a post": lambda id_: _body(peer={"kind": "direct", "id": id_}),
    "sender of a post": lambda id_: _body(peer={"kind": "group", "id": "g"}, sender={"id": id_}),
    "message of a post": lambda id_: _body(message_id=id_),
    "thread of a post": lambda id_: _body(thread_id=id_),
    "role of a post": lambda id_: _body(roles=["admin", id_]),
    "person of a socket": lambda id_: _frame({"type": "hello", "peer": {"id": id_}}),
    "message of a socket": lambda id_: _frame({"type": "say", "id": id_, "text": "x"}),
}


@for_each("door", IDS)
@for_each("id_", ["a\0b", "a\x1b[2J", "a\nb", "\x7f", "\x85", "\u2028", "cut \ud83d"])
def test_an_id_with_control_characters_or_half_of_one_is_refused_in_the_same_words(door: str, id_: str) -> None:
    assert "has half a character, or a control character such as NUL or a line end" in IDS[door](id_)


def test_ids_that_people_use_are_taken() -> None:
    for id_ in ("ana", "ана 👨‍👩‍👧", "a\u00a0b", "?", "#-1/2:3"):
        frame = decode_frame(json.dumps({"type": "hello", "peer": {"id": id_}}))
        assert isinstance(frame, HelloFrame)
        assert isinstance(
            decode_line(json.dumps({"type": "call", "turn": "t", "call": id_, "tool": "x"}).encode()), CallMessage
        )


@pytest.mark.parametrize(
    "frame", [r'{"type": "say", "id": "7", "text": 5}', r'{"type": "say", "id": "7", "x": "\ud83d"}']
)
def test_the_problem_of_a_frame_names_its_message(frame: str) -> None:
    with pytest.raises(Problem):
        decode_frame(frame)
    assert id_of(frame) == "7"
