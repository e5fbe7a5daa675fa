"""V1: every outcome is recorded."""

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.invariants.status_trace import DELIVERED, outcome
from trunkline.core.events.delivery import HookSending, IntentSuppressed, MirrorRefused, OperatorActed
from trunkline.core.events.gateway import InboundReceived, StoreFailed, TurnEnded
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState, Peer
from trunkline.sim.events.processes import ProcessStopped
from trunkline.sim.events.world import PlatformPushed


@pytest.mark.parametrize(("reason", "decision", "wrong"), [("refused", "fail", 0), ("accepted", "settle", 1)])
def test_what_a_platform_refused_is_reported_as_refused(reason, decision, wrong):
    story = Story("V1")
    story.prepared()
    story.started()
    story.refused()
    story.ended(Reason(reason), decision)
    assert len(story.wrong) == wrong


def test_a_refusal_that_was_never_heard_need_not_be_reported():
    story = Story("V1")
    story.prepared()
    story.started()
    story.refused()
    story.crashed()
    story.ended(Reason.ACCEPTED, "settle")
    assert story.wrong == []


def accepted_and_not_stored() -> Story:
    story = Story("V1")
    story.prepared()
    story.started()
    story.accepted()
    story.ended(Reason.ACCEPTED, "settle")
    return story


def test_a_receipt_is_stored_or_something_says_why_not():
    story = accepted_and_not_stored()
    story.tell(ProcessStopped(why="restart"), after=60)
    assert story.wrong == ["the receipt of i1 chunk 1 was not stored, and no event explains it"]


@pytest.mark.parametrize("excuse", ["store", "crash", "time", "stored"])
def test_a_receipt_that_is_not_stored_has_its_reasons(excuse):
    story = accepted_and_not_stored()
    if excuse == "store":
        story.tell(StoreFailed(reason=Reason.STORE_ERROR, error="full", retry_in=1), after=1)
    if excuse == "crash":
        story.crashed()
    if excuse == "stored":
        story.acked()
    story.tell(ProcessStopped(why="restart"), after=1 if excuse == "time" else 60)
    assert story.wrong == []


@pytest.mark.parametrize(("told", "wrong"), [(0, 1), (1, 0), (2, 1)])
def test_hooks_hear_the_end_of_what_they_saw_once(told, wrong):
    story = Story("V1")
    story.tell(HookSending(verdict="kept", by=(), reason=Reason.KEPT_BY_HOOKS), intent="i1")
    story.delivered()
    for _ in range(told):
        story.tell(outcome(DELIVERED), intent="i1")
    assert len(story.end().wrong) == wrong


def test_hooks_hear_of_nothing_that_they_never_saw():
    story = Story("V1")
    story.delivered()
    story.tell(outcome(DELIVERED), intent="i1")
    assert story.wrong == ["hooks were notified of the outcome of i1, which they never saw"]


def test_hooks_hear_how_it_really_ended():
    story = Story("V1")
    story.tell(HookSending(verdict="kept", by=(), reason=Reason.KEPT_BY_HOOKS), intent="i1")
    story.delivered()
    story.tell(outcome(IntentState.FAILED), intent="i1")
    assert story.wrong == ["hooks were notified that i1 is failed; it is delivered"]


@pytest.mark.parametrize("ended", [True, False])
def test_an_intent_that_a_later_one_has_passed_has_ended(ended):
    story = Story("V1")
    story.prepared("i1")
    if ended:
        story.settled(IntentState.EXPIRED, "i1", Reason.TOO_OLD)
    story.delivered("i2")
    story.end()
    assert story.wrong == ([] if ended else ["i1 was overtaken by a later one, and no event explains it"])


@pytest.mark.parametrize("told", ["mirror", "refusal", "nothing"])
def test_what_was_delivered_is_in_a_transcript_or_something_says_why_not(told):
    story = Story("V1")
    story.prepared()
    story.sent()
    if told == "mirror":
        story.mirrored()
    if told == "refusal":
        story.tell(MirrorRefused(session_key="k", reason=Reason.MIRROR_REFUSED, detail=""), intent="i1")
    story.settled(DELIVERED)
    story.end()
    assert len(story.wrong) == (told == "nothing")


@pytest.mark.parametrize("cause", [True, False])
def test_a_push_is_accounted_for_by_what_it_made_come_or_by_its_id(cause):
    story = Story("V1")
    pushed = story.tell(PlatformPushed(address=PLACE, message_id="7", original_id="7"), node="telegram", inbound="m1")
    body = InboundReceived(address=PLACE, peer=Peer(id="100"), message_id="7", text="hi")
    story.tell(body, inbound="m1", cause=pushed if cause else None)
    story.crashed()
    assert story.end().wrong == []


def test_a_push_that_nobody_received_is_not_accounted_for_by_another():
    story = Story("V1")
    for number in ("7", "8"):
        story.tell(PlatformPushed(address=PLACE, message_id=number, original_id=number), node="telegram")
    story.tell(InboundReceived(address=PLACE, peer=Peer(id="100"), message_id="8", text="hi"), inbound="m1")
    story.end()
    assert any("was pushed to a live process" in summary for summary in story.wrong)


@pytest.mark.parametrize("answer", ["prepared", "cancelled", "suppressed", "a tool send", "nothing"])
def test_a_turn_that_replied_has_an_answer_or_the_end_of_one(answer):
    story = Story("V1")
    story.tell(TurnEnded(outcome="replied"), inbound="m1", turn="t1")
    if answer == "prepared":
        story.delivered("m1.reply", turn="t1")
    if answer == "a tool send":
        story.delivered("m1.send1", turn="t1", intent_kind=IntentKind.TOOL)
    if answer == "cancelled":
        story.settled(IntentState.CANCELLED, "m1.reply", Reason.CANCELLED_BY_HOOK, turn="t1")
    if answer == "suppressed":
        story.tell(IntentSuppressed(reason=Reason.ALREADY_QUEUED, text="hi"), inbound="m1", turn="t1")
    wrong = (
        []
        if answer in ("prepared", "cancelled", "suppressed")
        else ["m1 ended as replied, and no event explains its answer"]
    )
    assert story.end().wrong == wrong


@pytest.mark.parametrize(("verb", "lost"), [("discard", False), ("retry-callback", True), ("cancel", True)])
def test_only_the_operator_who_discards_a_report_explains_a_turn_without_an_answer(verb: str, lost: bool) -> None:
    story = Story("V1")
    story.tell(OperatorActed(verb=verb, detail=""), delegation="d1")
    story.tell(TurnEnded(outcome="silent", reason=Reason.DISCARDED), turn="t1", delegation="d1")
    story.end()
    assert bool(story.wrong) is lost
