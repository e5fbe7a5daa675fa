"""What an adapter can do, judged: what may be asked of it, which polls can be asked, what fits together."""

import math
from typing import Any

import pytest
from msgspec import structs

from tests.support.for_each import for_each
from trunkline.core.channels import Actions, Queries, Readiness, Ready, check_capabilities
from trunkline.core.channels.capabilities import check_poll, require
from trunkline.core.errors import InvalidSend
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability, DeliveryMode, Idempotency, Markup, Poll
from trunkline.sim.platforms import FakeAdapter

ASKS = Poll(question="Which lamp?", options=("red", "green", "blue"))
POLLS = Capabilities(can=frozenset({Capability.TEXT, Capability.POLL}), poll_options=4)


@for_each("capability", Capability)
def test_what_is_there_may_be_asked_for(capability: Capability) -> None:
    require(Capabilities(can=frozenset({capability})), capability, "something on signal:default")


@for_each("capability", Capability)
def test_what_is_missing_is_reported_with_what_there_is(capability: Capability) -> None:
    can = Capabilities(can=frozenset(Capability) - {capability})
    with pytest.raises(InvalidSend) as refused:
        require(can, capability, "something on signal:work")
    assert refused.value.reason is Reason.UNSUPPORTED
    there = ", ".join(sorted(can.can))
    assert refused.value.facts == f"something on signal:work: the adapter has no {capability.value}; it has {there}"


def test_an_adapter_that_can_do_nothing_is_reported_as_such() -> None:
    with pytest.raises(InvalidSend, match="the adapter has no text; it has nothing"):
        require(Capabilities(can=frozenset()), Capability.TEXT, "a text on void:default")


# ---------------------------------------------------------------- polls


def test_a_poll_is_sent_without_blanks_around_and_without_blank_options() -> None:
    given = Poll(question=" Which?\n", options=(" red", "", "green ", " \t"), max_selections=2, duration_hours=24)
    expected = Poll(question="Which?", options=("red", "green"), max_selections=2, duration_hours=24)
    assert check_poll(given, POLLS) == expected
    assert check_poll(expected, POLLS) == expected


@for_each(
    ("fields", "facts"),
    [
        ({"question": ""}, "Poll question is required"),
        ({"question": " \n"}, "Poll question is required"),
        ({"options": ()}, "Poll requires at least 2 options"),
        ({"options": ("red", " ")}, "Poll requires at least 2 options"),
        ({"options": ("a", "b", "c", "d", "e")}, "Poll supports at most 4 options"),
        ({"max_selections": 0}, "maxSelections must be at least 1"),
        ({"max_selections": -1}, "maxSelections must be at least 1"),
        ({"max_selections": 4}, "maxSelections cannot exceed option count"),
        ({"options": ("a", "b", " "), "max_selections": 3}, "maxSelections cannot exceed option count"),
        ({"duration_hours": 0}, "durationHours must be at least 1"),
    ],
)
def test_a_poll_that_cannot_be_asked(fields: dict[str, Any], facts: str) -> None:
    with pytest.raises(InvalidSend) as refused:
        check_poll(structs.replace(ASKS, **fields), POLLS)
    assert (refused.value.reason, refused.value.facts) == (Reason.BAD_POLL, facts)


@pytest.mark.parametrize(
    "fields", [{"question": None}, {"options": "red"}, {"options": (1, 2)}, {"max_selections": "2"}, {"options": 7}]
)
def test_nonsense_in_a_poll_is_reported_as_such(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidSend, match="Poll is malformed: ") as refused:
        check_poll(structs.replace(ASKS, **fields), POLLS)
    assert refused.value.reason is Reason.BAD_POLL


def test_most_options_of_whatsapp_are_twelve() -> None:
    can = structs.replace(POLLS, poll_options=12)
    with pytest.raises(InvalidSend, match="Poll supports at most 12 options"):
        check_poll(structs.replace(ASKS, options=tuple(map(str, range(13)))), can)
    assert len(check_poll(structs.replace(ASKS, options=tuple(map(str, range(12)))), can).options) == 12


def test_without_a_limit_any_number_of_options_is_fine() -> None:
    asks = structs.replace(ASKS, options=tuple(map(str, range(500))), max_selections=500)
    assert check_poll(asks, structs.replace(POLLS, poll_options=None)) == asks


def test_half_a_character_in_a_poll_is_replaced() -> None:
    poll = check_poll(structs.replace(ASKS, question="why\ud800", options=("a\udc00", "b")), POLLS)
    assert (poll.question, poll.options) == ("why?", ("a?", "b"))


# ---------------------------------------------------------------- what fits together

_ALL = frozenset(Capability)


@for_each(
    "capabilities",
    [
        Capabilities(),
        Capabilities(can=_ALL, mode=DeliveryMode.HYBRID, idempotency=Idempotency.KEY, poll_options=2),
        Capabilities(idempotency=Idempotency.KEY, key_seconds=30.0),
        Capabilities(idempotency=Idempotency.LOOKUP, in_flight_seconds=0.5),
        Capabilities(in_flight_seconds=0.0),
        Capabilities(can=_ALL, opens_threads=True, markup=Markup.STYLED),
    ],
)
def test_what_fits_together_has_no_problems(capabilities: Capabilities) -> None:
    assert check_capabilities(capabilities) == ()


@for_each(
    ("fields", "problem"),
    [
        ({"can": _ALL - {Capability.TEXT}}, "it cannot send texts"),
        ({"text_limit": 0}, "its text limit is not positive: 0"),
        ({"can": _ALL - {Capability.THREADS}, "opens_threads": True}, "it opens threads and has no threads"),
        ({"poll_options": 10}, "it limits poll options and has no polls"),
        ({"can": _ALL, "poll_options": 1}, "a limit of 1 poll options allows no poll"),
        ({"in_flight_seconds": -1.0}, "in_flight_seconds is no time: -1.0"),
        ({"in_flight_seconds": math.inf}, "in_flight_seconds is no time: inf"),
        (
            {"idempotency": Idempotency.LOOKUP, "in_flight_seconds": 0.0},
            "look-up needs a time in flight: in_flight_seconds is 0",
        ),
        ({"key_seconds": 60.0}, "it has key_seconds and no idempotency keys"),
        ({"idempotency": Idempotency.LOOKUP, "key_seconds": 60.0}, "it has key_seconds and no idempotency keys"),
        ({"idempotency": Idempotency.KEY, "key_seconds": 0.0}, "key_seconds is no time: 0.0"),
        ({"idempotency": Idempotency.KEY, "key_seconds": math.nan}, "key_seconds is no time: nan"),
        (
            {"idempotency": Idempotency.KEY, "key_seconds": 29.0},
            "it forgets a key after 29.0 s, but a request with that key may still arrive for 30.0 s",
        ),
    ],
)
def test_what_does_not_fit_together_is_reported(fields: dict[str, Any], problem: str) -> None:
    assert check_capabilities(Capabilities(**fields)) == (problem,)


def test_all_problems_are_reported_at_once() -> None:
    assert len(check_capabilities(Capabilities(can=frozenset(), text_limit=0, key_seconds=-1.0))) == 4


# ---------------------------------------------------------------- what only some adapters have


class Bare:
    """An adapter without anything more."""


@pytest.mark.parametrize("protocol", [Readiness, Actions, Queries])
def test_optional_methods_are_found_by_their_names(protocol: Any) -> None:
    assert not isinstance(Bare(), protocol)
    assert issubclass(FakeAdapter, protocol)


def test_ready_needs_no_reason() -> None:
    assert Ready(ok=True).reason == ""
