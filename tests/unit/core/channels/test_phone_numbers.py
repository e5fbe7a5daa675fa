"""Phone numbers: one form for every way to write them, and none for what is no number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from trunkline.core.channels.target_parsing import normal_phone
from trunkline.core.profiles.openclaw.channels.base import phone


@for_each(
    "text",
    [
        "+15551234567",
        "15551234567",
        "+1 (555) 123-4567",
        "001 555 123 4567",
        " +1.555.123.4567 ",
        "+1/555/1234567",
        "+1\u00a0555\u2011123\u20134567",
        "+1 (0) 555 1234567",
    ],
)
def test_ways_to_write_a_number_are_one(text: str) -> None:
    assert normal_phone(text) == "+15551234567"


@for_each(
    "text",
    ["", "+", "alice", "alice.01", "+1555x12", "1+555", "++1555", "+1555@s.whatsapp.net", "0151 234", "(0)30 1234"],
)
def test_what_is_no_international_number_is_none(text: str) -> None:
    assert normal_phone(text) is None


def test_more_than_fifteen_digits_are_no_number() -> None:
    assert normal_phone("1" * 15) == "+" + "1" * 15
    assert normal_phone("120363040000000000") is None


def test_digits_of_other_scripts_are_no_number() -> None:
    assert normal_phone("+١٥٥٥") is None


@given(st.text())
def test_the_normal_form_is_its_own(text: str) -> None:
    found = normal_phone(text)
    assert found is None or normal_phone(found) == found


@given(st.from_regex(r"\+[1-9][0-9]{0,14}", fullmatch=True))
def test_upstream_agrees_on_numbers_in_normal_form(text: str) -> None:
    assert phone(text) == normal_phone(text) == text


@pytest.mark.parametrize(("text", "made"), [("alice.01", "+01"), ("hello", "+"), ("+1 555", "+1555"), ("a+5", "+5")])
def test_upstream_makes_a_number_of_any_text(text: str, made: str) -> None:
    assert phone(text) == made
