"""B1, and what R1, R3, M1 and V1 say of bound conversations, on stories written by hand: each way to break them."""

from typing import Any

import pytest

from tests.support.event_stories import Story
from tests.support.factories import room
from trunkline.core.events.bindings import (
    BindingBound,
    BindingEnded,
    BindingEnding,
    BindingRefused,
    BindingTouched,
    FallbackDenied,
    PlaceReopened,
    RouterDecided,
)
from trunkline.core.events.delivery import Fallback, IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import (
    CompletionPlanned,
    CompletionStep,
    InboundAdmitted,
    InboundReceived,
    RouteDecided,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadOpened, WorldPlace
from trunkline.sim.invariants import Status

ROOM = room("500")
THREAD = room("600", parent="500")
OTHER = room("700")
#: the session of the bound work, and the one that the thread has without a binding
WORK, DEFAULT = "main:subagent:m1.hand1", "main:discord:default:channel:600"
HAND: dict[str, Any] = {"delegation": "m1.hand1"}


class Author(Story):
    """Stories of one conversation and whatever is bound there."""

    said = 0

    def bound(
        self, place: Address = THREAD, key: str = WORK, binding: str = "b1", until: float | None = None, **ids: Any
    ) -> int:
        body = BindingBound(
            conversation=place,
            session_key=key,
            target_kind="subagent",
            placement="child",
            by="spawn",
            expires_at=until,
        )
        return self.tell(body, binding=binding, **(ids or HAND))

    def ending(self, binding: str = "b1", place: Address = THREAD) -> int:
        body = BindingEnding(conversation=place, session_key=WORK, reason=Reason.UNBOUND, under_way=1)
        return self.tell(body, binding=binding)

    def over(self, binding: str = "b1", place: Address = THREAD) -> int:
        return self.tell(BindingEnded(conversation=place, session_key=WORK, reason=Reason.UNBOUND), binding=binding)

    def touched(self, until: float, binding: str = "b1") -> int:
        return self.tell(BindingTouched(by="inbound", last_activity_at=self.now, expires_at=until), binding=binding)

    def received(self, place: Address = THREAD, inbound: str = "") -> str:
        self.said += 1
        inbound = inbound or f"i{self.said}"
        body = InboundReceived(address=place, peer=Peer(id="100"), message_id=inbound, text="hello")
        self.tell(body, inbound=inbound)
        return inbound

    def routed(self, key: str, place: Address = THREAD, binding: str | None = None, after: float = 0.0) -> int:
        """Something is said, and goes to a session."""
        self.now += after
        inbound = self.received(place)
        body = RouteDecided(
            agent="main",
            session_key=key,
            matched_by="default" if binding is None else "binding.session",
            binding=binding,
            candidates=(),
            reply_to=place,
            reply_reason=Reason.REPLY_TO_ORIGIN,
        )
        return self.tell(body, inbound=inbound, binding=binding)

    def chosen(self, mode: str = "bound", binding: str | None = "b1", after: float = 0.0) -> int:
        """The router has decided of a completion."""
        body = RouterDecided(
            event_kind="task_completion",
            target_session_key=WORK,
            requester=ROOM,
            fail_closed=True,
            mode=mode,
            reason=Reason.REQUESTER_MATCH,
        )
        return self.tell(body, after=after, binding=binding, **HAND)

    def opened(self, name: str = "ops/m1.hand1", on_message: str | None = None, place: Address = THREAD) -> int:
        self.tell(WorldPlace(address=place, name=name, under="ops"), node="discord")
        return self.tell(ThreadOpened(address=place, name="codex", on_message=on_message), node="discord")

    def refused_binding(self, key: str = WORK) -> int:
        body = BindingRefused(
            verb="bind",
            conversation=str(ROOM),
            session_key=key,
            reason=Reason.BINDING_CREATE_FAILED,
            detail="no",
            by="spawn",
        )
        return self.tell(body)

    # ------------------------------------------------------------ completions

    def asked(self, place: Address = ROOM) -> None:
        """The work was asked for here, and is done."""
        self.received(place, "m1")
        planned = CompletionPlanned(
            steps=(CompletionStep(mode="turn", reason=Reason.BOUND_DESTINATION, address=THREAD),),
            requester_busy=False,
        )
        self.tell(planned, inbound="m1", **HAND)

    def told(
        self,
        place: Address,
        kind: IntentKind = IntentKind.REPLY,
        intent: str = "d1.reply",
        seen: Address | None = None,
        **ids: Any,
    ) -> int:
        """A text because of it."""
        body = IntentPrepared(
            intent_kind=kind,
            address=place,
            targeted=False,
            text="42",
            chunks=1,
            key=intent,
            reason=Reason.BOUND_DESTINATION,
            mirror_key=WORK,
        )
        self.tell(body, **{"intent": intent, "inbound": "m1", **HAND, **ids})
        accepted = WireAccepted(
            address=seen or place,
            requested=place,
            text="42",
            provider_id=f"p-{intent}",
            key=intent,
            chunk=0,
            attempt=1,
        )
        return self.tell(accepted, node="discord", intent=intent)

    def remembered(self, key: str, intent: str = "d1.reply") -> int:
        body = MirrorAppended(session_id=f"s-{key}", session_key=key, text="42")
        self.tell(body, intent=intent)
        return self.settled(IntentState.DELIVERED, intent)

    def admitted(self, key: str, inbound: str) -> int:
        body = InboundAdmitted(work=WorkKind.MESSAGE, session_id=f"s-{key}", session_key=key)
        return self.tell(body, inbound=inbound)

    @property
    def first_wrong(self) -> int | None:
        (violation,) = self.verdict.violations
        return violation.first_wrong


@pytest.fixture
def b1() -> Author:
    return Author("B1")


@pytest.fixture
def r1() -> Author:
    author = Author("R1")
    author.asked()
    author.bound()
    return author


@pytest.fixture
def m1() -> Author:
    author = Author("M1")
    author.received(ROOM, "m1")
    return author


# ---------------------------------------------------------------- B1: routes


def test_without_bindings_there_is_nothing_to_judge(b1: Author) -> None:
    b1.routed(DEFAULT)
    assert b1.end().verdict.status is Status.NOT_EXERCISED


def test_a_bound_conversation_belongs_to_its_session(b1: Author) -> None:
    b1.bound()
    b1.routed(WORK, binding="b1")
    assert (b1.end().verdict.status, b1.verdict.exercised) == (Status.OK, 2)


@pytest.mark.parametrize("key", [DEFAULT, "main:subagent:m2.hand1"])
def test_it_belongs_to_no_other_session(b1: Author, key: str) -> None:
    b1.bound()
    wrong = b1.routed(key)
    assert b1.wrong == [f"i1, said at {THREAD}, went to session {key}"]
    assert b1.first_wrong == wrong


def test_other_conversations_do_not_belong_to_it(b1: Author) -> None:
    b1.bound()
    b1.routed("main:discord:default:channel:700", OTHER)
    assert b1.end().wrong == []


def test_an_equal_thread_of_another_account_is_another_conversation(b1: Author) -> None:
    b1.bound()
    b1.routed(DEFAULT, room("600", account="second", parent="500"))
    assert b1.end().wrong == []


@pytest.mark.parametrize("how", ["over", "ending"])
def test_after_its_end_it_goes_the_default_route(b1: Author, how: str) -> None:
    b1.bound()
    getattr(b1, how)()
    b1.routed(DEFAULT)
    assert b1.end().wrong == []
    b1.routed(WORK, binding="b1")
    assert b1.wrong == [f"i2, said at {THREAD}, went to session {WORK}"]


def test_one_that_has_expired_takes_nothing_even_before_it_is_swept(b1: Author) -> None:
    b1.bound(until=60.0)
    b1.routed(WORK, binding="b1", after=59)
    assert b1.wrong == []
    b1.routed(WORK, binding="b1", after=1)
    assert b1.wrong == [f"i2, said at {THREAD}, went to session {WORK}"]


def test_a_touch_moves_its_deadline(b1: Author) -> None:
    b1.bound(until=60.0)
    b1.now = 50.0
    b1.touched(until=110.0)
    b1.routed(WORK, binding="b1", after=50)
    assert b1.end().wrong == []


def test_an_ended_one_that_comes_back_with_another_process_is_found(b1: Author) -> None:
    b1.bound()
    b1.over()
    b1.crashed()
    b1.routed(WORK, binding="b1")
    assert len(b1.wrong) == 1


def test_the_session_of_a_conversation_is_its_own_also_after_it_was_bound_to_it(b1: Author) -> None:
    b1.bound(key=DEFAULT)
    b1.over()
    b1.routed(DEFAULT)
    assert b1.end().wrong == []


def test_the_next_binding_counts(b1: Author) -> None:
    b1.bound()
    b1.over()
    b1.bound(key="main:subagent:m2.hand1", binding="b2")
    b1.routed("main:subagent:m2.hand1", binding="b2")
    assert b1.end().wrong == []
    b1.routed(WORK, binding="b1")
    assert len(b1.wrong) == 1


# ---------------------------------------------------------------- B1: the router


def test_the_router_chooses_what_is_active(b1: Author) -> None:
    b1.bound()
    b1.chosen()
    assert (b1.end().wrong, b1.verdict.exercised) == ([], 2)


@pytest.mark.parametrize("how", ["over", "ending"])
def test_it_does_not_choose_what_is_over(b1: Author, how: str) -> None:
    b1.bound()
    getattr(b1, how)()
    b1.chosen("fallback", None)
    assert b1.wrong == []
    wrong = b1.chosen()
    assert b1.wrong == ["the completion of m1.hand1 was routed to a binding that is not active"]
    assert b1.first_wrong == wrong


def test_it_does_not_choose_what_has_expired(b1: Author) -> None:
    b1.bound(until=60.0)
    b1.chosen(after=60)
    assert len(b1.wrong) == 1


def test_it_does_not_choose_what_nobody_bound(b1: Author) -> None:
    b1.chosen()
    assert len(b1.wrong) == 1


# ---------------------------------------------------------------- B1: one binding for a conversation


def test_a_conversation_is_bound_again_after_its_end(b1: Author) -> None:
    b1.bound()
    b1.ending()
    b1.bound(binding="b2")
    assert b1.end().wrong == []


def test_it_has_no_second_binding_before(b1: Author) -> None:
    b1.bound()
    wrong = b1.bound(binding="b2")
    assert b1.wrong == [f"{THREAD} was bound while b1 still held it"]
    assert b1.first_wrong == wrong


def test_equal_threads_of_two_channels_are_two_conversations(b1: Author) -> None:
    b1.bound(room("C1", channel="slack", thread="17.5"), binding="b1")
    b1.bound(room("C2", channel="slack", thread="17.5"), key=DEFAULT, binding="b2")
    assert b1.end().wrong == []


def test_what_ends_was_bound_there(b1: Author) -> None:
    b1.bound()
    b1.over(place=OTHER)
    assert b1.wrong == ["b1 ended, and was never bound there"]
    b1.over("b7")
    assert len(b1.wrong) == 2


def test_one_that_ends_where_it_was_bound_is_in_order(b1: Author) -> None:
    b1.bound()
    b1.over()
    assert (b1.end().wrong, b1.verdict.exercised) == ([], 2)


# ---------------------------------------------------------------- B1: what is left behind


def test_a_refused_binding_leaves_no_thread(b1: Author) -> None:
    opened = b1.opened()
    b1.refused_binding()
    assert b1.wrong == ["binding was refused, and discord/ops/m1.hand1 was left behind"]
    assert b1.first_wrong == opened


def test_one_that_was_refused_before_any_thread_leaves_none(b1: Author) -> None:
    b1.refused_binding()
    assert (b1.end().wrong, b1.verdict.exercised) == ([], 1)


@pytest.mark.parametrize(("name", "key"), [("ops/m2.hand1", WORK), ("ops/m1.hand1", DEFAULT)])
def test_threads_of_others_are_not_its_own(b1: Author, name: str, key: str) -> None:
    b1.opened(name)
    b1.refused_binding(key)
    assert b1.end().wrong == []


def test_a_thread_that_is_bound_is_not_left_behind(b1: Author) -> None:
    b1.opened()
    b1.bound()
    b1.refused_binding()
    assert b1.end().wrong == []


def test_a_thread_that_answers_opened_on_a_message_is_none_of_it(b1: Author) -> None:
    b1.opened(on_message="m1")
    b1.refused_binding()
    assert b1.end().wrong == []


def test_nobody_can_know_a_thread_whose_opening_was_not_told(b1: Author) -> None:
    b1.tell(FaultFired(fault="thread/lose-response"), node="sim")
    b1.opened()
    b1.refused_binding()
    assert b1.wrong == []
    # The next one is told.
    b1.opened("ops/m2.hand1", place=OTHER)
    b1.refused_binding("main:subagent:m2.hand1")
    assert len(b1.wrong) == 1


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


def test_a_told_fallback_may_go_to_whoever_asked_and_to_nobody_else(r1: Author) -> None:
    r1.tell(Fallback(asked=THREAD, used=ROOM, reason=Reason.NO_ACTIVE_BINDING), **HAND)
    r1.told(ROOM)
    assert r1.wrong == []
    r1.told(OTHER, intent="d1.post1")
    assert r1.wrong == [f"the completion of m1.hand1 went to {OTHER}"]


def test_a_fallback_of_one_is_none_of_another(r1: Author) -> None:
    r1.tell(Fallback(asked=THREAD, used=ROOM, reason=Reason.NO_ACTIVE_BINDING), delegation="m9.hand1")
    r1.told(ROOM)
    assert len(r1.wrong) == 1


def test_a_notice_may_go_to_whoever_asked_and_to_nobody_else(r1: Author) -> None:
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


def test_work_without_a_binding_is_told_where_it_was_asked_for() -> None:
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
    assert m1.wrong == [f"d1.reply, seen at {THREAD}, is not in the session that this is bound to"]


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


def test_a_refusal_is_told_by_reopening_the_place() -> None:
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
    assert story.wrong == [f"the platform refused i1 chunk 1 ({reason.value}), and nothing tells of it"]
