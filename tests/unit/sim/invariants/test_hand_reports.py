"""L2 on stories written by hand: what counts as telling whoever asked, how often, and how soon."""

from typing import Any

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.factories import direct
from trunkline.core.events import Body
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import InboundAdmitted, ProcessStarted, TurnEnded, TurnStarted
from trunkline.core.events.hands import CompletionPlanned, CompletionStep, DelegationAccepted, DelegationFinished
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address, IntentKind, IntentState, WorkKind
from trunkline.sim.events.processes import ProcessFrozen, ProcessThawed
from trunkline.sim.events.script import HookRedirected
from trunkline.sim.invariants import Status

HAND: dict[str, Any] = {"delegation": "d1"}
ELSEWHERE = direct("200", channel="telegram")


class Author(Story):
    """Writes stories of one hand, asked for by one session."""

    def __init__(self) -> None:
        super().__init__("L2")

    def turn(self, inbound: str, work: WorkKind = WorkKind.MESSAGE, *, after: float = 0.0) -> int:
        """A turn of the session that asks."""
        body = TurnStarted(agent="main", session_id="s", session_key="k", work=work, origin=PLACE)
        ids = HAND if work is WorkKind.CALLBACK else {}
        return self.tell(body, after=after, inbound=inbound, turn=f"t-{inbound}", **ids)

    def over(self, inbound: str, *, after: float = 0.0) -> int:
        return self.tell(TurnEnded(outcome="replied"), after=after, inbound=inbound, turn=f"t-{inbound}")

    def asked(self, origin: Address | None = PLACE) -> int:
        """A turn gives the hand a task."""
        self.turn("m1")
        body = DelegationAccepted(hand="clerk", task="count", origin=origin, session_key="k")
        accepted = self.tell(body, inbound="m1", turn="t-m1", **HAND)
        self.over("m1")
        return accepted

    def finished(self, *steps: CompletionStep, after: float = 5.0, outcome: HandOutcome = HandOutcome.OK) -> int:
        """The hand ends, and that is how it is to be told."""
        self.tell(DelegationFinished(hand="clerk", outcome=outcome, text="42"), after=after, **HAND)
        return self.tell(CompletionPlanned(steps=steps, requester_busy=False), **HAND)

    def called_back(self, inbound: str = "d1.back", cause: int | None = None) -> int:
        body = InboundAdmitted(work=WorkKind.CALLBACK, session_id="s", session_key="k")
        return self.tell(body, inbound=inbound, cause=cause, **HAND)

    def back(self, inbound: str = "d1.back", *, after: float = 0.0) -> None:
        """The result is stored for the requester, and read."""
        self.called_back(inbound)
        self.turn(inbound, WorkKind.CALLBACK, after=after)
        self.over(inbound)

    def posted(self, place: Address = PLACE, kind: IntentKind = IntentKind.ANNOUNCE) -> int:
        """Something is said because of the result."""
        body = IntentPrepared(
            intent_kind=kind,
            address=place,
            targeted=False,
            text="42",
            chunks=1,
            key="i1",
            reason=Reason.DIRECT_ANNOUNCE,
            mirror_key="k",
        )
        return self.tell(body, intent="i1", turn="t-m1", **HAND)

    @property
    def blamed(self) -> int | None:
        (violation,) = self.verdict.violations
        return violation.blamed


def step(mode: str = "turn", address: Address | None = PLACE, reason: Reason = Reason.CALLBACK_TURN) -> CompletionStep:
    return CompletionStep(mode=mode, reason=reason, address=address)


GONE = step("direct", None, Reason.REQUESTER_REPLACED)


@pytest.fixture
def story() -> Author:
    return Author()


def test_without_a_hand_there_is_nothing_to_judge(story: Author) -> None:
    story.turn("m1")
    story.over("m1")
    assert story.end().verdict.status is Status.NOT_EXERCISED


@pytest.mark.parametrize("outcome", list(HandOutcome))
def test_one_callback_for_one_run_however_it_ended(story: Author, outcome: HandOutcome) -> None:
    story.asked()
    story.finished(step(), outcome=outcome)
    story.back()
    assert (story.end().verdict.status, story.verdict.exercised) == (Status.OK, 1)


def test_a_run_that_never_ends_is_lost_where_it_was_asked_for(story: Author) -> None:
    accepted = story.asked()
    story.end()
    assert story.blamed == accepted
    assert "began to work" in story.wrong[0]


def test_an_undelivered_result_is_lost_where_that_was_decided(story: Author) -> None:
    story.asked()
    planned = story.finished()
    story.end()
    assert story.blamed == planned


def test_a_callback_that_is_not_read_is_none(story: Author) -> None:
    story.asked()
    story.finished(step())
    admitted = story.called_back()
    story.end()
    assert story.blamed == admitted


def test_a_callback_that_is_cut_off_must_be_read_again(story: Author) -> None:
    story.asked()
    story.finished(step())
    story.called_back()
    begun = story.turn("d1.back", WorkKind.CALLBACK)
    story.crashed()
    story.end()
    assert story.blamed == begun


def test_one_that_is_read_again_after_a_crash_is_one(story: Author) -> None:
    story.asked()
    story.finished(step())
    story.called_back()
    story.turn("d1.back", WorkKind.CALLBACK)
    story.crashed(down=500)
    story.turn("d1.back", WorkKind.CALLBACK, after=1)
    story.over("d1.back")
    assert story.end().verdict.status is Status.OK


def test_a_second_callback_is_one_too_many(story: Author) -> None:
    story.asked()
    story.finished(step())
    story.back()
    again = story.called_back("d1.again")
    assert story.end().wrong == ["the result of d1 was handed to its requester twice"]
    assert story.blamed == again


def test_one_callback_that_is_recorded_twice_is_one(story: Author) -> None:
    story.asked()
    story.finished(step())
    story.called_back()
    story.back()
    assert story.end().verdict.status is Status.OK


def test_a_message_of_the_run_is_no_callback(story: Author) -> None:
    story.asked()
    planned = story.finished(step())
    message = InboundAdmitted(work=WorkKind.MESSAGE, session_id="s", session_key="k")
    story.tell(message, inbound="m2", **HAND)
    story.turn("m2")
    story.over("m2")
    story.end()
    assert story.blamed == planned


def test_a_callback_that_was_read_is_not_read_again(story: Author) -> None:
    story.asked()
    story.finished(step())
    story.back()
    again = story.turn("d1.back", WorkKind.CALLBACK, after=1)
    assert story.blamed == again


def test_a_process_that_lost_the_store_reads_nothing(story: Author) -> None:
    """It stood still, and begins the turn before it notices; the store refuses what it writes."""
    story.asked()
    story.finished(step())
    story.process = 2
    story.tell(LeaseTaken(owner="second", token=2, before="gateway 1", until=700.0, reason=Reason.LEASE_EXPIRED))
    story.back()
    story.process = 1
    story.turn("d1.back", WorkKind.CALLBACK, after=1)
    assert story.end().verdict.status is Status.OK


# ---------------------------------------------------------------- what is posted


def test_what_is_posted_where_it_was_asked_for_is_heard(story: Author) -> None:
    story.asked()
    story.finished(step("direct"))
    story.posted()
    assert story.end().verdict.status is Status.OK


@pytest.mark.parametrize(("place", "kind"), [(ELSEWHERE, IntentKind.ANNOUNCE), (PLACE, IntentKind.TOOL)])
def test_what_is_said_elsewhere_or_by_a_tool_is_no_report(story: Author, place: Address, kind: IntentKind) -> None:
    story.asked()
    planned = story.finished(step("direct"))
    story.posted(place, kind)
    story.end()
    assert story.blamed == planned


def test_what_a_hook_sends_elsewhere_is_reported(story: Author) -> None:
    story.asked()
    story.finished(step("direct"))
    story.tell(HookRedirected(by="hook h", to=ELSEWHERE), node="sim", intent="i1")
    story.posted(ELSEWHERE, IntentKind.ANNOUNCE)
    assert story.end().verdict.status is Status.OK


@pytest.mark.parametrize("cancelled", [True, False])
def test_what_a_hook_cancels_has_ended_visibly(story: Author, cancelled: bool) -> None:
    story.asked()
    planned = story.finished(step("direct"))
    body = IntentSettled(state=IntentState.CANCELLED, reason=Reason.CANCELLED_BY_HOOK, attempts=0)
    story.tell(body, intent="i1", cause=planned if cancelled else None, **HAND)
    assert (story.end().verdict.status is Status.OK) is cancelled


def test_a_requester_that_is_gone_is_answered_where_it_asked(story: Author) -> None:
    story.asked()
    planned = story.finished(GONE)
    story.end()
    assert story.blamed == planned


@pytest.mark.parametrize(
    ("steps", "right"), [([GONE], True), ([step("direct", None)], False), ([], False), ([step()], False)]
)
def test_who_asked_from_nowhere_and_is_gone_has_a_plan_that_says_so(
    story: Author, steps: list[CompletionStep], right: bool
) -> None:
    story.asked(origin=None)
    story.finished(*steps)
    assert (story.end().verdict.status is Status.OK) is right


# ---------------------------------------------------------------- how soon


@pytest.mark.parametrize(("idle", "right"), [(59.0, True), (61.0, False)])
def test_an_idle_requester_reads_within_a_minute(story: Author, idle: float, right: bool) -> None:
    story.asked()
    story.finished(step())
    story.back(after=idle)
    assert (story.end().verdict.status is Status.OK) is right


@pytest.mark.parametrize(("idle", "right"), [(0.0, True), (61.0, False)])
def test_the_time_in_which_it_is_busy_does_not_count(story: Author, idle: float, right: bool) -> None:
    story.asked()
    story.turn("m2")
    story.finished(step())
    story.called_back()
    story.over("m2", after=600)
    story.turn("d1.back", WorkKind.CALLBACK, after=idle)
    story.over("d1.back")
    assert (story.end().verdict.status is Status.OK) is right


def test_that_another_session_is_busy_is_no_excuse(story: Author) -> None:
    story.asked()
    story.finished(step())
    story.called_back()
    body = TurnStarted(agent="main", session_id="s2", session_key="k2", work=WorkKind.MESSAGE, origin=ELSEWHERE)
    story.tell(body, inbound="m2", turn="t-m2")
    story.over("m2", after=600)
    begun = story.turn("d1.back", WorkKind.CALLBACK)
    story.over("d1.back")
    story.end()
    assert story.blamed == begun


@pytest.mark.parametrize(
    "awake",
    [
        ProcessStarted(),
        ProcessThawed(),
        LeaseTaken(owner="second", token=2, before="gateway 1", until=700.0, reason=Reason.LEASE_EXPIRED),
    ],
    ids=["started", "thawed", "taken over"],
)
def test_nobody_reads_while_no_process_works(story: Author, awake: Body) -> None:
    story.asked()
    story.finished(step())
    story.called_back()
    story.tell(ProcessFrozen(why="freeze"))
    story.tell(awake, after=600)
    story.turn("d1.back", WorkKind.CALLBACK, after=1)
    story.over("d1.back")
    assert story.end().verdict.status is Status.OK
