"""C1 on stories written by hand: who may know a word that only a hand has said."""

import pytest

from tests.support.event_stories import PLACE
from tests.support.invariants.hand_trace import ANA, BO, ELSEWHERE, HandStory
from trunkline.core.events.delivery import Fallback, MirrorAppended
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind
from trunkline.sim.events.hands import AgentReasoned
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.invariants import Status

MARKS = ("zebras",)


@pytest.fixture
def story() -> HandStory:
    """Ana has asked, and her clerk has answered."""
    story = HandStory("C1")
    story.world()
    story.asks()
    story.delegates()
    story.over("m1")
    story.worked(marks=MARKS)
    return story


def test_the_person_who_asked_may_see_it(story: HandStory):
    story.back()
    story.given()
    story.says("there are forty zebras")
    assert story.end().broken == []
    assert story.verdict.exercised > 0


def test_nobody_else_may_see_it(story: HandStory):
    story.back()
    seq = story.says("there are forty zebras", ELSEWHERE)
    story.end()
    (violation,) = story.verdict.violations
    assert (violation.at, violation.blamed) == (seq, seq - 1)
    assert "zebras" in violation.summary


def test_a_call_that_was_stored_for_somebody_else_is_where_it_went_wrong():
    story = HandStory("C1")
    story.world()
    story.asks()
    accepted = story.accepted_by_gateway(origin=ELSEWHERE)
    story.called()
    story.worked(marks=MARKS)
    story.back()
    story.says("forty zebras", ELSEWHERE)
    (violation,) = story.end().verdict.violations
    assert violation.blamed == accepted


def test_an_answer_in_another_turn_may_not_have_it(story: HandStory):
    story.asks("m2", BO)
    story.says("hello, forty zebras", ELSEWHERE, inbound="m2")
    assert story.end().broken == ["C1"]


def test_a_word_that_is_no_mark_says_nothing(story: HandStory):
    story.asks("m2", BO)
    story.says("forty people", ELSEWHERE, inbound="m2")
    assert story.end().broken == []


def test_part_of_a_word_is_another_word(story: HandStory):
    story.asks("m2", BO)
    story.says("zebrastripes", ELSEWHERE, inbound="m2")
    assert story.end().broken == []


def test_before_the_answer_nobody_can_have_it_from_there():
    story = HandStory("C1")
    story.world()
    story.asks("m2", BO)
    story.says("zebras are fine", ELSEWHERE, inbound="m2")
    story.asks()
    story.delegates()
    story.worked(marks=MARKS)
    assert story.end().verdict.status is Status.NOT_EXERCISED


def test_what_an_agent_sends_on_purpose_may_spread(story: HandStory):
    story.back()
    story.says("for you: forty zebras", ELSEWHERE, targeted=True, intent_kind=IntentKind.TOOL)
    story.asks("m2", BO)
    story.says("zebras, as I said", ELSEWHERE, inbound="m2")
    assert story.end().broken == []


def test_what_a_person_repeats_may_spread(story: HandStory):
    story.tell(PeerSaid(address=ELSEWHERE, peer=BO, message_id="9", text="I saw zebras"), node="telegram")
    story.remembers("I saw zebras", BO, role="user")
    story.asks("m2", BO)
    story.says("so you saw zebras", ELSEWHERE, inbound="m2")
    assert story.end().broken == []


def test_two_hands_that_say_the_same_word_share_it(story: HandStory):
    story.asks("m2", BO)
    story.delegates("d2", "m2", BO)
    story.worked("nine zebras", "d2", marks=MARKS)
    story.back("d2", BO)
    story.says("nine zebras", ELSEWHERE, inbound="d2.back")
    assert story.end().broken == []


def test_a_recorded_fallback_may_take_it_elsewhere(story: HandStory):
    story.back()
    story.tell(Fallback(asked=PLACE, used=ELSEWHERE, reason=Reason.CALL_ENDED), delegation="d1")
    story.says("forty zebras", ELSEWHERE)
    assert story.end().broken == []


def test_another_session_may_not_remember_it(story: HandStory):
    seq = story.remembers("forty zebras", BO)
    (violation,) = story.end().verdict.violations
    assert violation.at == seq


def test_the_session_that_called_may_remember_it(story: HandStory):
    story.remembers("forty zebras", ANA)
    assert story.end().broken == []


def test_another_session_may_not_get_it_in_a_turn(story: HandStory):
    story.given(session_id="s-bo", session_key="main:telegram:default:direct:200")
    assert story.end().broken == ["C1"]


def test_a_session_remembers_what_was_rightly_sent_there(story: HandStory):
    story.back()
    story.says("forty zebras", ELSEWHERE, targeted=True)
    body = MirrorAppended(session_id="s-bo", session_key="k", text="forty zebras")
    story.tell(body, intent="d1.back.reply")
    story.remembers("forty zebras", BO)
    assert story.end().broken == []


def test_the_session_of_a_hand_that_is_an_agent_works_for_its_caller(story: HandStory):
    story.delegates("d2", "d1.back", hand="main", task="check forty zebras")
    story.given("check forty zebras", "d2", session_id="s-2", session_key="main:subagent:d2", hand="")
    assert story.end().broken == []


# -------------------------------------------------------------------- C9


@pytest.mark.parametrize(("text", "broken"), [("forty animals", []), ("forty zebras", ["C9"])])
def test_nobody_may_see_what_an_agent_only_thought(text: str, broken: list[str]) -> None:
    story = HandStory("C9")
    story.world()
    story.asks()
    story.tell(AgentReasoned(agent="main", marks=MARKS), node="agent", turn="t-m1")
    story.says(text)
    assert story.end().broken == broken
    assert story.verdict.exercised == 1
