"""D1 and D4 on notices: one whose answer was lost may be sent again."""

import pytest

from tests.support.event_stories import PLACE, Story
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind
from trunkline.sim.events.wire import WireResponseLost


def a_notice_twice(between: str) -> Story:
    """A notice that is accepted, and again after something."""
    story = Story("D1", "D4")
    story.world()
    story.prepared(intent_kind=IntentKind.NOTICE)
    story.accepted(cause=story.started())
    if between == "a lost answer":
        story.tell(WireResponseLost(address=PLACE, chunk=0, attempt=1), node="telegram", intent="i1")
        story.ended(Reason.RESPONSE_LOST, "retry")
    if between == "no answer in time":
        story.ended(Reason.RESPONSE_LOST, "retry")
    if between == "a crash":
        story.crashed()
    if between == "an answer":
        story.ended(Reason.ACCEPTED, "settle")
    story.accepted(attempt=2, provider_id="p2", cause=story.started(2))
    return story


@pytest.mark.parametrize("between", ["a lost answer", "no answer in time", "a crash"])
def test_a_notice_may_be_sent_again_where_the_answer_to_it_was_lost(between):
    assert a_notice_twice(between).broken == []


@pytest.mark.parametrize("between", ["an answer", "nothing"])
def test_a_notice_is_not_sent_again_after_an_answer_or_beside_the_first_attempt(between):
    assert a_notice_twice(between).wrong == ["“hello” was accepted 2 times"]


def test_a_third_time_is_one_too_many():
    story = a_notice_twice("a lost answer")
    story.ended(Reason.RESPONSE_LOST, "retry")
    story.accepted(attempt=3, provider_id="p3", cause=story.started(3))
    assert story.wrong == ["“hello” was accepted 3 times"]


def test_an_accept_that_comes_after_the_crash_leaves_the_notice_in_doubt():
    story = Story("D1", "D4")
    story.world()
    story.prepared(intent_kind=IntentKind.NOTICE)
    first = story.started()
    story.crashed()
    story.accepted(cause=first)
    story.accepted(attempt=2, provider_id="p2", cause=story.started(2))
    assert story.broken == []


def test_a_crash_is_no_reason_to_send_a_notice_again_whose_receipt_is_stored():
    story = Story("D1")
    story.world()
    story.prepared(intent_kind=IntentKind.NOTICE)
    story.accepted(cause=story.started())
    story.ended(Reason.ACCEPTED, "settle")
    story.acked()
    story.crashed()
    story.accepted(attempt=2, provider_id="p2", cause=story.started(2))
    assert story.wrong == ["“hello” was accepted 2 times"]
