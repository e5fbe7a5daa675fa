"""D5 on stories written by hand: who may take a store over, and whose attempts are whose."""

import pytest

from tests.support.factories import direct
from trunkline.core.events import Body, EventLog
from trunkline.core.events.delivery import AttemptEnded, AttemptStarted
from trunkline.core.events.hands import DelegationStarted
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.invariants import Judge, Status, Verdict, Violation
from trunkline.sim.invariants.delivery.order_and_owner import SingleClaim

LASTS = 60.0


class Author:
    """Writes a story: process, seconds, what happened."""

    def __init__(self) -> None:
        self.now = 0.0
        self._log = EventLog(lambda: self.now)
        self._judge = Judge([SingleClaim])
        self._judge.watch(self._log)
        self._tokens = 0

    def tell(self, process: int, at: float, body: Body, intent: str | None = None) -> int:
        self.now = at
        return self._log.recorder("gateway", process).record(body, intent=intent)

    def take(self, process: int, at: float, reason: Reason = Reason.LEASE_FREE) -> int:
        self._tokens += 1
        taken = LeaseTaken(owner=str(process), token=self._tokens, before=None, until=at + LASTS, reason=reason)
        return self.tell(process, at, taken)

    def attempt(self, process: int, at: float, intent: str = "i1") -> int:
        return self.tell(process, at, AttemptStarted(chunk=0, attempt=1, address=direct()), intent)

    def end(self, process: int, at: float, intent: str = "i1") -> int:
        body = AttemptEnded(chunk=0, attempt=1, reason=Reason.ACCEPTED, decision="settle")
        return self.tell(process, at, body, intent)

    def run_hand(self, process: int, at: float) -> int:
        self.now = at
        return self._log.recorder("gateway", process).record(DelegationStarted(hand="clerk"), delegation="d1")

    def freeze(self, process: int, at: float) -> None:
        self.tell(process, at, ProcessFrozen(why="freeze"))

    def thaw(self, process: int, at: float) -> None:
        self.tell(process, at, ProcessThawed())

    @property
    def verdict(self) -> Verdict:
        return self._judge.verdicts()[0]

    def wrong(self) -> Violation:
        [violation] = self.verdict.violations
        return violation


@pytest.fixture
def story() -> Author:
    return Author()


def test_without_claims_and_attempts_there_is_nothing_to_judge(story: Author) -> None:
    story.tell(1, 0, ProcessCrashed(why="crash"))
    assert story.verdict.status is Status.NOT_EXERCISED


def test_one_process_that_sends_one_after_another_is_right(story: Author) -> None:
    story.take(1, 0)
    for at in (1.0, 2.0):
        story.attempt(1, at)
        story.end(1, at + 0.5)
    story.attempt(1, 3, "i2")
    assert story.verdict.status is Status.OK
    assert story.verdict.exercised == 4


def test_other_intents_may_be_tried_at_the_same_time(story: Author) -> None:
    story.take(1, 0)
    story.attempt(1, 1, "i1")
    story.attempt(1, 1, "i2")
    assert story.verdict.status is Status.OK


def test_attempts_on_one_intent_may_not_overlap(story: Author) -> None:
    story.take(1, 0)
    first, second = story.attempt(1, 1), story.attempt(1, 2)
    assert (story.wrong().evidence, story.wrong().first_wrong) == ((first, second), second)


@pytest.mark.parametrize("end", [ProcessCrashed(why="crash"), ProcessStopped(why="restart")])
def test_the_attempts_of_a_process_end_with_it(story: Author, end: Body) -> None:
    story.take(1, 0)
    story.attempt(1, 1)
    story.tell(1, 2, end)
    story.take(2, 3, Reason.HOLDER_DEAD)
    story.attempt(2, 4)
    assert story.verdict.status is Status.OK


def test_the_store_of_a_process_that_lives_is_not_taken(story: Author) -> None:
    first = story.take(1, 0)
    for reason in (Reason.HOLDER_DEAD, Reason.LEASE_EXPIRED):
        second = story.take(2, 100, reason)
        assert story.verdict.violations[-1].evidence == (first, second)
        first = story.take(1, 200, Reason.LEASE_FREE)


@pytest.mark.parametrize(("still", "right"), [(39.0, False), (41.0, True), (60.0, True)])
def test_one_that_stands_still_may_have_renewed_just_before(story: Author, still: float, right: bool) -> None:
    story.take(1, 0)
    story.freeze(1, 100)
    story.take(2, 100 + still, Reason.LEASE_EXPIRED)
    assert (story.verdict.status is Status.OK) is right


@pytest.mark.parametrize(("awake", "right"), [(0.5, True), (2.0, False)])
def test_one_that_was_awake_for_a_moment_only_did_not_renew(story: Author, awake: float, right: bool) -> None:
    story.take(1, 0)
    story.freeze(1, 100)
    story.thaw(1, 150)
    story.freeze(1, 150 + awake)
    story.take(2, 160, Reason.LEASE_EXPIRED)
    assert (story.verdict.status is Status.OK) is right


def test_one_that_lost_the_store_sends_nothing(story: Author) -> None:
    story.take(1, 0)
    story.attempt(1, 1)
    story.freeze(1, 2)
    story.take(2, 90, Reason.LEASE_EXPIRED)
    # What it had begun is on the wire, and may be tried again.
    story.attempt(2, 91)
    story.thaw(1, 120)
    story.end(1, 120)
    assert story.verdict.status is Status.OK
    late = story.attempt(1, 121, "i2")
    assert story.wrong().first_wrong == late
    assert "had lost the store" in story.wrong().summary


def test_one_that_never_held_the_store_sends_nothing(story: Author) -> None:
    story.take(1, 0)
    late = story.attempt(2, 1)
    assert story.wrong().first_wrong == late
    assert "does not hold the store" in story.wrong().summary


def test_one_that_is_robbed_is_not_to_blame(story: Author) -> None:
    story.take(1, 0)
    robbed = story.take(2, 10)
    story.attempt(1, 11)
    assert story.wrong().first_wrong == robbed


def test_one_that_gives_the_store_back_may_end_afterwards(story: Author) -> None:
    story.take(1, 0)
    story.take(2, 10)
    story.tell(1, 10.1, ProcessStopped(why="restart"))
    story.attempt(2, 11)
    assert story.verdict.status is Status.OK


def test_a_story_without_leases_is_judged_by_its_overlaps_alone(story: Author) -> None:
    story.attempt(1, 1)
    story.end(1, 2)
    story.attempt(2, 3)
    assert story.verdict.status is Status.OK


def test_a_hand_that_is_started_twice_is_claimed_twice(story: Author) -> None:
    story.take(1, 0)
    first, second = story.run_hand(1, 1), story.run_hand(1, 2)
    assert (story.wrong().evidence, story.wrong().first_wrong) == ((first, second), second)


def test_a_hand_whose_process_died_may_be_started_again_once(story: Author) -> None:
    story.take(1, 0)
    story.run_hand(1, 1)
    story.tell(1, 2, ProcessCrashed(why="crash"))
    story.take(2, 3, Reason.HOLDER_DEAD)
    story.run_hand(2, 4)
    assert story.verdict.status is Status.OK
    assert story.verdict.exercised == 4
    story.run_hand(2, 4.01)
    assert story.verdict.status is Status.VIOLATED


def test_two_processes_that_start_the_same_hand_both_claim_it(story: Author) -> None:
    story.take(1, 0)
    first, second = story.run_hand(1, 1), story.run_hand(2, 2)
    assert story.wrong().evidence == (first, second)


def test_the_hand_of_one_that_lost_the_store_may_be_started_again(story: Author) -> None:
    story.take(1, 0)
    story.run_hand(1, 1)
    story.freeze(1, 2)
    story.take(2, 90, Reason.LEASE_EXPIRED)
    story.run_hand(2, 91)
    assert story.verdict.status is Status.OK


def test_each_process_takes_the_lease_for_as_long_as_it_was_configured(story: Author) -> None:
    """A reload makes the lease longer: the process that stands still has the one from before."""
    story.take(1, 0)
    story.freeze(1, 1)
    longer = LeaseTaken(owner="2", token=2, before="1", until=LASTS * 11, reason=Reason.LEASE_EXPIRED)
    story.tell(2, LASTS + 1, longer)
    assert story.verdict.status is Status.OK
