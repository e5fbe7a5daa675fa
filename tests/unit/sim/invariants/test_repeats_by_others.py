"""What people, hooks, operators and platforms repeat is not the gateway's doing: D1, D2, D3, D4."""

from typing import Any

import pytest

from tests.support.event_stories import Story
from tests.support.factories import direct
from tests.support.invariants.attempt_trace import ERROR
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState
from trunkline.sim.events.script import SaidTwice

# ---------------------------------------------------------------- D1


@pytest.mark.parametrize(("verb", "wrong"), [("unsent", 0), ("sent", 1), ("retry", 1)])
def test_an_operator_who_says_that_it_is_not_there_answers_for_the_copy(verb: str, wrong: int) -> None:
    story = Story("D1")
    story.prepared()
    story.accepted()
    story.settled(IntentState.UNKNOWN, reason=Reason.PARKED)
    story.operator(verb)
    story.accepted()
    assert len(story.wrong) == wrong


def test_but_not_for_the_copies_after_it() -> None:
    story = Story("D1")
    story.prepared()
    story.accepted()
    story.operator("unsent")
    story.accepted()
    story.accepted()
    assert len(story.wrong) == 1


def test_a_process_that_takes_over_work_in_progress_is_wrong_even_if_it_sends_first() -> None:
    story = Story("D1")
    story.prepared()
    story.process = 2
    story.tell(LeaseTaken(owner="2", token=0, before=None, until=60.0, reason=Reason.LEASE_FREE))
    decided = story.recovered("lookup")
    story.started()
    story.accepted()
    story.process = 1
    story.started()
    story.accepted()
    (violation,) = story.verdict.violations
    assert violation.first_wrong == decided


# ---------------------------------------------------------------- D2


@pytest.mark.parametrize(("kind", "wrong"), [(IntentKind.NOTICE, 0), (IntentKind.REPLY, 1), (IntentKind.ANNOUNCE, 1)])
def test_a_notice_is_no_announcement(kind: IntentKind, wrong: int) -> None:
    story = Story("D2")
    for intent, of in (("i1", kind), ("i2", IntentKind.REPLY)):
        story.prepared(intent, intent_kind=of, delegation="d1")
        story.accepted(intent=intent)
    assert len(story.wrong) == wrong


# ---------------------------------------------------------------- D3


TOOL, REPLY = IntentKind.TOOL, IntentKind.REPLY


def said(story: Story, *kinds: IntentKind, text: str = "hello") -> None:
    for number, kind in enumerate(kinds):
        story.delivered(f"i{number}", text, turn="t1", intent_kind=kind)


@pytest.mark.parametrize(
    ("by", "second", "wrong"), [("agent main", TOOL, 0), ("agent main", REPLY, 1), ("hook censor", REPLY, 0)]
)
def test_two_sends_of_an_agent_and_what_hooks_make_equal_are_not_the_gateways_doing(
    by: str, second: IntentKind, wrong: int
) -> None:
    story = Story("D3")
    names: dict[str, Any] = {"turn": "t1"} if by.startswith("agent") else {"intent": "i1"}
    story.tell(SaidTwice(by=by, text="hello"), node="sim", **names)
    said(story, TOOL, second)
    assert len(story.wrong) == wrong


@pytest.mark.parametrize("again", ["hello", "**hello**", "hello\u200b ", "\ufeffhello"])
def test_marks_and_blanks_make_no_other_text(again: str) -> None:
    story = Story("D3")
    story.delivered("i0", "hello", turn="t1", intent_kind=TOOL)
    story.delivered("i1", again, turn="t1", intent_kind=REPLY)
    assert len(story.wrong) == 1


def test_one_repeat_explains_one_copy() -> None:
    story = Story("D3")
    story.tell(SaidTwice(by="agent main", text="hello"), node="sim", turn="t1")
    said(story, TOOL, TOOL, REPLY)
    assert len(story.wrong) == 1


def test_of_another_turn_it_explains_nothing() -> None:
    story = Story("D3")
    story.tell(SaidTwice(by="agent main", text="hello"), node="sim", turn="t2")
    said(story, TOOL, REPLY)
    assert len(story.wrong) == 1


@pytest.mark.parametrize("again", [False, True])
def test_a_turn_has_one_final_reply_whatever_it_says(again: bool) -> None:
    story = Story("D3")
    story.prepared("t1.reply", "one", turn="t1")
    story.prepared("t1.reply" if not again else "t1.again", "two", turn="t1", place=direct("200", channel="telegram"))
    assert len(story.wrong) == again


# ---------------------------------------------------------------- D4


def resent(reason: Reason, *, seen: bool = False) -> Story:
    story = Story("D4")
    story.world(mark="[again] ")
    story.prepared()
    story.started(1)
    story.ended(Reason.RESPONSE_LOST, "retry")
    story.started(2)
    if seen:
        story.accepted("[again] hello", attempt=2)
    story.ended(reason, "retry", attempt=2)
    story.started(3)
    return story


@pytest.mark.parametrize(
    ("reason", "seen", "wrong"),
    [(ERROR, False, 0), (Reason.NOT_SENT, False, 0), (ERROR, True, 1), (Reason.RESPONSE_LOST, False, 1)],
)
def test_a_marked_resend_is_used_up_unless_it_was_surely_not_taken(reason: Reason, seen: bool, wrong: int) -> None:
    assert len(resent(reason, seen=seen).wrong) == wrong


def test_an_operator_allows_another_marked_resend() -> None:
    story = resent(ERROR)
    story.ended(Reason.RESPONSE_LOST, "park", attempt=3)
    story.settled(IntentState.UNKNOWN, reason=Reason.PARKED)
    story.operator("unsent")
    story.started(1)
    story.ended(Reason.RESPONSE_LOST, "retry")
    story.started(2)
    assert story.wrong == []
