"""D1, D3, D4 and R2 on stories written by hand: what may be said once more, and what may not."""

from typing import Any

import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.factories import room
from tests.support.for_each import for_each
from trunkline.core.events.delivery import IntentSuppressed, TransportFallback
from trunkline.core.events.gateway import RouteDecided
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.values import Idempotency, IntentKind, IntentState, Transport
from trunkline.sim.events.processes import ProcessStopped
from trunkline.sim.events.script import FaultFired, HookRedirected
from trunkline.sim.events.wire import WireDeduplicated, WireResponseLost
from trunkline.sim.invariants import Status

LOST = Reason.RESPONSE_LOST


# ---------------------------------------------------------------- D1


def test_keys_of_their_own_are_right():
    story = Story("D1")
    story.delivered("i1")
    story.prepared("i2", "one", "two")
    story.sent("one", "i2", 0)
    story.sent("two", "i2", 1)
    assert story.verdict.status is Status.OK


@pytest.mark.parametrize("deduplicated", [True, False])
def test_two_things_under_one_key_are_wrong_whatever_the_platform_makes_of_it(deduplicated):
    story = Story("D1")
    story.delivered("i1")
    story.prepared("i2")
    if deduplicated:
        body = WireDeduplicated(address=PLACE, provider_id="p-i1/0", key="i1/0", chunk=0, attempt=1)
        story.tell(body, node="telegram", intent="i2")
    else:
        story.accepted(intent="i2", key="i1/0")
    assert story.wrong == ["i2 chunk 1 was sent under the key of i1 chunk 1"]


def test_a_repeat_that_the_platform_recognised_is_right():
    story = Story("D1")
    story.delivered("i1")
    body = WireDeduplicated(address=PLACE, provider_id="p-i1/0", key="i1/0", chunk=0, attempt=2)
    story.tell(body, node="telegram", intent="i1")
    assert story.verdict.status is Status.OK


@pytest.mark.parametrize(("text", "wrong"), [("[again] hello", False), ("hello", True)])
def test_once_more_by_policy_has_to_say_so(text, wrong):
    story = Story("D1")
    story.world(mark="[again] ")
    story.prepared()
    story.accepted()
    story.accepted(text, provider_id="p2", attempt=2)
    assert (story.broken == ["D1"]) is wrong


def test_more_than_once_more_is_wrong_however_it_is_marked():
    story = Story("D1")
    story.world(mark="[again] ")
    story.prepared()
    for attempt, text in enumerate(("hello", "[again] hello", "[again] hello"), 1):
        story.accepted(text, provider_id=f"p{attempt}", attempt=attempt)
    assert story.wrong == ["“[again] hello” was accepted 3 times"]


# ---------------------------------------------------------------- D3


def a_turn(*said: tuple[IntentKind, str, Any]) -> Story:
    story = Story("D3")
    for number, (kind, text, place) in enumerate(said):
        story.prepared(f"i{number}", text, intent_kind=kind, place=place, turn="t1", inbound="m1")
        story.accepted(text, f"i{number}", place=place)
    return story


def test_a_turn_says_one_thing_once_in_a_place():
    story = a_turn((IntentKind.TOOL, "it is done", PLACE), (IntentKind.REPLY, " it is\ndone", PLACE))
    assert story.wrong == ["t1 posted “ it is\ndone” twice at telegram:default/100"]


@pytest.mark.parametrize(
    ("text", "place"), [("it is done", room(channel="telegram")), ("it is not done", PLACE)], ids=["place", "words"]
)
def test_a_turn_may_say_one_thing_elsewhere_and_another_here(text, place):
    story = a_turn((IntentKind.TOOL, "it is done", PLACE), (IntentKind.REPLY, text, place))
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 2)


def test_a_hook_may_bring_messages_for_two_places_to_one():
    story = Story("D3")
    story.tell(HookRedirected(by="hook h", to=PLACE), node="sim", intent="i1")
    for intent in ("i0", "i1"):
        story.prepared(intent, "it is done", intent_kind=IntentKind.TOOL, targeted=True, turn="t1", inbound="m1")
        story.accepted("it is done", intent)
    assert story.verdict.status is Status.OK


def test_two_turns_may_say_the_same():
    story = Story("D3")
    for number in (1, 2):
        story.prepared(f"i{number}", intent_kind=IntentKind.TOOL, turn=f"t{number}")
        story.accepted(intent=f"i{number}")
    assert story.verdict.status is Status.OK


@pytest.mark.parametrize(("said", "there", "wrong"), [("done", True, False), ("done", False, True), ("x", True, True)])
def test_an_answer_may_be_left_out_only_where_its_words_stand(said, there, wrong):
    story = Story("D3")
    route = RouteDecided(
        agent="main",
        session_key="k",
        matched_by="default",
        binding=None,
        candidates=(),
        reply_to=PLACE,
        reply_reason=Reason.REPLY_TO_ORIGIN,
    )
    story.tell(route, inbound="m1")
    place = PLACE if there else room(channel="telegram")
    story.prepared("i1", said, intent_kind=IntentKind.TOOL, place=place, turn="t1", inbound="m1")
    story.tell(IntentSuppressed(reason=Reason.ALREADY_QUEUED, text="done"), turn="t1", inbound="m1")
    # It may be accepted later: it was to be said.
    story.accepted(said, place=place)
    story.end()
    assert (story.broken == ["D3"]) is wrong


# ---------------------------------------------------------------- D4


def in_doubt(reason: Reason = LOST, decision: str = "retry", **world: Any) -> Story:
    story = Story("D4")
    story.world(**world)
    story.prepared()
    story.started()
    story.ended(reason, decision)
    return story


@pytest.mark.parametrize("reason", [LOST, Reason.NO_RECEIPT, Reason.LOOKUP_FAILED])
def test_what_is_in_doubt_is_not_sent_again(reason):
    story = in_doubt(reason)
    story.started(2)
    assert story.wrong == ["i1 chunk 1 was sent again although it may have been accepted"]


@pytest.mark.parametrize("reason", [Reason.NOT_SENT, Reason.RATE_LIMITED, Reason.PLATFORM_ERROR])
def test_what_surely_did_not_arrive_is_sent_again(reason):
    story = in_doubt(reason)
    story.started(2)
    assert story.wrong == []


@pytest.mark.parametrize(("idempotency", "wrong"), [(Idempotency.KEY, 0), (Idempotency.LOOKUP, 1)])
def test_a_platform_that_keeps_one_of_two_may_be_asked_again(idempotency, wrong):
    story = in_doubt(idempotency=idempotency)
    story.started(2)
    assert len(story.wrong) == wrong


@pytest.mark.parametrize(("asked", "wrong"), [(True, 0), (False, 1)])
def test_that_a_platform_has_it_not_is_known_when_it_was_asked(asked, wrong):
    story = in_doubt(decision="lookup", idempotency=Idempotency.LOOKUP)
    if asked:
        story.looked_up(False)
    story.ended(Reason.NOT_FOUND_BY_LOOKUP, "retry")
    story.started(2)
    assert len(story.wrong) == wrong


def test_a_look_up_before_the_doubt_proves_nothing():
    story = Story("D4")
    story.world(Idempotency.LOOKUP)
    story.prepared()
    story.looked_up(False)
    story.started()
    story.ended(LOST, "lookup")
    story.ended(Reason.NOT_FOUND_BY_LOOKUP, "retry")
    story.started(2)
    assert len(story.wrong) == 1


def test_what_an_operator_looked_at_may_be_sent():
    story = in_doubt(decision="park")
    story.operator("unsent")
    story.started()
    assert story.verdict.status is Status.OK


@for_each("at", ["started", "accepted", "ended"])
@for_each("how", ["crash", "stop", "lease"])
def test_what_a_process_that_is_gone_had_on_the_wire_is_in_doubt(how, at):
    story = Story("D4")
    story.world()
    story.prepared()
    story.started()
    if at != "started":
        story.accepted()
    if at == "ended":
        story.ended(Reason.ACCEPTED, "settle")
    if how == "crash":
        story.crashed()
    elif how == "stop":
        story.tell(ProcessStopped(why="restart"))
    else:
        lease = LeaseTaken(owner="2", token=2, before="1", until=99.0, reason=Reason.LEASE_EXPIRED)
        story.process = 2
        story.tell(lease)
    story.started(2)
    assert len(story.wrong) == 1


def test_what_a_process_had_finished_before_it_died_is_in_no_doubt():
    story = Story("D4")
    story.world()
    story.prepared("i1", "one", "two")
    story.sent("one")
    story.prepared("i2")
    story.crashed()
    story.started(chunk=1)
    story.started(intent="i2")
    # Both attempts of the first one were at its next chunk.
    assert (story.wrong, story.verdict.exercised) == ([], 2)


def test_by_policy_it_is_sent_once_more_and_marked():
    story = in_doubt(mark="[again] ")
    story.started(2)
    story.accepted("[again] hello", attempt=2)
    assert story.verdict.status is Status.OK


def test_by_policy_it_is_not_sent_once_more_without_a_mark():
    story = in_doubt(mark="[again] ")
    story.started(2)
    story.accepted("hello", attempt=2)
    assert story.wrong == ["i1 chunk 1 was sent again without a mark"]


def test_by_policy_it_is_not_sent_twice_more():
    story = in_doubt(mark="[again] ")
    story.started(2)
    story.ended(LOST, "retry", attempt=2)
    story.started(3)
    assert len(story.wrong) == 1


def fallback() -> TransportFallback:
    return TransportFallback(
        chunk=0, attempt=1, instead_of=Transport.DIRECT, used=Transport.GATEWAY, reason=Reason.GATEWAY_PATH
    )


@pytest.mark.parametrize("idempotency", Idempotency)
def test_what_is_in_doubt_does_not_go_by_another_transport(idempotency):
    story = in_doubt(decision="fallback", idempotency=idempotency)
    story.tell(fallback(), intent="i1")
    assert story.wrong == ["i1 chunk 1 went to the gateway path although it may have been accepted"]


def test_what_surely_did_not_arrive_may_go_by_another_transport():
    story = in_doubt(Reason.NOT_SENT, "fallback")
    story.tell(fallback(), intent="i1")
    story.started(2)
    assert story.verdict.status is Status.OK


def test_a_fallback_of_what_people_can_see_is_wrong_whatever_the_gateway_heard():
    story = Story("D4")
    story.world()
    story.prepared()
    story.started()
    story.accepted()
    story.ended(Reason.NOT_SENT, "fallback")
    story.tell(fallback(), intent="i1")
    assert story.broken == ["D4"]


@pytest.mark.parametrize(("idempotency", "wrong"), [(Idempotency.NONE, 1), (Idempotency.KEY, 0)])
def test_requests_that_a_lower_layer_repeats_are_seen_on_the_wire(idempotency, wrong):
    story = Story("D4")
    story.world(idempotency)
    story.prepared()
    story.started()
    story.accepted()
    story.tell(WireResponseLost(address=PLACE, chunk=0, attempt=1), node="telegram", intent="i1")
    story.refused()
    assert len(story.wrong) == wrong


def test_a_later_attempt_is_no_repeat_of_a_lower_layer():
    story = Story("D4")
    story.world(Idempotency.LOOKUP)
    story.prepared()
    story.started()
    story.tell(WireResponseLost(address=PLACE, chunk=0, attempt=1), node="telegram", intent="i1")
    story.ended(LOST, "lookup")
    story.looked_up(False)
    story.ended(Reason.NOT_FOUND_BY_LOOKUP, "retry")
    story.started(2)
    story.accepted(attempt=2)
    assert story.wrong == []


# ---------------------------------------------------------------- D4: the next chunk


def test_chunks_go_one_after_another_over_a_crash_too():
    story = Story("D4")
    story.prepared("i1", "one", "two", "three")
    story.sent("one")
    story.started(chunk=1)
    story.crashed()
    story.started(2, chunk=1)
    story.acked(chunk=1)
    story.sent("three", chunk=2)
    story.settled(IntentState.DELIVERED)
    story.end()
    assert (story.verdict.status, story.verdict.exercised) == (Status.OK, 5)


@pytest.mark.parametrize(("chunk", "what"), [(0, "again"), (2, "before its turn")])
def test_no_chunk_is_repeated_or_skipped(chunk, what):
    story = Story("D4")
    story.prepared("i1", "one", "two", "three")
    story.sent("one")
    story.started(chunk=chunk)
    assert story.wrong == [f"i1 chunk {chunk + 1} was sent {what}: 1 chunks have a receipt"]


def test_after_an_operator_says_that_a_chunk_is_there_the_next_one_goes():
    story = Story("D4")
    story.prepared("i1", "one", "two")
    story.started()
    story.settled(IntentState.UNKNOWN)
    story.operator("sent")
    story.acked(reason=Reason.OPERATOR_SENT)
    story.sent("two", chunk=1)
    assert story.wrong == []


def test_one_message_alone_says_nothing_of_chunks():
    story = Story("D4")
    story.delivered()
    assert story.end().verdict.status is Status.NOT_EXERCISED


@pytest.mark.parametrize(("fault", "wrong"), [("send/reset-before", 0), ("send/drop", 0), ("send/refuse", 1)])
def test_an_answer_may_be_left_out_for_a_send_that_was_lost_on_its_way(fault: str, wrong: int):
    story = Story("D3")
    story.prepared("i1", "It is done", turn="t1", inbound="m1", intent_kind=IntentKind.TOOL)
    story.started(intent="i1")
    story.tell(FaultFired(fault=fault, detail="It is done"), node="sim")
    story.ended(Reason.RESPONSE_LOST, "park", "i1")
    story.settled(IntentState.UNKNOWN, "i1", Reason.PARKED)
    story.tell(IntentSuppressed(reason=Reason.ALREADY_SENT, text="It is done"), turn="t1", inbound="m1")
    story.end()
    assert len(story.wrong) == wrong
