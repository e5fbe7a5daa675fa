"""L4 and L5: readiness, attempt numbers, and limits."""

from typing import Any

import pytest

from tests.support.event_stories import Story
from tests.support.factories import direct
from tests.support.invariants.attempt_trace import ELSEWHERE, ERROR
from trunkline.core.events.gateway import StoreFailed
from trunkline.core.events.leases import AdapterInstalled
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState, Peer
from trunkline.sim.events.world import PlatformConnected, WorldAccount, WorldLimits
from trunkline.sim.invariants import Status

# ---------------------------------------------------------------- L4


def test_what_waits_for_its_channel_is_attempted_when_it_is_there():
    story = Story("L4")
    story.prepared()
    story.waits(for_=30)
    story.started(after=30)
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 2)


def test_nothing_is_attempted_before_the_gateway_looked_again():
    story = Story("L4")
    story.prepared()
    story.waits(for_=30)
    story.started(after=10)
    assert story.wrong == ["i1 was attempted while telegram:default was not ready"]


def test_an_adapter_that_comes_is_reason_enough_to_go_on():
    story = Story("L4")
    story.prepared()
    story.waits(Reason.NO_ADAPTER, for_=9999)
    story.tell(AdapterInstalled(channel="telegram", account="default"), after=5)
    story.started()
    assert story.wrong == []


def test_another_process_has_its_own_look():
    story = Story("L4")
    story.prepared()
    story.waits(for_=9999)
    story.crashed()
    story.started()
    assert story.wrong == []


def test_the_first_conversation_that_looks_again_finds_the_channel_ready_for_all():
    story = Story("L4")
    story.prepared("i1")
    story.prepared("i2", place=ELSEWHERE)
    story.waits(for_=5)
    story.tell(AdapterInstalled(channel="discord", account="default"), after=4)
    story.waits(for_=5, intent="i2")
    story.started(after=1)
    story.started(intent="i2")
    assert story.wrong == []


def test_waiting_for_something_else_is_no_matter_of_readiness():
    story = Story("L4")
    story.prepared()
    story.waits(Reason.CHANGED_ELSEWHERE, for_=30)
    story.started()
    assert story.wrong == []


@pytest.mark.parametrize("state", [IntentState.FAILED, IntentState.DEAD])
def test_what_is_missing_here_is_no_verdict(state):
    story = Story("L4")
    story.prepared()
    story.started()
    story.refused()
    story.settled(state, reason=Reason.NO_ADAPTER)
    assert story.wrong == ["i1 was given up for good (no-adapter), though no platform refused it"]


def test_what_was_never_attempted_is_not_given_up():
    story = Story("L4")
    story.prepared()
    story.settled(IntentState.FAILED, reason=Reason.REFUSED)
    assert len(story.wrong) == 1


@pytest.mark.parametrize(("connected", "wrong"), [(True, 0), (False, 1)])
def test_a_refusal_comes_from_a_platform(connected, wrong):
    story = Story("L4")
    story.world()
    story.prepared()
    if connected:
        story.tell(PlatformConnected(channel="telegram", account="default"), node="telegram")
    story.started()
    story.ended(Reason.REFUSED, "fail")
    story.settled(IntentState.FAILED, reason=Reason.REFUSED)
    assert len(story.wrong) == wrong


@pytest.mark.parametrize("state", [IntentState.EXPIRED, IntentState.UNKNOWN])
def test_what_gets_too_old_or_stays_in_doubt_may_end_without_an_attempt(state):
    story = Story("L4")
    story.prepared()
    story.settled(state)
    assert story.wrong == []


def test_attempts_are_numbered_as_they_are_made():
    story = Story("L4")
    story.prepared("i1", "one", "two")
    for attempt in (1, 2, 3):
        story.started(attempt)
        story.ended(ERROR, "retry", attempt=attempt)
    story.acked()
    story.started(1, chunk=1)
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 4)


@pytest.mark.parametrize("number", [1, 3])
def test_a_number_that_is_not_that_of_the_attempts_is_wrong(number):
    story = Story("L4")
    story.prepared()
    story.started(1)
    story.ended(ERROR, "retry")
    story.started(number)
    assert story.wrong == [f"i1 chunk 1 counts {number} attempts; it has made 2"]


def test_what_a_dead_process_may_have_attempted_counts():
    story = Story("L4")
    story.prepared()
    story.crashed()
    story.recovered()
    story.started(2)
    assert story.wrong == []


def test_a_look_up_that_fails_counts():
    story = Story("L4")
    story.prepared()
    story.started(1)
    story.ended(Reason.LOOKUP_FAILED, "lookup", attempt=2)
    story.ended(Reason.NOT_FOUND_BY_LOOKUP, "retry", attempt=2)
    story.started(3)
    assert story.wrong == []


def test_an_operator_has_it_begin_again():
    story = Story("L4")
    story.prepared()
    for attempt in (1, 2):
        story.started(attempt)
        story.ended(ERROR, "fail", attempt=attempt)
    story.operator("retry")
    story.started(1)
    assert story.wrong == []


# ---------------------------------------------------------------- L5


@pytest.mark.parametrize(("attempts", "wrong"), [(3, 0), (4, 1)])
def test_attempts_have_an_end_over_all_processes(attempts, wrong):
    story = Story("L5")
    story.world(attempts=3)
    story.prepared()
    for attempt in range(1, attempts + 1):
        story.started(attempt)
        story.crashed()
    assert len(story.wrong) == wrong


@pytest.mark.parametrize(("age", "wrong"), [(3590, 0), (3700, 1)])
def test_what_is_too_old_is_not_attempted(age, wrong):
    story = Story("L5")
    story.world(age=3600)
    story.prepared()
    story.started(after=age)
    assert len(story.wrong) == wrong


def test_what_an_operator_has_tried_again_is_young_again():
    story = Story("L5")
    story.world(age=3600)
    story.prepared()
    story.settled(IntentState.EXPIRED, reason=Reason.TOO_OLD, after=4000)
    story.operator("retry")
    story.started()
    assert story.verdict.status is Status.OK


@pytest.mark.parametrize(("after", "wrong"), [(10, 1), (20, 0)])
def test_a_platform_that_asks_to_wait_is_left_alone(after, wrong):
    story = Story("L5")
    story.world()
    story.prepared()
    story.started()
    story.refused(reason=Reason.RATE_LIMITED, retry_after=20)
    story.ended(Reason.RATE_LIMITED, "retry")
    story.started(2, after=after)
    assert len(story.wrong) == wrong


def test_what_the_gateway_never_heard_it_cannot_wait_for():
    story = Story("L5")
    story.world()
    story.prepared()
    story.started()
    story.refused(reason=Reason.RATE_LIMITED, retry_after=20)
    story.crashed()
    story.started(2)
    assert story.wrong == []


def test_a_refusal_that_came_too_late_was_not_heard():
    story = Story("L5")
    story.world()
    story.prepared()
    story.started()
    story.refused(reason=Reason.RATE_LIMITED, retry_after=20)
    story.ended(Reason.RESPONSE_LOST, "retry", retry_at=1.0)
    story.started(2, after=1)
    assert story.wrong == []


@pytest.mark.parametrize(("after", "wrong"), [(3, 1), (5, 0)])
def test_the_gateway_keeps_to_its_own_backoff(after, wrong):
    story = Story("L5")
    story.world()
    story.prepared()
    story.started()
    story.ended(ERROR, "retry", retry_at=5.0)
    story.started(2, after=after)
    assert len(story.wrong) == wrong


def test_what_was_refused_for_good_is_over():
    story = Story("L5")
    story.world()
    story.prepared()
    story.started()
    story.ended(Reason.REFUSED, "fail")
    story.now += 5
    story.crashed()
    story.started(2)
    assert story.wrong == ["i1 was tried again after a permanent refusal"]


def test_in_the_same_process_at_once():
    story = Story("L5")
    story.prepared()
    story.started()
    story.ended(Reason.REFUSED, "fail")
    story.started(2)
    assert story.wrong == ["i1 was tried again after a permanent refusal"]


def test_what_a_process_took_with_it_the_next_one_does_not_know():
    story = Story("L5")
    story.prepared()
    story.started()
    story.refused()
    story.ended(Reason.REFUSED, "fail")
    story.crashed()
    story.started(2)
    assert story.wrong == []


def test_a_process_stores_nothing_while_its_store_refuses():
    story = Story("L5")
    story.prepared()
    story.started()
    story.refused()
    story.ended(Reason.REFUSED, "fail")
    story.tell(StoreFailed(reason=Reason.STORE_ERROR, error="disk I/O error", retry_in=5.0))
    story.now += 5
    story.crashed()
    story.started(2)
    assert story.wrong == []


def test_but_it_knows_what_was_stored():
    story = Story("L5")
    story.prepared()
    story.started()
    story.refused()
    story.ended(Reason.REFUSED, "fail")
    story.settled(IntentState.FAILED, reason=Reason.REFUSED)
    story.crashed()
    story.started(2)
    assert story.wrong == ["i1 was tried again after a permanent refusal"]


@pytest.mark.parametrize(("gap", "wrong"), [(0.5, False), (0.1, True)])
def test_recovered_messages_go_at_the_configured_rate(gap, wrong):
    story = Story("L5")
    story.world(rate=2)
    for number in range(8):
        story.prepared(f"i{number}", place=direct(str(number), channel="telegram"))
    story.crashed()
    for number in range(8):
        story.recovered("send", f"i{number}")
        story.started(intent=f"i{number}", after=gap)
    assert (story.verdict.status is Status.VIOLATED) is wrong


def test_new_messages_have_no_rate():
    story = Story("L5")
    story.world(rate=2)
    for number in range(8):
        story.prepared(f"i{number}")
        story.started(intent=f"i{number}")
    assert story.wrong == []


@pytest.mark.parametrize("lowered", ["attempts", "age"])
def test_a_retry_keeps_the_limits_by_which_it_was_planned(lowered):
    story = Story("L5")
    story.world(attempts=5, age=3600)
    story.prepared()
    for attempt in (1, 2):
        story.started(attempt)
        story.ended(ERROR, "retry", attempt=attempt, retry_at=story.now + 5, after=5)
    story.world(attempts=1 if lowered == "attempts" else 5, age=5 if lowered == "age" else 3600)
    story.started(3, after=5)
    assert story.wrong == []
    story.ended(ERROR, "retry", attempt=3, retry_at=story.now + 5)
    story.started(4, after=5)
    assert len(story.wrong) == 1


@pytest.mark.parametrize(("asked", "wait", "wrong"), [(None, 25, 0), (None, 90, 1), (90, 90, 0)])
def test_a_retry_waits_no_longer_than_the_operator_or_the_platform_says(asked, wait, wrong):
    story = Story("W2")
    story.tell(WorldLimits(max_attempts=5, max_age=3600.0, waits=(25.0,)), node="sim")
    story.tell(WorldAccount(channel="discord", account="default", bot=Peer(id="9"), idempotency=None), node="sim")
    story.prepared()
    story.started()
    story.refused(reason=Reason.RATE_LIMITED, retry_after=asked)
    told = story.ended(Reason.RATE_LIMITED, "retry", retry_at=story.now + wait)
    assert [violation.first_wrong for violation in story.verdict.violations] == [told] * wrong


def test_each_conversation_asks_for_readiness_itself():
    story = Story("L4")
    story.prepared("i1")
    story.prepared("i2", place=direct("200", channel="telegram"))
    story.waits(for_=30)
    story.started(intent="i2", place=direct("200", channel="telegram"), after=10)
    story.started(after=1)
    assert story.wrong == []


def test_without_an_adapter_no_conversation_can_send():
    story = Story("L4")
    story.prepared("i1")
    story.prepared("i2", place=direct("200", channel="telegram"))
    story.waits(Reason.NO_ADAPTER, for_=30)
    story.started(intent="i2", place=direct("200", channel="telegram"), after=10)
    assert len(story.wrong) == 1


def test_the_other_transport_is_no_further_attempt():
    story = Story("L5")
    story.world(attempts=1)
    story.prepared()
    story.started(1)
    story.ended(Reason.NOT_SENT, "fallback")
    story.started(2)
    assert story.wrong == []
    story.ended(Reason.NOT_SENT, "retry", attempt=2)
    story.started(3)
    assert len(story.wrong) == 1


# ---------------------------------------------------------------- closed places


def at_closed(times: int, story: Story, *, refused: bool = True) -> Story:
    """A message that finds its place closed so often. Only the first of these attempts counts."""
    for number in range(times):
        attempt = min(number + 1, 2)
        story.started(attempt)
        if refused:
            story.refused(attempt=attempt, reason=Reason.PLACE_CLOSED)
        story.ended(Reason.PLACE_CLOSED, "retry", attempt=attempt)
    return story


def limited(*only: str) -> Story:
    story = Story(*only)
    story.tell(WorldLimits(max_attempts=3, max_age=600), node="sim")
    return story


def test_the_refusals_of_a_closed_place_use_up_one_attempt():
    story = limited("L4", "L5")
    story.prepared()
    at_closed(9, story)
    for attempt in (2, 3):
        story.started(attempt)
        story.ended(Reason.NOT_SENT, "retry", attempt=attempt)
    assert story.wrong == []
    story.started(4)
    assert story.wrong == ["i1 was attempted 4 times"]


def test_a_place_that_was_not_closed_is_no_excuse_for_more_attempts():
    story = limited("L5")
    story.prepared()
    assert at_closed(4, story, refused=False).wrong == ["i1 was attempted 4 times"]


@pytest.mark.parametrize(
    ("fields", "after", "wrong"),
    [
        ({}, 10, ["i1 was given up after 10 s, as its place was closed"]),
        ({}, 601, []),
        ({"intent_kind": IntentKind.NOTICE}, 10, []),
        ({"best_effort": True}, 10, []),
    ],
)
def test_what_waits_for_a_closed_place_is_not_given_up_before_it_is_too_old(
    fields: dict[str, Any], after: float, wrong: list[str]
):
    story = limited("L5")
    story.prepared(**fields)
    at_closed(1, story)
    story.settled(IntentState.FAILED, reason=Reason.PLACE_CLOSED, after=after)
    assert story.wrong == wrong


def test_a_message_that_failed_for_another_reason_was_not_given_up_for_its_place():
    story = limited("L5")
    story.prepared()
    at_closed(1, story)
    story.started(2)
    story.refused(attempt=2)
    story.ended(Reason.REFUSED, "fail", attempt=2)
    story.settled(IntentState.FAILED, reason=Reason.REFUSED)
    assert story.wrong == []
