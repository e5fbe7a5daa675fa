"""R1, R3, M1, V1 with bindings: results, notices, transcripts and archived threads."""

import pytest

from tests.support.invariants.bound_trace import DEFAULT, HAND, OTHER, ROOM, THREAD, WORK, Author
from trunkline.core.events.bindings import FallbackDenied, PlaceReopened
from trunkline.core.events.delivery import Fallback, IntentPrepared
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState
from trunkline.sim.invariants import Status


@pytest.fixture
def r1() -> Author:
    author = Author("R1")
    author.asked()
    author.bound()
    return author


# ---------------------------------------------------------------- R1: bound work


def test_a_completion_goes_into_the_bound_conversation(r1: Author) -> None:
    r1.told(THREAD)
    assert (r1.end().verdict.status, r1.verdict.exercised) == (Status.OK, 1)


@pytest.mark.parametrize("place", [ROOM, OTHER])
def test_it_goes_nowhere_else_in_silence(r1: Author, place: Address) -> None:
    r1.told(place)
    assert r1.wrong == [f"the completion of m1.hand1 went to {place}"]


def test_the_first_wrong_step_is_the_plan_if_that_was_wrong(r1: Author) -> None:
    r1.told(ROOM)
    (violation,) = r1.verdict.violations
    # The plan had the thread: the intent is where it went astray.
    prepared = next(event.seq for event in r1.events if isinstance(event.body, IntentPrepared))
    assert violation.first_wrong == prepared


def test_not_even_after_the_binding_has_ended(r1: Author) -> None:
    r1.over()
    r1.told(ROOM)
    assert len(r1.wrong) == 1


def test_an_announced_fallback_may_go_to_the_requester_only(r1: Author) -> None:
    r1.tell(Fallback(asked=THREAD, used=ROOM, reason=Reason.NO_ACTIVE_BINDING), **HAND)
    r1.told(ROOM)
    assert r1.wrong == []
    r1.told(OTHER, intent="d1.post1")
    assert r1.wrong == [f"the completion of m1.hand1 went to {OTHER}"]


def test_a_fallback_of_one_is_none_of_another(r1: Author) -> None:
    r1.tell(Fallback(asked=THREAD, used=ROOM, reason=Reason.NO_ACTIVE_BINDING), delegation="m9.hand1")
    r1.told(ROOM)
    assert len(r1.wrong) == 1


def test_a_notice_may_go_to_the_requester_only(r1: Author) -> None:
    r1.tell(FallbackDenied(asked=THREAD, refused=ROOM, reason=Reason.NO_ACTIVE_BINDING, notice=True), **HAND)
    r1.told(ROOM, IntentKind.NOTICE, "d1.notice")
    assert r1.wrong == []
    r1.told(OTHER, IntentKind.NOTICE, "d1.notice2")
    assert len(r1.wrong) == 1


def test_a_denied_fallback_allows_no_content(r1: Author) -> None:
    r1.tell(FallbackDenied(asked=THREAD, refused=ROOM, reason=Reason.NO_ACTIVE_BINDING, notice=True), **HAND)
    r1.told(ROOM)
    assert len(r1.wrong) == 1


def test_what_the_platform_puts_elsewhere_is_for_others_to_judge(r1: Author) -> None:
    r1.told(THREAD, seen=ROOM)
    assert r1.end().wrong == []


def test_work_without_a_binding_is_reported_where_it_was_asked_for() -> None:
    story = Author("R1")
    story.asked()
    story.told(ROOM)
    assert story.wrong == []
    story.told(THREAD, intent="d1.post1")
    assert story.wrong == [f"the answer to m1 went to {THREAD}"]


# ---------------------------------------------------------------- M1: bound conversations


def test_what_is_said_in_a_bound_conversation_is_remembered_in_its_session(m1: Author) -> None:
    m1.bound()
    m1.told(THREAD)
    m1.remembered(WORK)
    assert (m1.end().verdict.status, m1.verdict.exercised) == (Status.OK, 1)


@pytest.mark.parametrize("key", [DEFAULT, "main:discord:default:channel:500", "main:subagent:m2.hand1"])
def test_it_is_remembered_in_no_other_session(m1: Author, key: str) -> None:
    m1.bound()
    m1.told(THREAD)
    m1.remembered(key)
    assert m1.wrong == [f"d1.reply, seen at {THREAD}, is not in the bound session"]


def test_without_a_binding_it_is_the_session_of_the_place(m1: Author) -> None:
    m1.told(THREAD)
    m1.remembered(DEFAULT)
    assert m1.end().wrong == []


def test_before_and_after_the_binding_too(m1: Author) -> None:
    m1.told(THREAD, intent="before")
    m1.bound()
    m1.remembered(DEFAULT, "before")
    m1.over()
    m1.told(THREAD, intent="after")
    m1.remembered(DEFAULT, "after")
    assert m1.end().wrong == []


def test_after_it_the_bound_session_is_another_one(m1: Author) -> None:
    m1.bound()
    m1.over()
    m1.told(THREAD)
    m1.remembered(WORK)
    assert m1.wrong == [f"d1.reply, seen at {THREAD}, was mirrored into another session"]


def test_what_was_under_way_when_it_ended_may_be_in_either(m1: Author) -> None:
    m1.bound()
    for intent in ("d1", "d2"):
        m1.told(THREAD, intent=intent)
    m1.over()
    m1.remembered(WORK, "d1")
    m1.remembered(DEFAULT, "d2")
    assert m1.end().wrong == []


def test_one_that_has_expired_no_longer_claims_it(m1: Author) -> None:
    m1.bound(until=60.0)
    m1.now = 60.0
    m1.told(THREAD)
    m1.remembered(DEFAULT)
    assert m1.end().wrong == []


def test_it_must_be_remembered_at_all(m1: Author) -> None:
    m1.bound()
    m1.told(THREAD)
    m1.settled(IntentState.DELIVERED, "d1.reply")
    assert m1.wrong == [f"d1.reply was delivered to {THREAD} and is in no transcript"]


def test_an_answer_stays_in_the_session_that_took_the_question_though_the_binding_is_over(m1: Author) -> None:
    m1.bound()
    inbound = m1.received(THREAD)
    m1.admitted(WORK, inbound)
    m1.over()
    m1.told(THREAD, inbound=inbound, delegation=None)
    m1.remembered(WORK)
    assert m1.end().wrong == []


# ---------------------------------------------------------------- R3: notices


@pytest.mark.parametrize(("kind", "wrong"), [(IntentKind.NOTICE, 0), (IntentKind.REPLY, 1), (IntentKind.TOOL, 1)])
def test_only_a_notice_is_said_beside_the_route_of_a_message(kind: IntentKind, wrong: int) -> None:
    story = Author("R3")
    story.routed(DEFAULT)
    story.told(ROOM, kind, inbound="i1", delegation=None)
    assert len(story.wrong) == wrong


# ---------------------------------------------------------------- V1: archived threads


def refused_once(story: Author, reason: Reason = Reason.PLACE_GONE) -> None:
    story.prepared(place=THREAD)
    story.started(place=THREAD)
    story.refused(address=THREAD, reason=reason)


def test_a_refusal_is_shown_by_reopening_the_place() -> None:
    story = Author("V1")
    refused_once(story)
    story.tell(PlaceReopened(address=THREAD), intent="i1")
    story.accepted(place=THREAD)
    story.ended(Reason.ACCEPTED, "settle")
    assert story.wrong == []


@pytest.mark.parametrize(
    ("reason", "intent"), [(Reason.PLACE_GONE, None), (Reason.PLACE_GONE, "i2"), (Reason.REFUSED, "i1")]
)
def test_another_refusal_is_not(reason: Reason, intent: str | None) -> None:
    story = Author("V1")
    refused_once(story, reason)
    if intent is not None:
        story.tell(PlaceReopened(address=THREAD), intent=intent)
    story.accepted(place=THREAD)
    story.ended(Reason.ACCEPTED, "settle")
    assert story.wrong == [f"the platform refused i1 chunk 1 ({reason.value}), and no event records it"]
