"""The state at any event: the same however one gets there."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.app.changes import BOS, FIRST, OWN, SECOND, changed_sessions
from tests.support.app.traces import DEPLOY, KEYS, OPS, bound_completion, foreign_mirror
from trunkline.app.view.index.snapshots import FRAME_EVERY, RunSnapshot, Snapshots
from trunkline.core.events import Body, Event, EventLog
from trunkline.core.events.delivery import (
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    MirrorAppended,
)
from trunkline.core.events.gateway import (
    DelegationAccepted,
    DelegationFinished,
    DelegationStarted,
    ProcessStarted,
    SessionCreated,
    SessionMoved,
    SessionReset,
    TranscriptAppended,
)
from trunkline.core.events.leases import LeaseTaken
from trunkline.core.reasons import Reason
from trunkline.core.values import HandOutcome, IntentKind, IntentState
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import BugEnabled
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadClosed, WorldSession

PLACES = (OPS, DEPLOY)


def refold(events, seq):
    moment = RunSnapshot()
    for event in events[:seq]:
        moment.advance(event)
    return moment


def body(kind: int, number: int) -> Body:
    """One of the bodies that change the state."""
    address = PLACES[number % 2]
    key = KEYS[address]
    return (
        ProcessStarted(),
        ProcessCrashed(why="test"),
        SessionCreated(
            agent="a", session_key=key, session_id=f"s{number}", generation=number, address=address, by="inbound"
        ),
        TranscriptAppended(session_id="s", session_key=key, role="user", text="t"),
        MirrorAppended(session_id="s", session_key=key, text="t"),
        DelegationAccepted(hand="h", task="t", origin=address, session_key=key),
        DelegationStarted(hand="h"),
        DelegationFinished(hand="h", outcome=HandOutcome.OK, text="t"),
        IntentPrepared(
            intent_kind=IntentKind.REPLY,
            address=address,
            targeted=False,
            text="t",
            chunks=1,
            key="k",
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key=key,
        ),
        AttemptStarted(chunk=0, attempt=number, address=address),
        WireAccepted(address=address, requested=address, text="t", provider_id="p", key="k", chunk=0, attempt=1),
        ChunkAcked(chunk=0, provider_id="p", address=address, reason=Reason.ACCEPTED),
        IntentSettled(state=IntentState.DELIVERED, reason=Reason.ACCEPTED, attempts=1),
        ThreadClosed(address=address, how="archived"),
        BugEnabled(bug=f"bug{number}", sentence="."),
        WorldSession(session_key=key, session_id="s", address=address),
        LeaseTaken(owner="o", token=number, before=None, until=9.0, reason=Reason.LEASE_FREE),
        IntentReopened(before=IntentState.UNKNOWN, reason=Reason.OPERATOR_RETRY, chunk=0),
        MirrorAppended(session_id="s", session_key=key, text="t", partial=True),
        SessionReset(session_key=key, session_id=f"r{number}", generation=number, before="s"),
        SessionMoved(
            old_key=key, session_key=KEYS[PLACES[number // 2 % 2]], session_id="s", reason=Reason.SCOPE_CHANGED
        ),
    )[kind]


def story(steps: list[tuple[int, int]]) -> tuple[Event, ...]:
    log = EventLog(lambda: float(len(log.events)))
    writer = log.recorder("gateway", 1)
    for kind, number in steps:
        writer.record(body(kind, number), intent=f"i{number % 3}", delegation=f"d{number % 3}")
    return tuple(log.events)


STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 7)), min_size=1, max_size=40)


@given(STEPS, st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(1, 30))
def test_any_order_of_seeks_gives_what_folding_from_zero_gives(steps, seeks, times):
    events = story(steps * times)
    fold = Snapshots(events)
    for seek in seeks:
        seq = round(seek * len(events))
        assert fold.at(seq) == refold(events, seq)


def test_seeks_beyond_both_ends_stop_there():
    events = bound_completion().trace.events
    fold = Snapshots(events)
    assert fold.at(-5) == RunSnapshot()
    assert fold.at(10_000) == refold(events, len(events))


def test_a_moment_that_was_handed_out_does_not_change():
    events = story([(8, 0), (9, 1), (12, 0)] * FRAME_EVERY)
    fold = Snapshots(events)
    early = fold.at(2)
    assert early.intents["i0"].state is IntentState.PREPARED
    fold.at(len(events))
    assert early == refold(events, 2)


def test_the_made_run_ends_as_it_was_written():
    run = bound_completion()
    end = Snapshots(run.trace.events).at(len(run.trace.events))
    assert end.generation == 2
    assert end.alive
    assert [intent.state for intent in end.intents.values()] == [IntentState.DELIVERED] * 5
    assert end.sessions[KEYS[DEPLOY]].heard == 1
    assert end.sessions[KEYS[DEPLOY]].said == 2
    assert end.delegations["d1"].outcome is HandOutcome.OK


def test_a_closed_thread_is_known():
    run = foreign_mirror()
    end = Snapshots(run.trace.events).at(len(run.trace.events))
    assert list(end.closed.values()) == ["archived"]


def test_sessions_are_followed_to_their_keys_and_generations():
    run = changed_sessions()
    end = Snapshots(run.trace.events).at(len(run.trace.events))
    assert list(end.sessions) == [BOS, OWN, KEYS[OPS]]
    bos = end.sessions[BOS]
    assert (bos.key, bos.id, bos.generation, bos.before) == (BOS, SECOND, 2, (FIRST,))


def test_a_reopened_intent_is_on_its_way_again():
    events = story([(8, 0), (12, 0), (17, 0)])
    fold = Snapshots(events)
    assert [fold.at(seq).intents["i0"].state for seq in (2, 3)] == [IntentState.DELIVERED, IntentState.PREPARED]


def test_a_transcript_line_that_grows_counts_once():
    whole, partial = 4, 18
    grown = Snapshots(story([(8, 0), (partial, 0), (partial, 0), (whole, 0)]))
    assert grown.at(4).sessions[KEYS[OPS]].said == 1
    assert grown.at(4).intents["i0"].part_in == ""
    assert Snapshots(story([(8, 0), (whole, 0), (whole, 0)])).at(3).sessions[KEYS[OPS]].said == 2
