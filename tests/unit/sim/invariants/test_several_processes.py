"""What a process that stands by, stands still or has died may know, and what that says of the others."""

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.invariants.attempt_trace import ERROR
from tests.support.invariants.status_trace import DELIVERED, outcome
from trunkline.core.events.delivery import HookSending
from trunkline.core.events.gateway import InboundReceived, ProcessStarted
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.values import Peer
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessThawed
from trunkline.sim.events.world import PlatformConnected, PlatformPushed

HOLDER, STANDBY = 1, 2


class Pair(Story):
    """A process that holds the store, and one that waits for it."""

    def __init__(self, *only: str) -> None:
        super().__init__(*only)
        self.world()
        self.tell(LeaseTaken(owner="gateway 1", token=1, before=None, until=60.0, reason=Reason.LEASE_FREE))
        self.standby(ProcessStarted())

    def standby(self, body: ProcessStarted | ProcessCrashed, after: float = 0.0) -> None:
        self.process = STANDBY
        self.tell(body, after=after)
        self.process = HOLDER


# ---------------------------------------------------------------- the end of a standby


def test_what_hooks_of_the_holder_saw_is_still_owed() -> None:
    story = Pair("V1")
    story.tell(HookSending(verdict="kept", by=(), reason=Reason.KEPT_BY_HOOKS), intent="i1")
    story.standby(ProcessCrashed(why="crash"))
    story.delivered()
    story.tell(outcome(DELIVERED), intent="i1")
    assert story.end().wrong == []


@pytest.mark.parametrize("received", [False, True])
def test_what_was_pushed_to_the_holder_is_still_owed(received: bool) -> None:
    story = Pair("V1")
    pushed = story.tell(PlatformPushed(address=PLACE, message_id="7", original_id="7"), node="telegram")
    if received:
        body = InboundReceived(address=PLACE, peer=Peer(id="100"), message_id="7", text="hi")
        pushed = story.tell(body, inbound="m1", cause=pushed)
    story.standby(ProcessCrashed(why="crash"))
    (violation,) = story.end().verdict.violations
    assert (violation.first_wrong, violation.missing_after) == (None, pushed)


@pytest.mark.parametrize(("connects", "wrong"), [(False, 0), (True, 1)])
def test_a_push_is_owed_by_the_process_that_has_the_connection(connects: bool, wrong: int) -> None:
    """Until the process that took the store connects, what is pushed goes to the frozen one, and dies with it."""
    story = Pair("V1")
    connected = PlatformConnected(channel=PLACE.channel, account=PLACE.account)
    story.tell(connected, node="telegram")
    story.tell(ProcessFrozen(why="freeze"))
    story.process = STANDBY
    story.tell(LeaseTaken(owner="second 2", token=2, before="gateway 1", until=120.0, reason=Reason.LEASE_EXPIRED))
    if connects:
        story.tell(connected, node="telegram")
    story.tell(PlatformPushed(address=PLACE, message_id="7", original_id="7"), node="telegram")
    story.process = HOLDER
    story.tell(ProcessThawed())
    story.tell(ProcessCrashed(why="LeaseLost"))
    assert len(story.end().wrong) == wrong


def test_a_refusal_that_the_holder_heard_is_still_owed() -> None:
    story = Pair("V1")
    story.prepared()
    story.started()
    story.refused()
    story.standby(ProcessCrashed(why="crash"))
    story.ended(Reason.ACCEPTED, "settle")
    assert len(story.wrong) == 1


def test_it_puts_no_send_of_the_holder_in_doubt() -> None:
    story = Pair("D4")
    story.prepared()
    story.started()
    story.standby(ProcessCrashed(why="crash"))
    story.ended(ERROR, "retry", retry_at=5.0)
    story.started(2, after=5)
    assert story.wrong == []


def test_it_ends_no_wait_of_the_holder() -> None:
    story = Pair("L4")
    story.prepared()
    story.waits(for_=30)
    story.standby(ProcessCrashed(why="crash"))
    story.started(after=10)
    assert len(story.wrong) == 1


@pytest.mark.parametrize("start", [False, True])
def test_its_start_is_no_excuse_for_what_is_late(start: bool) -> None:
    story = Pair("L6")
    story.prepared()
    if start:
        story.standby(ProcessStarted(), after=50)
    story.started(after=50 if start else 100)
    assert len(story.wrong) == 1


def test_a_wait_for_an_adapter_goes_on_when_it_dies() -> None:
    story = Pair("L6")
    story.prepared()
    story.waits(for_=5)
    story.standby(ProcessCrashed(why="crash"), after=10)
    story.started(after=100)
    assert story.wrong == []


def test_its_start_does_not_begin_a_new_rate() -> None:
    story = Story("L5")
    story.world(rate=1)
    for number in range(6):
        story.prepared(f"i{number}")
    story.crashed()
    for number in range(6):
        story.recovered("send", f"i{number}")
        story.started(intent=f"i{number}")
        story.process += 1
        story.tell(ProcessStarted())
        story.process -= 1
    assert story.wrong != []


# ---------------------------------------------------------------- frozen


@pytest.mark.parametrize(("thaws", "wrong"), [(False, 0), (True, 1)])
def test_a_frozen_process_has_no_time_to_store_a_receipt(thaws: bool, wrong: int) -> None:
    story = Story("V1")
    story.prepared()
    story.started()
    story.accepted()
    story.ended(Reason.ACCEPTED, "settle")
    story.tell(ProcessFrozen(why="freeze"))
    story.now += 60
    if thaws:
        story.tell(ProcessThawed())
        story.now += 60
    story.tell(ProcessCrashed(why="crash"))
    assert len(story.wrong) == wrong


def test_a_frozen_process_does_not_store_that_it_was_refused() -> None:
    story = Story("L5")
    story.world()
    story.prepared()
    story.started()
    story.ended(Reason.REFUSED, "fail")
    story.tell(ProcessFrozen(why="freeze"))
    story.now += 60
    story.crashed()
    story.started(2)
    assert story.wrong == []


# ---------------------------------------------------------------- what was not heard


def test_what_a_dead_process_was_asked_is_not_held_against_a_later_chunk() -> None:
    story = Story("L5")
    story.world()
    story.prepared("i1", "one", "two")
    story.started()
    story.refused(reason=Reason.RATE_LIMITED, retry_after=60)
    story.crashed()
    story.sent("one")
    story.started(chunk=1)
    story.ended(ERROR, "retry", chunk=1, retry_at=story.now + 5)
    story.started(2, chunk=1, after=5)
    assert story.wrong == []


@pytest.mark.parametrize("only", ["L5", "V1"])
def test_a_refusal_after_the_death_of_the_process_was_not_heard(only: str) -> None:
    story = Story(only)
    story.world()
    story.prepared()
    story.started()
    story.tell(ProcessCrashed(why="crash"))
    story.refused(reason=Reason.RATE_LIMITED, retry_after=60)
    story.process += 1
    story.tell(ProcessStarted())
    if only == "V1":
        story.ended(Reason.ACCEPTED, "settle")
    else:
        story.ended(Reason.NOT_FOUND_BY_LOOKUP, "retry", retry_at=story.now)
        story.started(2)
    assert story.wrong == []
