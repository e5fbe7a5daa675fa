"""What a scripted agent says in a turn: repeats and denied texts are events, from which the invariants know them."""

from typing import Any

import pytest

from trunkline.sim.cast.message_tool import TurnSpeech
from trunkline.sim.events.hands import AgentSends
from trunkline.sim.events.script import SaidTwice, TextDenied


def hides_nothing(_text: str, _agent: str) -> tuple[str, ...]:
    return ()


@pytest.mark.parametrize(("passed", "recorded"), [((), ["a secret"]), (("other",), ["a secret"]), (("a  secret",), [])])
def test_a_denied_text_counts_unless_the_agent_says_it_elsewhere(passed: tuple[str, ...], recorded: list[str]) -> None:
    seen: list[Any] = []
    speech = TurnSpeech(
        "main", "t1", lambda body, **_: isinstance(body, AgentSends) or seen.append(body), hides_nothing
    )
    speech.asks("telegram/@ben", "a secret")
    speech.is_denied("a secret")
    for text in passed:
        speech.asks("", text)
        speech.passes(text)
    assert seen == []
    speech.end()
    assert seen == [TextDenied(by="agent main", text=text) for text in recorded]


def test_a_text_is_repeated_in_one_place_only() -> None:
    seen: list[Any] = []
    speech = TurnSpeech(
        "main", "t1", lambda body, **_: isinstance(body, AgentSends) or seen.append(body), hides_nothing
    )
    for where in ("", "telegram/@ben", ""):
        speech.asks(where, "hi")
    assert seen == [SaidTwice(by="agent main", text="hi")]


def test_each_send_is_recorded_as_the_agent_wants_it() -> None:
    seen: list[Any] = []
    TurnSpeech("main", "t1", lambda body, **_: seen.append(body), hides_nothing).asks("telegram/@ben", " hi ")
    assert seen == [AgentSends(agent="main", text=" hi ", to="telegram/@ben")]
