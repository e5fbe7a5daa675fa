"""What a scripted agent says in a turn: repeats and denied texts are events, from which the invariants know them."""

from typing import Any

import pytest

from trunkline.sim.cast.speech import TurnSpeech
from trunkline.sim.events.script import SaidTwice, TextDenied


@pytest.mark.parametrize(
    ("passed", "recorded"),
    [((), ["a secret"]), (("other",), ["a secret"]), (("a  secret",), [])],
)
def test_a_denied_text_counts_unless_the_agent_says_it_elsewhere(passed: tuple[str, ...], recorded: list[str]) -> None:
    seen: list[Any] = []
    speech = TurnSpeech("main", "t1", lambda body, **_: seen.append(body))
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
    speech = TurnSpeech("main", "t1", lambda body, **_: seen.append(body))
    for where in ("", "telegram/@ben", ""):
        speech.asks(where, "hi")
    assert seen == [SaidTwice(by="agent main", text="hi")]
