"""How checkers of messages judge changes: by what the platform carried out."""

from typing import Any

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.factories import direct
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Idempotency, IntentState
from trunkline.sim.events.actions import WireActed
from trunkline.sim.invariants.base import Status

ELSEWHERE = direct("200", channel="telegram")
LOST = Reason.RESPONSE_LOST


def change(
    *checkers: str, action: Action = Action.EDIT, idempotency: Idempotency = Idempotency.KEY, **fields: Any
) -> Story:
    """A change of message 11, which is about to be requested."""
    story = Story(*checkers)
    story.world(idempotency)
    story.prepared(action=action, message_id="11", mirror_key=None, **fields)
    story.started()
    return story


def acted(
    story: Story,
    message: str | None = "11",
    *,
    action: Action = Action.EDIT,
    request: int = 0,
    made: str = "",
    place: Address = PLACE,
) -> None:
    body = WireActed(
        action=action,
        address=place,
        requested=PLACE,
        key=f"i1/{request}",
        chunk=request,
        attempt=1,
        provider_id=message or made,
        message_id=message,
        text="new",
    )
    story.tell(body, node="telegram", intent="i1")


# ---------------------------------------------------------------- L3


def test_a_change_that_was_carried_out_is_delivered() -> None:
    story = change("L3")
    acted(story)
    story.ended(Reason.ACCEPTED, "settle")
    story.acked(provider_id="11")
    story.settled(IntentState.DELIVERED)
    assert story.verdict.status is Status.OK


@pytest.mark.parametrize(("place", "wrong"), [(ELSEWHERE, False), (PLACE, True)], ids=["elsewhere", "there"])
def test_a_change_is_misplaced_if_it_took_effect_elsewhere(place: Address, wrong: bool) -> None:
    story = change("L3")
    acted(story, place=place)
    story.settled(IntentState.MISPLACED, reason=Reason.MISPLACED)
    assert (story.verdict.status is Status.VIOLATED) is wrong


def test_a_change_may_take_effect_in_the_place_that_it_creates() -> None:
    story = change("L3", action=Action.THREAD_CREATE)
    acted(story, None, action=Action.THREAD_CREATE, made="200", place=ELSEWHERE)
    story.acked(provider_id="200")
    story.settled(IntentState.DELIVERED)
    assert story.verdict.status is Status.OK


def test_a_change_that_nobody_carried_out_is_not_delivered() -> None:
    story = change("L3")
    story.ended(Reason.ACCEPTED, "settle")
    story.acked(provider_id="11")
    story.settled(IntentState.DELIVERED)
    assert story.wrong == [
        "the receipt of i1 chunk 1 names a message that the platform never created",
        "i1 is recorded as delivered; accepted: 0 of 1 chunks",
    ]


def test_a_receipt_of_a_change_names_the_message_that_was_changed() -> None:
    story = change("L3")
    acted(story, "12")
    story.acked(provider_id="11")
    assert len(story.wrong) == 1


def test_what_creates_something_has_a_receipt_for_it() -> None:
    story = change("L3", action=Action.THREAD_CREATE)
    acted(story, None, action=Action.THREAD_CREATE, made="thread-1")
    story.acked(provider_id="thread-1")
    assert story.wrong == []


def test_a_change_that_failed_was_not_carried_out_later_either() -> None:
    story = change("L3")
    story.ended(Reason.REFUSED, "fail")
    story.settled(IntentState.FAILED, reason=Reason.REFUSED)
    assert story.wrong == []
    acted(story)
    assert story.wrong == ["i1 is recorded as failed; accepted: 1 of 1 chunks"]


def test_a_deletion_is_delivered_when_each_message_is_deleted() -> None:
    story = Story("L3")
    story.world()
    story.prepared("i1", "", "", action=Action.DELETE, mirror_key=None)
    for request in (0, 1):
        acted(story, str(request), action=Action.DELETE, request=request)
        story.acked(chunk=request, provider_id=str(request))
    story.settled(IntentState.DELIVERED)
    assert story.wrong == []


# ---------------------------------------------------------------- D4


@for_each("idempotency", Idempotency)
@for_each(("action", "wrong"), [(Action.EDIT, 0), (Action.KICK, 1), (Action.THREAD_CREATE, 1)])
def test_only_a_change_without_a_further_effect_is_requested_again(
    action: Action, wrong: int, idempotency: Idempotency
) -> None:
    story = change("D4", action=action, idempotency=idempotency)
    story.ended(LOST, "retry")
    story.started(2)
    assert len(story.wrong) == wrong


def test_what_surely_was_not_done_is_requested_again() -> None:
    story = change("D4", action=Action.KICK)
    story.ended(Reason.NOT_SENT, "retry")
    story.started(2)
    assert story.wrong == []


# ---------------------------------------------------------------- L4


def ended_without_message(message: IntentState, *, acked: bool) -> Story:
    """A queued message that ends somehow, and a change of it that finds nothing to change."""
    story = Story("L4")
    story.world()
    story.prepared("i0")
    story.started(intent="i0")
    if acked:
        story.accepted(intent="i0")
        story.acked("i0")
    else:
        story.refused(intent="i0")
    story.settled(message, "i0", Reason.ACCEPTED if acked else Reason.REFUSED)
    story.prepared(action=Action.DELETE, of="i0", mirror_key=None)
    story.settled(IntentState.FAILED, reason=Reason.NOTHING_TO_CHANGE)
    return story


def test_a_change_of_what_never_arrived_may_end_without_a_request() -> None:
    assert ended_without_message(IntentState.FAILED, acked=False).wrong == []
    assert ended_without_message(IntentState.MISPLACED, acked=True).wrong == []


def test_a_change_of_what_did_arrive_may_not() -> None:
    story = ended_without_message(IntentState.DELIVERED, acked=True)
    assert story.wrong == ["i1 was given up for good (nothing-to-change), though no platform refused it"]
