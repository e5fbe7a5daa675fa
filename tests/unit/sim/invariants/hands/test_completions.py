"""C3 and C4 on stories written by hand: where results are seen, and what the gateway says of that."""

import pytest

from tests.support.event_stories import PLACE
from tests.support.for_each import for_each
from tests.support.invariants.hand_trace import BO, ELSEWHERE, HandStory
from trunkline.core.events.bindings import BindingBound
from trunkline.core.events.delivery import AttemptStarted, Fallback
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import Address, IntentKind, WorkKind
from trunkline.sim.invariants import Status

_C = CallbackState


def asked(*only: str) -> HandStory:
    """Ana asks, and the clerk answers."""
    story = HandStory(*only)
    story.world()
    story.asks()
    story.delegates()
    story.over("m1")
    story.worked()
    return story


# -------------------------------------------------------------------- C3


def test_back_to_where_it_was_asked():
    story = asked("C3")
    story.back()
    story.says("forty")
    story.end()
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 1)


def test_elsewhere_is_wrong():
    story = asked("C3")
    story.back()
    seq = story.says("forty", ELSEWHERE)
    (violation,) = story.end().verdict.violations
    assert (violation.at, violation.blamed) == (seq, seq - 1)


def test_the_call_counts_and_not_what_the_gateway_made_of_it():
    """The gateway takes Bo's message for the one that asked, in everything that it records."""
    story = HandStory("C3", "R1")
    story.world()
    story.asks()
    story.asks("m2", BO)
    accepted = story.accepted_by_gateway(inbound="m2", origin=ELSEWHERE)
    story.called(inbound="m1")
    story.worked()
    story.back()
    story.says("forty", ELSEWHERE)
    assert story.end().broken == ["C3"]
    (violation,) = [one for verdict in story._judge.verdicts() for one in verdict.violations]
    assert violation.blamed == accepted


def test_a_recorded_fallback_is_right():
    story = asked("C3")
    story.back()
    story.tell(Fallback(asked=PLACE, used=ELSEWHERE, reason=Reason.CALL_ENDED), intent="d1.back.reply")
    story.says("forty", ELSEWHERE)
    assert story.end().broken == []


def test_what_the_agent_targets_is_its_own_affair():
    story = asked("C3")
    story.back()
    story.says("forty", ELSEWHERE, targeted=True, intent_kind=IntentKind.TOOL)
    assert story.end().verdict.status is Status.NOT_EXERCISED


@pytest.mark.parametrize(("place", "broken"), [(ELSEWHERE, []), (PLACE, ["C3"])])
def test_a_named_target_counts_where_nobody_wrote(place: Address, broken: list[str]):
    story = HandStory("C3")
    story.world()
    story.turn("h1", work=WorkKind.HEARTBEAT)
    story.accepted_by_gateway(inbound="h1", origin=ELSEWHERE)
    story.called(inbound="h1", reply_to=ELSEWHERE)
    story.worked()
    story.back()
    story.says("forty", place)
    assert story.end().broken == broken


def test_the_first_delegation_of_a_chain_says_where():
    story = asked("C3")
    story.back()
    story.given()
    story.delegates("d2", "d1.back")
    story.worked(delegation="d2")
    story.back("d2")
    story.says("forty", ELSEWHERE, inbound="d2.back")
    assert story.end().broken == ["C3"]


@for_each(("bound", "broken"), [(ELSEWHERE, []), (PLACE, ["C3", "R1"])])
def test_a_turn_that_answers_in_a_bound_conversation_delegates_for_it(bound: Address, broken: list[str]) -> None:
    story = asked("C3", "R1")
    body = BindingBound(conversation=bound, session_key="w", target_kind="subagent", placement="child", by="spawn")
    story.tell(body, binding="b1", delegation="d1")
    story.back()
    story.given()
    story.delegates("d2", "d1.back")
    story.worked(delegation="d2")
    story.back("d2")
    story.says("forty", ELSEWHERE, inbound="d2.back")
    assert sorted(story.end().broken) == broken


# -------------------------------------------------------------------- C4


def reported(story: HandStory, *states: CallbackState, reason: Reason | None = None) -> None:
    """The report goes through some states; the reason is that of the last one."""
    way = (_C.WAITING, *states)
    for before, state in zip(way, states, strict=False):
        story.report(before, state, reason if state is states[-1] else None)


def test_delivered_and_seen():
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN, _C.QUEUED)
    story.back()
    story.says("forty")
    story.report(_C.QUEUED, _C.DELIVERED)
    story.end()
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 4)


def test_delivered_and_never_seen():
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN, _C.QUEUED, _C.DELIVERED)
    assert any("nobody saw it" in wrong for wrong in story.end().wrong)


@pytest.mark.parametrize("state", [_C.SUPPRESSED, _C.UNDELIVERABLE])
def test_an_end_without_a_message_has_a_reason(state: CallbackState):
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN, state, reason=Reason.NO_REPLY)
    assert story.end().broken == []
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN, state)
    assert any("nothing says why" in wrong for wrong in story.end().wrong)


def test_silence_on_purpose_is_no_failure():
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN)
    story.back()
    story.over("d1.back", "silent", delegation="d1")
    story.report(_C.IN_TURN, _C.UNDELIVERABLE, Reason.NO_RECEIPT)
    assert any("nobody sent it" in wrong for wrong in story.end().wrong)


def test_each_change_begins_where_the_last_one_ended():
    story = asked("C4")
    story.report(_C.WAITING, _C.PENDING_TURN)
    story.report(_C.QUEUED, _C.SUPPRESSED, Reason.NO_REPLY)
    assert any("skipped a state" in wrong for wrong in story.end().wrong)


@pytest.mark.parametrize("state", [_C.PENDING_TURN, _C.IN_TURN, _C.QUEUED])
def test_a_report_comes_to_an_end(state: CallbackState):
    story = asked("C4")
    story.report(_C.WAITING, state)
    last = story.events[-1].seq
    (violation,) = story.end().verdict.violations
    assert violation.missing_after == last


def test_a_parked_report_may_wait_for_an_operator():
    story = asked("C4")
    reported(story, _C.QUEUED, _C.PARKED, reason=Reason.NOT_READY)
    assert story.end().broken == []


def test_a_report_that_was_never_begun_is_missed():
    story = asked("C4")
    reported(story, _C.SUPPRESSED, reason=Reason.CALLBACK_OFF)
    story.asks("m2", BO)
    story.delegates("d2", "m2", BO)
    story.worked(delegation="d2")
    assert any("d2 never ended" in wrong for wrong in story.end().wrong)


def test_traces_without_reports_are_not_judged():
    assert asked("C4").end().verdict.status is Status.NOT_EXERCISED


def test_what_people_saw_is_not_undeliverable():
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN, _C.QUEUED)
    story.back()
    story.says("forty")
    story.acked("d1.back.reply")
    story.report(_C.QUEUED, _C.UNDELIVERABLE, Reason.REFUSED)
    assert any("people saw it" in wrong for wrong in story.end().wrong)


def test_what_the_platform_put_somewhere_else_is_undeliverable():
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN, _C.QUEUED)
    story.back()
    story.says("forty", PLACE, at=ELSEWHERE)
    story.acked("d1.back.reply")
    story.report(_C.QUEUED, _C.UNDELIVERABLE, Reason.MISPLACED)
    assert story.end().broken == []


@pytest.mark.parametrize(("after", "attempt", "broken"), [(0.1, 1, []), (5.0, 2, []), (5.0, 1, ["C4"])])
def test_nothing_more_is_sent_of_a_discarded_report(after: float, attempt: int, broken: list[str]):
    story = asked("C4")
    reported(story, _C.PENDING_TURN, _C.IN_TURN, _C.QUEUED)
    story.back()
    story.says("forty")
    story.report(_C.QUEUED, _C.SUPPRESSED, Reason.DISCARDED)
    body = AttemptStarted(chunk=0, attempt=attempt, address=PLACE)
    story.tell(body, intent="d1.back.reply", delegation="d1", after=after)
    assert story.end().broken == broken
