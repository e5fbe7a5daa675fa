"""D7, L1 and L3: turns and intents end once, and receipts name what the platform made."""

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.for_each import for_each
from tests.support.invariants.status_trace import CANCELLED, DELIVERED, UNKNOWN
from trunkline.core.events.delivery import IntentReopened, SendRequested, TargetResolved
from trunkline.core.events.gateway import InboundReceived, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.script import ClientAnswered, ClientRequested
from trunkline.sim.invariants import Status

# ---------------------------------------------------------------- D7


def a_message(story: Story) -> None:
    story.tell(InboundReceived(address=PLACE, peer=Peer(id="100"), message_id="7", text="hi"), inbound="m1")


def a_turn(story: Story) -> None:
    body = TurnStarted(agent="main", session_id="s", session_key="k", work=WorkKind.MESSAGE, origin=PLACE)
    story.tell(body, inbound="m1", turn="t1")


@pytest.mark.parametrize("answered", [True, False])
def test_a_turn_is_run_again_only_while_nobody_has_its_answer(answered):
    story = Story("D7")
    a_message(story)
    a_turn(story)
    story.prepared(turn="t1", inbound="m1")
    if answered:
        story.accepted()
    story.crashed()
    a_turn(story)
    assert story.wrong == (["t1 ran again although its answer had been accepted"] if answered else [])


def test_a_process_that_stood_still_may_begin_what_another_has_done():
    story = Story("D7")
    a_message(story)
    story.process = 2
    a_turn(story)
    story.prepared(turn="t1", inbound="m1")
    story.accepted()
    story.process = 1
    a_turn(story)
    assert story.wrong == []


# ---------------------------------------------------------------- L1


def test_what_a_hook_cancelled_ends_as_it_begins():
    story = Story("L1")
    story.settled(CANCELLED)
    assert story.end().wrong == []


def test_it_is_not_cancelled_twice():
    story = Story("L1")
    story.settled(CANCELLED)
    story.settled(CANCELLED)
    assert len(story.wrong) == 1


def parked(*only: str) -> Story:
    story = Story(*only)
    story.world()
    story.prepared("i1", "one", "two")
    story.started()
    story.ended(Reason.RESPONSE_LOST, "park")
    story.settled(UNKNOWN, reason=Reason.PARKED)
    return story


@pytest.mark.parametrize("ends", [True, False])
def test_what_an_operator_reopens_ends_once_more(ends):
    story = parked("L1")
    story.operator("unsent")
    story.tell(IntentReopened(before=UNKNOWN, reason=Reason.OPERATOR_UNSENT, chunk=0), intent="i1")
    if ends:
        story.settled(DELIVERED)
    assert story.end().broken == ([] if ends else ["L1"])


@pytest.mark.parametrize("told", [True, False])
def test_an_operators_word_may_be_the_end_and_its_event_lost_with_the_process(told):
    story = parked("L1")
    story.operator("abandon")
    if told:
        story.settled(UNKNOWN)
    assert story.end().wrong == []


def test_nothing_ends_twice_without_an_operator():
    story = parked("L1")
    story.settled(DELIVERED)
    assert story.wrong == ["i1 ended 2 times"]


# ---------------------------------------------------------------- L3


def test_a_receipt_names_what_the_platform_made():
    story = Story("L3")
    story.world()
    story.delivered()
    assert story.verdict.status is Status.OK


@pytest.mark.parametrize(("receipt", "nameless", "wrong"), [("p-i1/0", 0, 0), ("x", 0, 1), ("", 0, 1), ("", 1, 0)])
def test_a_receipt_that_names_nothing_is_none_unless_the_platform_gives_no_names(receipt, nameless, wrong):
    story = Story("L3")
    story.world(nameless=bool(nameless))
    story.prepared()
    story.started()
    story.accepted()
    story.acked(provider_id=receipt)
    assert len(story.wrong) == wrong


def test_a_receipt_of_another_chunk_is_none():
    story = Story("L3")
    story.world()
    story.prepared("i1", "one", "two")
    story.accepted("one")
    story.acked(chunk=1, provider_id="p-i1/0")
    assert len(story.wrong) == 1


def test_an_operators_word_is_no_receipt_and_no_lie():
    story = parked("L3")
    for chunk in (0, 1):
        story.operator("sent")
        story.acked(chunk=chunk, provider_id="", reason=Reason.OPERATOR_SENT)
    story.settled(DELIVERED, reason=Reason.OPERATOR_SENT)
    assert story.wrong == []


def test_what_was_said_before_an_operator_came_does_not_hold_any_more():
    story = Story("L3")
    story.world()
    story.prepared()
    story.settled(IntentState.FAILED, reason=Reason.REFUSED)
    story.operator("retry")
    story.accepted()
    assert story.wrong == []


def a_client(*, dry_run: bool = False, accepted: bool = True) -> tuple[Story, int]:
    """A client asks, and maybe the platform takes it."""
    story = Story("L3")
    story.world()
    asked = story.tell(ClientRequested(key="c", dry_run=dry_run), node="sim")
    sent = story.tell(SendRequested(key="c", channel=None, target="x", session_key=None, text="hello"), cause=asked)
    aimed = story.tell(
        TargetResolved(channel="telegram", target="x", address=PLACE, session_key="k", steps=()), cause=sent
    )
    if accepted:
        story.prepared("send:c", intent_kind=IntentKind.SEND, cause=aimed)
        story.accepted(intent="send:c")
    return story, asked


@for_each(
    ("status", "provider_id", "wrong"),
    [
        ("delivered", "p-send:c/0", 0),
        ("delivered", "p-send:d/0", 1),
        ("delivered", None, 1),
        ("not-delivered", None, 0),
        ("not-delivered", "p-send:c/0", 1),
        ("failed", None, 0),
        ("dry-run", None, 1),
    ],
)
def test_a_client_learns_what_the_platform_did(status, provider_id, wrong):
    story, asked = a_client()
    story.tell(ClientAnswered(key="c", status=status, provider_id=provider_id), node="sim", cause=asked)
    assert len(story.wrong) == wrong


def test_a_success_without_a_message_is_none_best_effort_or_not():
    story, asked = a_client(accepted=False)
    story.tell(ClientAnswered(key="c", status="delivered", provider_id="best-effort"), node="sim", cause=asked)
    assert story.wrong == ["a send was reported as delivered; accepted under its key: 0 chunks"]


@pytest.mark.parametrize(
    ("status", "provider_id", "wrong"),
    [("dry-run", None, 0), ("refused", None, 0), ("delivered", None, 1), ("dry-run", "p1", 1), ("queued", None, 1)],
)
def test_a_dry_run_is_reported_as_one(status, provider_id, wrong):
    story, asked = a_client(dry_run=True, accepted=False)
    story.tell(ClientAnswered(key="c", status=status, provider_id=provider_id), node="sim", cause=asked)
    assert len(story.wrong) == wrong
