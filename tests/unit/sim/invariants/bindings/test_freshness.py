"""B2: activity keeps a binding alive, and only the newest token is used."""

from typing import Any

import pytest

from tests.support.event_stories import PLACE
from tests.support.for_each import for_each
from tests.support.invariants.bot_trace import ELSEWHERE, OTHER_ACCOUNT, Author
from trunkline.core.events.delivery import ChunkAcked
from trunkline.core.reasons import Reason
from trunkline.core.values import WorkKind
from trunkline.sim.invariants import Status

# ---------------------------------------------------------------- B2: activity


def test_what_is_said_keeps_its_conversation_bound():
    story = Author("B2")
    story.bound()
    story.meant()
    story.stored(after=30)
    story.touched(after=0.001)
    assert (story.end().verdict.status, story.verdict.exercised) == (Status.OK, 1)


def test_a_binding_without_its_activity_expires_too_early():
    story = Author("B2")
    bound = story.bound()
    story.meant()
    stored = story.stored(after=30)
    story.end()
    (violation,) = story.verdict.violations
    assert (story.missing_after, violation.evidence) == (stored, (bound, stored))


@for_each(
    ("touch", "wrong"),
    [
        ({"after": 4.0}, 0),
        ({"after": 6.0}, 1),
        # Later activity does not make up for it: the deadline was too early in between.
        ({"after": 20.0, "by": "inbound"}, 1),
        ({"at": 26.0}, 0),
        ({"at": 20.0}, 1),
        ({"binding": "b2"}, 1),
    ],
)
def test_the_touch_comes_soon_and_carries_the_time(touch: dict[str, Any], wrong: int):
    story = Author("B2")
    story.bound()
    story.bound("b2", place=ELSEWHERE)
    story.meant()
    story.stored(after=30)
    story.touched(**touch)
    assert len(story.end().wrong) == wrong


def test_a_missing_touch_is_seen_at_the_next_thing_that_is_said():
    story = Author("B2")
    story.bound()
    story.meant()
    missed = story.stored(after=30)
    story.meant("i2")
    story.stored("i2", after=10)
    story.touched()
    assert story.missing_after == missed


def test_one_touch_is_enough_for_what_is_said_at_once():
    story = Author("B2")
    story.bound()
    story.meant()
    story.meant("i2")
    story.stored(after=30)
    story.stored("i2", after=0.5)
    story.touched()
    assert story.end().wrong == []


def test_a_binding_that_is_over_needs_no_activity():
    story = Author("B2")
    story.bound()
    story.meant()
    story.over()
    story.stored(after=30)
    assert story.end().wrong == []


@pytest.mark.parametrize(("after", "wrong"), [(59.0, 1), (61.0, 0)])
def test_nothing_brings_back_a_binding_that_is_over_by_its_deadline(after: float, wrong: int):
    story = Author("B2")
    story.bound()
    story.meant()
    story.stored(after=after)
    assert len(story.end().wrong) == wrong


@pytest.mark.parametrize(
    ("binding", "work", "touched", "wrong"),
    [
        ("b1", WorkKind.MESSAGE, True, 0),
        ("b1", WorkKind.MESSAGE, False, 1),
        ("b1", WorkKind.CONTROL, False, 0),
        (None, WorkKind.MESSAGE, False, 0),
    ],
)
def test_what_a_person_says_there_is_activity_too(binding: str | None, work: WorkKind, touched: bool, wrong: int):
    story = Author("B2")
    story.bound()
    story.now = 30.0
    story.said()
    story.routed(binding=binding)
    story.admitted(work=work)
    if touched:
        story.touched(by="inbound")
    assert len(story.end().wrong) == wrong


@pytest.mark.parametrize("reason", [Reason.MISPLACED, Reason.OPERATOR_SENT])
def test_what_is_not_seen_there_is_no_activity(reason: Reason):
    story = Author("B2")
    story.bound()
    story.meant()
    story.tell(ChunkAcked(chunk=0, address=PLACE, provider_id="p", reason=reason), intent="i1", after=30)
    assert story.end().wrong == []


def test_what_is_said_elsewhere_touches_nothing():
    story = Author("B2")
    story.bound()
    story.meant(binding=None)
    story.stored(after=30)
    assert story.end().wrong == []


# ---------------------------------------------------------------- B2: tokens


def test_the_newest_token_is_well():
    story = Author("B2")
    story.rotated()
    story.spoken(credential=2, after=10)
    assert (story.wrong, story.verdict.exercised) == ([], 1)


@for_each(("after", "wrong"), [(0.4, 0), (0.6, 1), (50.0, 1)])
@for_each("how", ["spoken", "turned_down"])
def test_an_older_one_is_well_only_in_the_moment_of_the_change(how: str, after: float, wrong: int):
    story = Author("B2")
    story.rotated(3)
    getattr(story, how)(credential=2, after=after)
    assert len(story.wrong) == wrong


@pytest.mark.parametrize(("after", "wrong"), [(4.0, 0), (5.4, 0), (6.0, 1)])
def test_a_gateway_uses_a_token_when_it_was_given_it(after: float, wrong: int):
    story = Author("B2")
    story.rotated(tell=5.0)
    story.turned_down(1, after=after)
    assert len(story.wrong) == wrong


def test_tokens_are_those_of_their_account():
    story = Author("B2")
    story.rotated(account="other")
    story.spoken(credential=1, after=10)
    story.spoken(credential=1, place=OTHER_ACCOUNT, intent="i2")
    assert story.wrong == ["i2 was sent with token 1 of telegram"]


def test_where_tokens_are_not_counted_nothing_is_judged():
    story = Author("B2")
    story.rotated()
    story.spoken(credential=0, after=10)
    assert story.verdict.status is Status.NOT_EXERCISED
