"""D7, L1, L3, M1, M2, P2 and V1 on stories written by hand: what is told is what was done."""

import msgspec
import pytest

from tests.support.event_stories import PLACE, Story
from trunkline.core.events.delivery import (
    HookSending,
    HookSent,
    IntentReopened,
    MirrorRefused,
    SendPreviewed,
    SendRequested,
    TargetResolved,
)
from trunkline.core.events.gateway import InboundReceived, SessionCreated, StoreFailed, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.processes import ProcessStopped
from trunkline.sim.events.script import ClientAnswered, ClientRequested
from trunkline.sim.events.world import PlatformPushed
from trunkline.sim.invariants import Status

DELIVERED, UNKNOWN, CANCELLED = IntentState.DELIVERED, IntentState.UNKNOWN, IntentState.CANCELLED


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
    assert story.wrong == (["t1 was run again though its answer had been accepted"] if answered else [])


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
        story.settled(IntentState.DEAD)
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


@pytest.mark.parametrize(
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
def test_a_client_is_told_what_the_platform_did(status, provider_id, wrong):
    story, asked = a_client()
    story.tell(ClientAnswered(key="c", status=status, provider_id=provider_id), node="sim", cause=asked)
    assert len(story.wrong) == wrong


def test_a_success_without_a_message_is_none_best_effort_or_not():
    story, asked = a_client(accepted=False)
    story.tell(ClientAnswered(key="c", status="delivered", provider_id="best-effort"), node="sim", cause=asked)
    assert story.wrong == ["a send was told to be delivered; accepted under its key: 0 chunks"]


@pytest.mark.parametrize(
    ("status", "provider_id", "wrong"),
    [("dry-run", None, 0), ("refused", None, 0), ("delivered", None, 1), ("dry-run", "p1", 1), ("queued", None, 1)],
)
def test_a_dry_run_is_told_as_one(status, provider_id, wrong):
    story, asked = a_client(dry_run=True, accepted=False)
    story.tell(ClientAnswered(key="c", status=status, provider_id=provider_id), node="sim", cause=asked)
    assert len(story.wrong) == wrong


# ---------------------------------------------------------------- M1, M2


def mirrored(*texts: str, seen: int | None = None) -> Story:
    """An intent of which so many chunks have a receipt."""
    story = Story("M2")
    story.world()
    story.prepared("i1", *texts)
    for chunk, text in enumerate(texts[:seen]):
        story.sent(text, chunk=chunk)
    return story


@pytest.mark.parametrize("line", ["one\ntwo", "one two"])
def test_a_transcript_has_what_was_accepted_whatever_became_of_the_blanks_at_the_cuts(line):
    story = mirrored("one", "two")
    story.mirrored(line)
    assert story.verdict.status is Status.OK


@pytest.mark.parametrize(("line", "partial", "wrong"), [("one", True, 0), ("one two", True, 1), ("one", False, 1)])
def test_a_part_is_remembered_as_a_part(line, partial, wrong):
    story = mirrored("one", "two", seen=1)
    story.mirrored(line, partial=partial)
    assert len(story.wrong) == wrong


def test_the_whole_is_not_marked_as_a_part():
    story = mirrored("one")
    story.mirrored("one", partial=True)
    assert story.wrong == ["the entry of i1 is marked as a part; 1 of 1 chunks have a receipt"]


def test_files_are_remembered_by_their_names():
    story = Story("M2")
    story.prepared("i1", "see", media=("plan.pdf",))
    story.accepted("see", media=("https://example.org/plan.pdf?x=1",))
    story.acked()
    story.mirrored("plan.pdf")
    assert story.wrong == []


def test_a_mark_of_a_repeat_is_not_remembered():
    story = Story("M2")
    story.world(mark="[again] ")
    story.prepared()
    story.accepted("[again] hello")
    story.acked()
    story.mirrored("hello")
    assert story.wrong == []


@pytest.mark.parametrize("prepared", [True, False])
def test_what_nobody_accepted_is_not_remembered(prepared):
    story = Story("M2")
    story.world()
    if prepared:
        story.prepared()
    story.mirrored()
    assert story.wrong == ["i1 was mirrored, and nobody has accepted it"]


@pytest.mark.parametrize("invariant", ["L3", "M2", "R4"])
@pytest.mark.parametrize("platform", [True, False], ids=["platform-tells", "gateway-alone"])
def test_a_gateways_own_trace_has_nothing_to_compare_with(invariant, platform):
    """A real gateway's trace ([embedding](docs/embedding.md#events)) has no word of the platforms."""
    story = Story(invariant)
    if platform:
        story.world()
    story.prepared(place=msgspec.structs.replace(PLACE, account="another"))
    story.acked()
    story.settled(IntentState.DELIVERED)
    story.mirrored()
    expected = Status.VIOLATED if platform else Status.NOT_EXERCISED
    assert story.end().verdict.status is expected


def test_a_second_line_needs_another_accept():
    story = mirrored("one")
    story.mirrored("one")
    story.mirrored("one")
    assert story.wrong == ["i1 was mirrored again, and nothing was accepted since"]


@pytest.mark.parametrize(("partial", "broken"), [(True, []), (False, ["M1"])])
def test_a_line_that_held_a_part_grows_and_another_does_not(partial, broken):
    story = Story("M1", "M2")
    story.world()
    story.prepared("i1", "one", "two", named_session=True)
    story.sent("one")
    story.mirrored("one", partial=True)
    story.settled(IntentState.PARTIAL)
    story.operator("retry")
    story.sent("two", chunk=1)
    story.mirrored("one\ntwo")
    story.settled(DELIVERED)
    if not partial:
        story.accepted("two", chunk=1, provider_id="p9")
        story.mirrored("one\ntwo")
    assert story.end().broken == broken


@pytest.mark.parametrize("comes", [True, False])
def test_a_line_that_was_refused_comes_later(comes):
    story = Story("M1")
    story.prepared(named_session=True)
    story.sent()
    story.tell(MirrorRefused(session_key="k", reason=Reason.MIRROR_REFUSED, detail=""), intent="i1")
    story.settled(DELIVERED)
    if comes:
        story.mirrored()
    assert story.end().broken == ([] if comes else ["M1"])


# ---------------------------------------------------------------- P2


def cancelled(*only: str) -> Story:
    story = Story(*only)
    body = HookSending(verdict="cancelled", by=("censor",), reason=Reason.CANCELLED_BY_HOOK)
    story.tell(body, intent="i1")
    return story


def outcome(state: IntentState) -> HookSent:
    return HookSent(state=state, reason=Reason.CANCELLED_BY_HOOK)


def test_what_is_cancelled_is_told_and_that_is_all():
    story = cancelled("P2", "V1", "L1", "L3")
    story.settled(CANCELLED, reason=Reason.CANCELLED_BY_HOOK)
    story.tell(outcome(CANCELLED), intent="i1")
    assert story.end().broken == []


def test_what_is_cancelled_has_no_effect():
    story = cancelled("P2")
    story.prepared()
    story.accepted()
    story.refused()
    assert len(story.wrong) == 3


def test_what_is_cancelled_is_not_told_as_something_else():
    story = cancelled("P2")
    story.tell(outcome(DELIVERED), intent="i1")
    assert story.broken == ["P2"]


def test_that_it_was_cancelled_is_told():
    story = cancelled("P2", "V1")
    story.settled(CANCELLED, reason=Reason.CANCELLED_BY_HOOK)
    assert story.end().broken == ["P2", "V1"]


def test_a_cancel_that_died_with_its_process_need_not_be_told():
    story = cancelled("P2", "V1")
    story.crashed()
    assert story.end().broken == []


def test_a_hook_that_is_asked_again_may_keep_it():
    story = cancelled("P2", "V1")
    story.crashed()
    story.tell(HookSending(verdict="kept", by=(), reason=Reason.KEPT_BY_HOOKS), intent="i1")
    story.delivered()
    story.tell(outcome(DELIVERED), intent="i1")
    assert story.end().broken == []


@pytest.mark.parametrize("by", ["preview", "client"])
@pytest.mark.parametrize("effect", ["intent", "session"])
def test_a_dry_run_has_no_effect(by, effect):
    story = Story("P2")
    asked = None
    if by == "client":
        asked = story.tell(ClientRequested(key="c", dry_run=True), node="sim")
    sent = story.tell(SendRequested(key="c", channel=None, target="x", session_key=None, text="hello"), cause=asked)
    if by == "preview":
        story.tell(
            SendPreviewed(key="c", address=PLACE, session_key="k", chunks=("hello",), reason=Reason.DRY_RUN), cause=sent
        )
    if effect == "intent":
        story.prepared("send:c", cause=sent)
    else:
        body = SessionCreated(agent="a", session_key="k", session_id="s", generation=1, address=None, by="outbound")
        story.tell(body, cause=sent)
    assert len(story.wrong) == 1


def test_what_is_sent_after_a_dry_run_is_another_thing():
    story = Story("P2")
    for dry_run in (True, False):
        asked = story.tell(ClientRequested(key="c", dry_run=dry_run), node="sim")
        sent = story.tell(SendRequested(key="c", channel=None, target="x", session_key=None, text=""), cause=asked)
        if dry_run:
            story.tell(
                SendPreviewed(key="c", address=PLACE, session_key="k", chunks=("hello",), reason=Reason.DRY_RUN),
                cause=sent,
            )
    story.prepared("send:c", cause=sent)
    assert (story.wrong, story.verdict.status) == ([], Status.OK)


# ---------------------------------------------------------------- V1


@pytest.mark.parametrize(("reason", "decision", "wrong"), [("refused", "fail", 0), ("accepted", "settle", 1)])
def test_what_a_platform_refused_is_told_as_refused(reason, decision, wrong):
    story = Story("V1")
    story.prepared()
    story.started()
    story.refused()
    story.ended(Reason(reason), decision)
    assert len(story.wrong) == wrong


def test_a_refusal_that_was_never_heard_need_not_be_told():
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


def test_a_receipt_is_stored_or_something_tells_why_not():
    story = accepted_and_not_stored()
    story.tell(ProcessStopped(why="restart"), after=60)
    assert story.wrong == ["the receipt of i1 chunk 1 was not stored, and nothing tells why"]


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
    assert story.wrong == ["hooks were told the outcome of i1, which they never saw"]


def test_hooks_hear_how_it_really_ended():
    story = Story("V1")
    story.tell(HookSending(verdict="kept", by=(), reason=Reason.KEPT_BY_HOOKS), intent="i1")
    story.delivered()
    story.tell(outcome(IntentState.FAILED), intent="i1")
    assert story.wrong == ["hooks were told that i1 is failed; it is delivered"]


@pytest.mark.parametrize("ended", [True, False])
def test_an_intent_that_a_later_one_has_passed_has_ended(ended):
    story = Story("V1")
    story.prepared("i1")
    if ended:
        story.settled(IntentState.EXPIRED, "i1", Reason.TOO_OLD)
    story.delivered("i2")
    story.end()
    assert story.wrong == ([] if ended else ["i1 was passed over by a later one, and nothing tells why"])


@pytest.mark.parametrize("told", ["mirror", "refusal", "nothing"])
def test_what_was_delivered_is_in_a_transcript_or_something_tells_why_not(told):
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
