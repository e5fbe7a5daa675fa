"""Templates of labels: fields, formats, and words that are left out with an empty value."""

import pytest

from tests.support.app.author import OPS
from tests.support.app.traces import bound_completion
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import Template, row_text
from trunkline.core.events import Event
from trunkline.core.events.delivery import LaneWaiting
from trunkline.core.reasons import Reason


def filled(text: str, detail: str = "") -> str:
    body = LaneWaiting(address=OPS, reason=Reason.RATE_LIMITED, until=2.5, detail=detail)
    event = Event(seq=1, at=0.0, node="gateway", generation=3, body=body)
    return Template(LaneWaiting, text)(RunView(bound_completion()), event, body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", "plain words"),
        ("{reason} in process {event.generation}", "rate-limited in process 3"),
        ("{address:place} until {until:seconds}", "discord/#ops until 2.500"),
        ("waits{detail: (…)}{until:, until … s|seconds}", "waits, until 2.500 s"),
    ],
)
def test_a_template_is_filled_from_the_event_and_its_body(text, expected):
    assert filled(text) == expected


def test_words_around_a_value_are_shown_with_it():
    assert filled("waits{detail: (…)}, {detail:quoted}", "slow") == "waits (slow), “slow”"


def test_an_unknown_field_or_format_is_an_error_at_once():
    with pytest.raises(AttributeError, match="has no field cause"):
        Template(LaneWaiting, "{cause}")
    with pytest.raises(AttributeError, match="has no field place"):
        row_text(LaneWaiting, "waits", at="place")
    with pytest.raises(KeyError, match="loud"):
        Template(LaneWaiting, "{reason:loud}")
