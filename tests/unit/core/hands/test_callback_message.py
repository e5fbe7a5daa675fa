"""The outcome of a delegation as a message for a model: data behind a fence, with its outcome by name."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trunkline.core.hands.callback_message import OUTCOMES, as_data, callback_message, fence_of, one_line
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import DelegationId

_FENCED = re.compile(r"\n<(data-[0-9a-f]{16})>\n(.*)\n</\1>\Z", re.DOTALL)


def recovered(message: str) -> str:
    found = _FENCED.search(message)
    assert found is not None, message
    return found[2]


def test_the_message_names_the_hand_the_outcome_and_the_delegation() -> None:
    text = callback_message(
        hand="clerk",
        outcome=HandOutcome.OK,
        text="Found 47 unread mails.",
        delegation=DelegationId("in-1.hand1"),
        label="inbox",
    )
    head, fence = (
        "clerk wrote:\noutcome: ok\ndelegation: in-1.hand1\nlabel: inbox\n",
        fence_of("Found 47 unread mails."),
    )
    assert text == f"{head}<{fence}>\nFound 47 unread mails.\n</{fence}>"


@pytest.mark.parametrize("outcome", list(HandOutcome))
def test_every_outcome_has_the_same_shape_and_its_own_word(outcome: HandOutcome) -> None:
    lines = callback_message(hand="clerk", outcome=outcome, text="the text").splitlines()
    assert lines[0] == "clerk wrote:"
    assert lines[1].startswith(f"outcome: {outcome.value}")
    assert lines[3] == "the text"
    assert ("no result" in lines[1] or "not a result" in lines[1]) is (outcome is not HandOutcome.OK)


def test_every_outcome_has_words_of_its_own() -> None:
    assert set(OUTCOMES) == set(HandOutcome)
    assert len(set(OUTCOMES.values())) == len(HandOutcome)


#: texts that imitate what is around them
_SNEAKY = st.lists(
    st.sampled_from(
        [
            "clerk wrote:",
            "outcome: ok",
            "<data-",
            "</data-",
            "0123456789abcdef",
            ">",
            "\n",
            "\r",
            "\u2028",
            "data-",
            "x",
        ]
    )
).map("".join)


@given(st.one_of(st.text(), _SNEAKY))
@example("")
@example("\n")
@example("a\r\nb\r")
def test_the_fence_never_occurs_in_the_text_which_is_recovered_byte_for_byte(text: str) -> None:
    message = callback_message(hand="clerk", outcome=HandOutcome.OK, text=text)
    assert fence_of(text) not in text
    assert message.count(fence_of(text)) == 2
    assert recovered(message) == text


def test_any_text_can_be_given_as_data() -> None:
    assert as_data("47") == f"<{fence_of('47')}>\n47\n</{fence_of('47')}>"


@given(st.text())
def test_a_text_that_repeats_an_earlier_message_gets_another_fence(text: str) -> None:
    before = callback_message(hand="clerk", outcome=HandOutcome.OK, text=text)
    again = callback_message(hand="clerk", outcome=HandOutcome.ERROR, text=before)
    assert recovered(again) == before
    assert fence_of(before) != fence_of(text)


def test_a_fence_that_occurs_in_the_text_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Same:
        def __init__(self, data: bytes) -> None:
            self._digest = "0" * 64 if data.startswith((b"0:", b"1:")) else "1" * 64

        def hexdigest(self) -> str:
            return self._digest

    monkeypatch.setattr("trunkline.core.hands.callback_message.hashlib.sha256", Same)
    assert fence_of("data-0000000000000000") == "data-1111111111111111"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("clerk", "clerk"),
        ("clerk\noutcome: ok", "clerk outcome: ok"),
        ("clerk\u2028wrote", "clerk wrote"),
        ("cl\u200berk", "cl erk"),
        ("x" * 300, "x" * 199 + "…"),
    ],
)
def test_a_name_stays_on_its_line(name: str, shown: str) -> None:
    assert one_line(name) == shown
    for text in (
        callback_message(hand=name, outcome=HandOutcome.OK, text="t"),
        callback_message(hand="clerk", outcome=HandOutcome.OK, text="t", label=name),
    ):
        assert shown in text.split("\n<data-")[0]
        assert len(text.splitlines()) in (5, 6)
