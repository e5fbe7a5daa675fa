"""However an answer is cut on its way, it is the same answer; and what is no answer is not taken for one."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.model_server import piece
from trunkline.core.agents.openai.answer import AnswerReader, EndpointError, ModelAnswer, quoted
from trunkline.core.agents.openai.endpoint import EventReader, EventTooLong
from trunkline.core.errors import AgentFailed
from trunkline.core.reasons import Reason

#: no half characters: no JSON on the wire has them
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NAMES = st.sampled_from(["message", "agent_list", ""])
CALLS = st.lists(st.tuples(NAMES, TEXT), max_size=4)


@st.composite
def cut(draw: st.DrawFn, whole: Any) -> list[Any]:
    """A text, or bytes, in pieces, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = [0, *places, len(whole)]
    return [whole[a:b] for a, b in itertools.pairwise(edges)]


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]], bytes]:
    """A text, calls, and a stream of events that says both, in pieces, with any line ends and comments."""
    text, calls = draw(TEXT), draw(CALLS)
    pieces: list[Any] = [piece({"content": one}) for one in draw(cut(text))]
    for index, (name, arguments) in enumerate(calls):
        pieces.append(piece({"tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": name}}]}))
        for one in draw(cut(arguments)):
            pieces.append(piece({"tool_calls": [{"index": index, "function": {"arguments": one}}]}))
    pieces.append(piece({}, "stop"))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    ascii_only = draw(st.booleans())
    body = draw(st.sampled_from(["", "\ufeff"]))
    for one in pieces:
        said = json.dumps(one, ensure_ascii=ascii_only)
        comment = draw(st.sampled_from(["", f": keep-alive{end}", f"event: message{end}id: 4{end}", f":{end}{end}"]))
        # JSON may have a line end between its tokens, and the data of an event several lines.
        split = draw(st.booleans())
        lines = [said[:1], said[1:]] if split else [said]
        body += comment + "".join(f"data:{draw(st.sampled_from(['', ' ']))}{line}{end}" for line in lines) + end
    return text, calls, (body + f"data: [DONE]{end}{end}").encode()


def read(parts: list[bytes]) -> tuple[ModelAnswer, str]:
    events, answer, last = EventReader(100_000), AnswerReader(100_000), ""
    for part in parts:
        for last in events.feed(part):
            if last != "[DONE]":
                answer.add(last)
    return answer.done(), last


@given(st.data())
def test_however_a_stream_is_cut_it_says_the_same(data: st.DataObject) -> None:
    text, calls, body = data.draw(streams())
    answer, last = read(data.draw(cut(body)))
    assert answer.text == text
    assert [(one.name, one.arguments) for one in answer.calls] == calls
    assert last == "[DONE]"
    assert read([body[at : at + 1] for at in range(len(body))])[0] == answer


def test_a_long_line_in_many_pieces_costs_no_more_than_its_bytes() -> None:
    # Copied for each piece, these would be hundreds of gigabytes.
    events, text = EventReader(3_000_000), "a" * 2_000_000
    body = f"data: {text}\n\n".encode()
    assert [one for at in range(0, len(body), 8) for one in events.feed(body[at : at + 8])] == [text]


@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([b"data: ", b"{", b"\n\n", b"[DONE]"])), max_size=30))
def test_no_bytes_raise_anything_else_than_a_reason(parts: list[bytes]) -> None:
    events, answer = EventReader(200), AnswerReader(50)
    try:
        for part in parts:
            for one in events.feed(part):
                answer.add(one)
        answer.done()
    except (AgentFailed, EndpointError, EventTooLong):
        return
    raise AssertionError("nothing of this is an answer")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["choices", "delta", "message", "tool_calls", "function", "index", "content", "error"]),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_no_value_raises_anything_else_than_a_reason(value: Any) -> None:
    answer = AnswerReader(50)
    try:
        answer.add(json.dumps(value))
        assert answer.done().text is not None
    except (AgentFailed, EndpointError):
        assert answer.length <= 50 + 50


def answer_of(*pieces: Any, most: int = 1000) -> ModelAnswer:
    answer = AnswerReader(most)
    for one in pieces:
        answer.add(json.dumps(one))
    answer.add(json.dumps(piece({}, "stop")))
    return answer.done()


def calls_of(*calls: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = answer_of(*(piece({"tool_calls": [one]}) for one in calls)).calls
    return [(one.id, one.name, one.arguments) for one in found]


def test_calls_of_endpoints_with_other_habits_are_told_apart() -> None:
    """Some number no call, some give all calls the same number, some repeat the id in every piece."""
    one = {"id": "a", "function": {"name": "f", "arguments": "{"}}
    two = {"id": "b", "function": {"name": "f", "arguments": "{}"}}
    more = {"id": "a", "function": {"arguments": "}"}}
    assert calls_of(one, more, two) == [("a", "f", "{}"), ("b", "f", "{}")]
    same = [{**each, "index": 0} for each in (one, more, two)]
    assert calls_of(*same) == [("a", "f", "{}"), ("b", "f", "{}")]
    nameless = {"function": {"name": "f", "arguments": "{}"}}
    assert calls_of(nameless, nameless) == [("call-1", "f", "{}"), ("call-2", "f", "{}")]
    crossed = [{**one, "index": 0}, {**two, "index": 1}, {"index": 0, "function": {"arguments": "}"}}]
    assert calls_of(*crossed) == [("a", "f", "{}"), ("b", "f", "{}")]


def test_arguments_that_are_an_object_already() -> None:
    assert calls_of({"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}) == [("a", "f", '{"x":1}')]


def test_content_in_parts() -> None:
    assert answer_of(piece({"content": [{"type": "text", "text": "a"}, {"type": "image"}]})).text == "a"


def test_other_choices_do_not_count() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}}, {"index": 0, "delta": {"content": "yes"}}]}
    assert answer_of(other).text == "yes"


@pytest.mark.parametrize("most", [31, 32 * 5])
def test_calls_without_arguments_have_an_end_too(most: int) -> None:
    with pytest.raises(AgentFailed) as failed:
        answer_of(*(piece({"tool_calls": [{"index": n, "id": f"{n}"}]}) for n in range(9)), most=most)
    assert failed.value.reason is Reason.ANSWER_TOO_LONG


def test_what_an_endpoint_says_is_quoted_on_one_short_line() -> None:
    assert quoted("a\n\x1b[31mb\u202ec") == "a [31mb c"
    assert len(quoted("x" * 10_000)) < 210


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 11, "completion_tokens": 5}, (11, 5)),
        ({"prompt_tokens": 11.5, "completion_tokens": "5"}, (0, 0)),
        ({"prompt_tokens": -1, "completion_tokens": True}, (0, 0)),
        ([], (0, 0)),
        (None, (0, 0)),
    ],
)
def test_usage_that_is_none_spoils_no_answer(usage: object, tokens: tuple[int, int]) -> None:
    reader = AnswerReader(100)
    choice = {"index": None, "delta": {"content": "hello"}, "finish_reason": "stop"}
    reader.add(json.dumps({"choices": [choice], "usage": usage}))
    answer = reader.done()
    assert answer.text == "hello"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == tokens
