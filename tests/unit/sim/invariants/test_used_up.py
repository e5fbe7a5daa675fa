"""L4: attempts are used up only if they were made."""

from typing import Any

import pytest

from tests.support.event_stories import Story
from tests.support.for_each import for_each
from tests.support.invariants.attempt_trace import ERROR
from trunkline.core.events.delivery import RecoveryDecided
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState

USED_UP = Reason.ATTEMPTS_EXHAUSTED


def begun(*, attempts: int = 3, **fields: Any) -> Story:
    story = Story("L4")
    story.world(attempts=attempts)
    story.prepared(**fields)
    return story


def tried(story: Story, times: int) -> None:
    for attempt in range(1, times + 1):
        story.started(attempt)
        story.ended(ERROR, "retry", attempt=attempt, retry_at=story.now)


@for_each("state", [IntentState.DEAD, IntentState.UNKNOWN, IntentState.PARTIAL])
@for_each(("times", "wrong"), [(2, 1), (3, 0)])
def test_all_of_them_were_made(state: IntentState, times: int, wrong: int) -> None:
    story = begun()
    tried(story, times)
    story.settled(state, reason=USED_UP)
    assert len(story.wrong) == wrong


def test_best_effort_has_one() -> None:
    story = begun(best_effort=True)
    tried(story, 1)
    story.settled(IntentState.DEAD, reason=USED_UP)
    assert story.wrong == []


def test_a_failed_look_up_counts() -> None:
    story = begun()
    tried(story, 2)
    story.ended(Reason.LOOKUP_FAILED, "lookup", attempt=2)
    story.settled(IntentState.DEAD, reason=USED_UP)
    assert story.wrong == []


def test_those_of_an_earlier_chunk_do_not_count() -> None:
    story = Story("L4")
    story.world(attempts=2)
    story.prepared("i1", "one", "two")
    tried(story, 1)
    story.started(2)
    story.acked()
    story.started(1, chunk=1)
    story.settled(IntentState.PARTIAL, reason=USED_UP)
    assert len(story.wrong) == 1


def test_a_limit_that_was_lowered_is_the_limit() -> None:
    story = begun(attempts=5)
    tried(story, 2)
    story.world(attempts=2)
    story.settled(IntentState.DEAD, reason=USED_UP)
    assert story.wrong == []


def restarted(story: Story, decision: str, at: float | None = None, reason: Reason = Reason.CRASH_AMBIGUOUS) -> int:
    story.crashed()
    return story.tell(RecoveryDecided(decision=decision, reason=reason, attempts=1, at=at), intent="i1")


@pytest.mark.parametrize("why", ["not ready", "a look-up is due", "not yet due", "could send"])
def test_a_process_that_died_made_one_only_if_it_could(why: str) -> None:
    """But for the first: that one leaves no trace in the store."""
    story = begun(attempts=3)
    for _ in range(3):
        if why == "not ready":
            story.waits()
        later = story.now + 100
        restarted(story, "lookup" if why == "a look-up is due" else "resend", later if why == "not yet due" else None)
    parked = restarted(story, "park", reason=USED_UP)
    story.settled(IntentState.UNKNOWN, reason=Reason.PARKED, cause=parked)
    assert len(story.wrong) == (why != "could send")


def test_the_first_one_leaves_no_trace() -> None:
    story = begun(attempts=1)
    story.waits()
    parked = restarted(story, "park", reason=USED_UP)
    story.settled(IntentState.UNKNOWN, reason=Reason.PARKED, cause=parked)
    assert story.wrong == []


def test_the_step_that_decided_to_give_up_is_to_blame() -> None:
    story = begun(attempts=3)
    story.waits()
    parked = restarted(story, "park", reason=USED_UP)
    story.settled(IntentState.UNKNOWN, reason=Reason.PARKED, cause=parked)
    (violation,) = story.verdict.violations
    assert violation.first_wrong == parked
