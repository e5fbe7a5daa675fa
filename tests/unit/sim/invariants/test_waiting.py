"""L6 and O1: nothing waits for ever, and conversations keep their order."""

import pytest

from tests.support.event_stories import Story
from tests.support.factories import direct
from tests.support.invariants.attempt_trace import ELSEWHERE, ERROR
from trunkline.core.events.gateway import ProcessRecovered, ProcessStarted, StoreFailed
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessThawed
from trunkline.sim.events.world import WorldLimits
from trunkline.sim.invariants import Status
from trunkline.sim.invariants.delivery.order_and_owner import BusyTime

# ---------------------------------------------------------------- L6


@pytest.mark.parametrize(("after", "wrong"), [(59, 0), (61, 1)])
def test_what_is_prepared_is_attempted_within_a_minute(after, wrong):
    story = Story("L6")
    story.prepared()
    story.started(after=after)
    assert len(story.wrong) == wrong


def test_what_is_never_attempted_is_seen_at_the_end():
    story = Story("L6")
    story.prepared()
    story.end()
    assert story.wrong == ["i1 was due at 0s, and nothing was attempted in its conversation for a minute"]


def test_behind_another_one_it_is_due_when_that_has_ended():
    story = Story("L6")
    story.prepared("i1")
    story.prepared("i2")
    story.started()
    story.ended(ERROR, "retry", retry_at=600.0)
    story.started(2, after=600)
    story.settled(IntentState.DEAD)
    story.started(intent="i2", after=30)
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 3)


def test_the_backoff_of_one_conversation_is_no_reason_for_another():
    story = Story("L6")
    story.prepared("i1")
    story.started()
    story.ended(ERROR, "retry", retry_at=600.0)
    story.prepared("i2", place=ELSEWHERE)
    story.started(intent="i2", place=ELSEWHERE, after=600)
    assert len(story.wrong) == 1


def test_a_decision_at_the_start_does_not_make_it_wait_longer():
    story = Story("L6")
    story.prepared()
    story.crashed()
    story.recovered("send", at=900.0)
    story.started(after=900)
    assert len(story.wrong) == 1


def test_a_look_up_may_have_to_wait():
    story = Story("L6")
    story.prepared()
    story.crashed()
    story.recovered("lookup", at=90.0)
    story.ended(Reason.NOT_FOUND_BY_LOOKUP, "retry", after=89, retry_at=90.0)
    story.started(2)
    assert story.wrong == []


def test_time_without_a_process_does_not_count():
    story = Story("L6")
    story.prepared()
    story.crashed(down=500)
    story.started(after=30)
    assert story.wrong == []


def test_an_attempt_that_died_with_its_process_is_due_again():
    story = Story("L6")
    story.prepared()
    story.started()
    story.crashed(down=500)
    story.started(2, after=61)
    assert len(story.wrong) == 1


@pytest.mark.parametrize("body", [ProcessThawed(), StoreFailed(reason=Reason.STORE_ERROR, error="full", retry_in=1)])
def test_time_in_which_nothing_could_be_done_does_not_count(body):
    story = Story("L6")
    story.prepared()
    story.tell(ProcessFrozen(why="freeze"))
    story.tell(body, after=500)
    story.started(after=30)
    assert story.wrong == []


def test_what_waits_for_its_channel_is_not_late():
    story = Story("L6")
    story.prepared()
    story.waits(for_=30)
    story.started(after=900)
    assert story.wrong == []


def test_what_still_waits_at_the_end_is_late():
    story = Story("L6")
    story.prepared()
    story.waits(for_=30)
    story.end(300)
    assert len(story.wrong) == 1


@pytest.mark.parametrize(("after", "wrong"), [(100, 0), (200, 1)])
def test_a_rate_gives_recovered_messages_more_time(after, wrong):
    story = Story("L6")
    story.world(rate=1)
    for number in range(60):
        story.prepared(f"i{number}", place=direct(str(number), channel="telegram"))
    story.crashed()
    story.tell(ProcessRecovered(inbounds=0, intents=60, delegations=0))
    story.recovered("send", "i59")
    story.started(intent="i59", after=after)
    assert len(story.wrong) == wrong


# ---------------------------------------------------------------- O1


def test_in_the_order_of_preparation_chunk_by_chunk():
    story = Story("O1")
    story.prepared("i1", "one", "two")
    story.prepared("i2")
    for intent, chunk in (("i1", 0), ("i1", 1), ("i2", 0)):
        story.accepted(intent=intent, chunk=chunk)
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 2)


@pytest.mark.parametrize("order", [[("i2", 0), ("i1", 0)], [("i1", 1), ("i1", 0)]], ids=["intents", "chunks"])
def test_another_order_is_wrong(order):
    story = Story("O1")
    story.prepared("i1", "one", "two")
    story.prepared("i2")
    for intent, chunk in order:
        story.accepted(intent=intent, chunk=chunk)
    assert story.verdict.status is Status.VIOLATED


def test_conversations_have_no_order_between_them():
    story = Story("O1")
    story.prepared("i1")
    story.prepared("i2", place=ELSEWHERE)
    story.accepted(intent="i2", place=ELSEWHERE)
    story.accepted(intent="i1")
    assert (story.wrong, story.verdict.status) == ([], Status.NOT_EXERCISED)


@pytest.mark.parametrize(("told", "wrong"), [(True, 0), (False, 1)])
def test_what_was_given_up_before_may_still_arrive(told, wrong):
    story = Story("O1")
    story.prepared("i1")
    story.prepared("i2")
    if told:
        story.settled(IntentState.UNKNOWN, "i1", Reason.PARKED)
    story.accepted(intent="i2")
    story.accepted(intent="i1")
    assert len(story.wrong) == wrong


def test_a_repeat_is_not_out_of_order():
    story = Story("O1")
    story.prepared("i1")
    story.accepted()
    story.accepted(provider_id="p2")
    assert story.wrong == []


# ---------------------------------------------------------------- workers


@pytest.mark.parametrize(("lanes", "wrong"), [(1, 0), (2, 1), (None, 1)])
def test_where_no_worker_is_free_nothing_is_late(lanes, wrong):
    story = Story("L6")
    story.tell(WorldLimits(max_attempts=5, max_age=3600.0, lanes=lanes), node="sim")
    story.tell(ProcessStarted())
    story.prepared("i1", place=ELSEWHERE)
    story.started(intent="i1", place=ELSEWHERE)
    story.prepared("i2")
    story.ended(Reason.ACCEPTED, "settle", "i1", after=100)
    story.started(intent="i2")
    assert len(story.wrong) == wrong


def test_only_the_time_in_which_all_workers_are_busy_is_left_out():
    story = Story("L6")
    story.tell(WorldLimits(max_attempts=5, max_age=3600.0, lanes=1), node="sim")
    story.tell(ProcessStarted())
    story.prepared("i1", place=ELSEWHERE)
    story.started(intent="i1", place=ELSEWHERE)
    story.prepared("i2")
    story.ended(Reason.ACCEPTED, "settle", "i1", after=100)
    story.started(intent="i2", after=61)
    assert len(story.wrong) == 1


def test_the_end_of_a_process_frees_its_workers():
    busy = BusyTime()
    busy.begins("a", 1.0, 1)
    busy.clear(3.0)
    busy.begins("b", 5.0, 1)
    assert (busy.between(0.0, 4.0), busy.between(2.0, 7.0), busy.between(3.0, 5.0)) == (2.0, 3.0, 0.0)


def test_an_attempt_where_nothing_is_open_is_not_late():
    story = Story("L6")
    story.delivered()
    story.started(2, after=300)
    assert story.wrong == []


def test_it_says_what_nothing_followed():
    story = Story("L6")
    story.prepared()
    story.started()
    failed = story.ended(ERROR, "retry", retry_at=5.0)
    (violation,) = story.end().verdict.violations
    assert (violation.first_wrong, violation.missing_after) == (None, failed)


@pytest.mark.parametrize(("after", "wrong"), [(59, 0), (61, 1)])
def test_that_only_the_next_process_attempts_it_is_no_excuse(after, wrong):
    story = Story("L6")
    story.prepared()
    story.tell(ProcessCrashed(why="x"), after=after)
    story.process = 2
    story.tell(ProcessStarted())
    story.started()
    assert len(story.wrong) == wrong
