"""M1, M2 and P2: transcripts hold what was accepted; dry runs and cancelled sends have no effect."""

import msgspec
import pytest

from tests.support.event_stories import PLACE, Story
from tests.support.for_each import for_each
from tests.support.invariants.status_trace import CANCELLED, DELIVERED, outcome
from trunkline.core.events.delivery import HookSending, MirrorRefused, SendPreviewed, SendRequested
from trunkline.core.events.gateway import InboundAdmitted, ProcessStarted, SessionCreated, TranscriptAppended
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState, WorkKind
from trunkline.sim.events.script import ClientRequested
from trunkline.sim.invariants import Status

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
    assert story.wrong == ["i1 was mirrored, but never accepted"]


@for_each("invariant", ["L3", "M2", "R4"])
@for_each("platform", [True, False], ids=["platform-tells", "gateway-alone"])
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


def test_what_is_cancelled_is_reported_and_that_is_all():
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


def test_what_is_cancelled_is_not_reported_as_something_else():
    story = cancelled("P2")
    story.tell(outcome(DELIVERED), intent="i1")
    assert story.broken == ["P2"]


def test_that_it_was_cancelled_is_reported():
    story = cancelled("P2", "V1")
    story.settled(CANCELLED, reason=Reason.CANCELLED_BY_HOOK)
    assert story.end().broken == ["V1"]


def test_a_cancel_that_died_with_its_process_need_not_be_reported():
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


# ---------------------------------------------------------------- M2: notes about what did not arrive


def ended(state: IntentState, reason: Reason = Reason.REFUSED, *, notes: bool = True, kind=IntentKind.REPLY) -> Story:
    """An intent of the turn of m1, in session s, that has ended."""
    story = Story("M2")
    story.world()
    story.tell(ProcessStarted(notes=notes))
    story.tell(InboundAdmitted(work=WorkKind.MESSAGE, session_id="s", session_key="k"), inbound="m1")
    story.prepared("i1", inbound="m1", intent_kind=kind)
    story.settled(state, reason=reason, inbound="m1")
    return story


def noted(story: Story, session: str = "s") -> None:
    body = TranscriptAppended(session_id=session, session_key="k", role="delivery", text="it did not arrive")
    story.tell(body, intent="i1", inbound="m1")


BAD = (IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN, IntentState.MISPLACED)


@for_each("state", BAD)
@for_each("told", [True, False])
def test_each_bad_end_has_a_note_in_the_session_that_sent_it(state, told):
    story = ended(state)
    if told:
        noted(story)
    assert story.end().broken == ([] if told else ["M2"])


def test_a_note_is_in_no_other_session():
    story = ended(IntentState.FAILED)
    noted(story, "another")
    assert story.wrong == ["i1 is noted as not arrived, in another session"]


def test_what_arrived_has_no_note():
    story = ended(IntentState.DELIVERED)
    noted(story)
    assert story.wrong == ["i1 is noted as not arrived, and it did not end badly"]


@pytest.mark.parametrize(
    "story",
    [
        ended(IntentState.DEAD, notes=False),
        ended(IntentState.DEAD, kind=IntentKind.NOTICE),
        ended(IntentState.DEAD, Reason.BROKEN_ROW),
    ],
    ids=["an earlier version", "a notice", "a broken row"],
)
def test_not_every_end_has_a_note(story):
    assert story.end().broken == []
