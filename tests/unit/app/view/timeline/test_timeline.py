"""Rows of the timeline: what is drawn, tagged, joined and folded."""

import pytest

from tests.support.app.author import ANA, DEPLOY, OPS, Author
from tests.support.app.changes import changed_sessions
from tests.support.app.traces import bound_completion, foreign_mirror, verdicts
from tests.support.for_each import for_each
from trunkline.app.runs.model import Run
from trunkline.app.view.index.evidence import Causes
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.app.view.rows.lanes import Look, TimelineLanes
from trunkline.app.view.timeline.timeline import Timeline, is_delivery
from trunkline.core.events import EventLog, Trace, TraceHeader
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import (
    AttemptEnded,
    BacklogWaiting,
    Fallback,
    HookFailed,
    HookSending,
    HookSent,
    IntentReopened,
    IntentSettled,
    IntentSuppressed,
    LaneWaiting,
    MirrorRefused,
    OperatorActed,
    SendJoined,
    SendPreviewed,
    SendRefused,
    SendRequested,
    TargetResolved,
    TransportFallback,
)
from trunkline.core.events.gateway import (
    ConfigReloaded,
    InboundDropped,
    SessionLeft,
    SessionMoved,
    SessionReset,
    SessionShared,
)
from trunkline.core.events.leases import AdapterInstalled, StorePruned
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState, Transport
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.events.script import ClientAnswered, ClientRequested, FaultFired, RunPhase
from trunkline.sim.events.wire import WireAccepted, WireDeduplicated, WireRefused, WireResponseLost
from trunkline.sim.events.world import PeerSaid, PlatformPushed, ThreadClosed
from trunkline.sim.invariants.base import Status, Verdict, Violation


def opened(run: Run, *, unfolded: bool = False):
    view = RunView(run)
    return view, Timeline(view, TimelineLanes(view), unfolded=unfolded)


def row_of(run, text, look=None):
    _, timeline = opened(run)
    return next(row for row in timeline.rows if text in row.text and look in (None, row.look))


def small(*bodies, **ids) -> Run:
    """A run of these bodies in a world with one room."""
    author = Author()
    author.world([(OPS, "ops", None)])
    for body in bodies:
        author.gateway.record(body, **ids)
    return Run(trace=author.trace("small", title="small"), verdicts=verdicts())


def test_copies_are_tagged_and_joined():
    _, timeline = opened(bound_completion())
    copies = [row for row in timeline.rows if "release 41 shipped" in row.text and is_delivery(row)]
    assert [(row.look, row.tags, row.bracket) for row in copies] == [
        (Look.FIRST, ("1×",), "┏"),
        (Look.COPY, ("2×", "!!"), "┗"),
    ]


def test_without_the_defect_nothing_is_tagged():
    _, timeline = opened(bound_completion(bug=False))
    assert {row.tags for row in timeline.rows} == {(), ("✗",)}
    assert not any(row.bracket for row in timeline.rows)


def test_rows_between_copies_carry_the_bar():
    _, timeline = opened(foreign_mirror())
    assert [row.bracket for row in timeline.rows if row.bracket] == ["┏", "┃", "┃", "┗"]


def test_a_foreign_mirror_is_marked_at_the_delivery():
    row = row_of(foreign_mirror(), "all green")
    assert (row.mirror, row.look) == ("m!", Look.DELIVERED)


def test_a_missing_mirror_is_marked_at_the_delivery():
    run = bound_completion(bug=False)
    wire = next(event.seq for event in run.trace.events if event.kind == "wire.accepted")
    missing = Violation(
        invariant="M1", at=wire, summary="no mirror", expected=("one",), actual=("none",), evidence=(wire,)
    )
    _, timeline = opened(Run(trace=run.trace, verdicts=verdicts(missing)))
    assert timeline.rows[timeline.row_at(wire)].mirror == "m?"


def test_a_mirror_with_other_words_is_marked_at_the_delivery():
    run = bound_completion(bug=False)
    kinds = [event.kind for event in run.trace.events]
    wire, mirror = (kinds.index(kind) + 1 for kind in ("wire.accepted", "mirror.appended"))
    other = Violation(
        invariant="M2", at=mirror, summary="other words", expected=("a",), actual=("b",), evidence=(wire, mirror)
    )
    verdict = Verdict(id="M2", title="M2", sentence="", status=Status.VIOLATED, exercised=1, violations=(other,))
    _, timeline = opened(Run(trace=run.trace, verdicts=(verdict,)))
    assert timeline.rows[timeline.row_at(wire)].mirror == "m!"


def test_a_message_taken_twice_is_marked_where_it_arrives():
    author = Author()
    author.world([(OPS, "ops", None)])
    admitted, inbound = author.say(OPS, ANA, "once please")
    first, _ = author.turn(OPS, admitted, inbound)
    again = author.platform(OPS).record(PlatformPushed(address=OPS, message_id="p101", original_id="p101", replay=True))
    second, _ = author.turn(OPS, again, "in2")
    twice = Violation(
        invariant="D7", at=second, summary="twice", expected=("one",), actual=("two",), evidence=(first, second)
    )
    _, timeline = opened(Run(trace=author.trace("twice", title=""), verdicts=verdicts(twice)))
    tagged = [(row.text, row.look, row.tags) for row in timeline.rows if row.tags]
    assert tagged == [("“once please”", Look.FIRST, ("1×",)), ("again “once please”", Look.COPY, ("2×",))]


def test_a_delivery_elsewhere_by_configuration_is_a_fallback():
    author = Author()
    author.world([(OPS, "ops", None)])
    intent = author.prepare(OPS, "hello", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.gateway.record(Fallback(asked=OPS, used=OPS, reason=Reason.PLACE_GONE), intent=intent)
    author.attempt(OPS, intent)
    author.accept(OPS, "hello", intent)
    run = Run(trace=author.trace("fallback", title=""), verdicts=verdicts())
    assert row_of(run, "hello").look is Look.FALLBACK


@for_each(
    ("body", "look", "text"),
    [
        (WireRefused(address=OPS, reason=Reason.PLACE_GONE, chunk=0, attempt=1), Look.DEAD, "refused: place-gone"),
        (WireRefused(address=OPS, reason=Reason.RATE_LIMITED, chunk=0, attempt=1), Look.RETRY, "rate-limited"),
        (WireResponseLost(address=OPS, chunk=0, attempt=1), Look.UNKNOWN, "response lost"),
        (WireDeduplicated(address=OPS, provider_id="p", key="k", chunk=0, attempt=2), Look.SUPPRESSED, "kept one"),
        (InboundDropped(reason=Reason.DUPLICATE_REPLAY), Look.SUPPRESSED, "dropped: duplicate-replay"),
        (InboundDropped(reason=Reason.PART_OF_ACT, first="m1"), Look.NOTE, "taken with the message before it"),
        (IntentSuppressed(reason=Reason.NO_REPLY), Look.SUPPRESSED, "no-reply"),
        (ProcessCrashed(why="crash before ack"), Look.ALARM, "CRASH before ack"),
        (FaultFired(fault="send/slow", detail="3 s"), Look.ALARM, "fault: send/slow 3 s"),
        (ThreadClosed(address=OPS, how="archived"), Look.NOTE, "ops archived"),
        (RunEnded(at_rest=False, open=("i1",)), Look.ALARM, "never came to rest: i1"),
        (
            ConfigReloaded(revision=2, changed=("bindings", "session"), dm_scope="main", group_scope="main"),
            Look.NOTE,
            "configuration 2: bindings, session",
        ),
        (
            SessionReset(session_key="k", session_id="s2", generation=2, before="s1"),
            Look.NOTE,
            "session reset, generation 2",
        ),
        (
            SessionMoved(old_key="a", session_key="k", session_id="s", reason=Reason.KEY_MIGRATED),
            Look.NOTE,
            "session moved: key-migrated",
        ),
        (
            SessionLeft(old_key="a", old_session_id="s", session_key="k", reason=Reason.SCOPE_CHANGED),
            Look.NOTE,
            "session left: scope-changed",
        ),
        (
            SessionShared(session_key="k", reason=Reason.SHARED_MAIN, peer=ANA, people=2),
            Look.ALARM,
            "2 people in one session: shared-main",
        ),
        (
            SendRequested(key="k", channel=None, target=str(OPS), session_key=None, text="news"),
            Look.NOTE,
            "client: “news” to discord/ops",
        ),
        (SendJoined(key="k1", reason=Reason.IDEMPOTENT_REPEAT, ended=True), Look.SUPPRESSED, "same key, one send: k1"),
        (SendRefused(key="k", reason=Reason.BAD_TARGET, detail="x"), Look.DEAD, "send refused: bad-target"),
        (
            SendPreviewed(key="k", address=OPS, session_key="s", chunks=("news", "more"), reason=Reason.DRY_RUN),
            Look.SUPPRESSED,
            "dry run: “news more”",
        ),
        (
            SendPreviewed(key="k", address=OPS, session_key=None, chunks=(), media=("a.png",), reason=Reason.DRY_RUN),
            Look.SUPPRESSED,
            "dry run: 1 file",
        ),
        (
            ClientAnswered(key="k", status="delivered", provider_id="p7"),
            Look.NOTE,
            "the client gets its result: delivered, message p7",
        ),
        (
            HookSending(verdict="cancelled", by=("censor",), reason=Reason.CANCELLED_BY_HOOK),
            Look.NOTE,
            "hooks cancel it (censor): cancelled-by-hook",
        ),
        (
            HookSending(verdict="modified", by=("a", "b"), reason=Reason.MODIFIED_BY_HOOK),
            Look.NOTE,
            "hooks change it (a, b): modified-by-hook",
        ),
        (
            HookFailed(hook="log", phase="sent", reason=Reason.HOOK_RAISED, detail="full"),
            Look.ALARM,
            "hook log fails at sent: hook-raised (full)",
        ),
        (LaneWaiting(address=OPS, reason=Reason.NOT_READY, until=9.0), Look.RETRY, "waits: not-ready"),
        (BacklogWaiting(open=10, limit=10), Look.ALARM, "the queue is full, 10 of 10 open"),
        (OperatorActed(verb="purge", detail="3 intents"), Look.NOTE, "operator: purge, 3 intents"),
        (
            IntentReopened(before=IntentState.UNKNOWN, reason=Reason.OPERATOR_UNSENT, chunk=1),
            Look.RETRY,
            "reopened: operator-unsent",
        ),
        (
            TransportFallback(
                chunk=0, attempt=1, instead_of=Transport.DIRECT, used=Transport.GATEWAY, reason=Reason.GATEWAY_PATH
            ),
            Look.NOTE,
            "by the gateway path, not the direct one",
        ),
        (
            MirrorRefused(session_key="k", reason=Reason.MIRROR_REFUSED, detail="held"),
            Look.ALARM,
            "mirroring into k failed and will be retried: mirror-refused (held)",
        ),
        (
            StorePruned(intents=2, inbounds=0, sends=1, reason=Reason.RETENTION),
            Look.NOTE,
            "removed: 2 intents, 1 send: retention",
        ),
        (AdapterInstalled(channel="discord", account="main"), Look.NOTE, "the adapter of discord main is installed"),
    ],
)
def test_what_is_not_a_delivery_has_a_row_too(body, look, text):
    row = row_of(small(body), text)
    assert row.look is look


@pytest.mark.parametrize(
    ("decision", "look"),
    [
        *(("retry", Look.RETRY), ("fallback", Look.RETRY)),
        *(("park", Look.UNKNOWN), ("lookup", Look.UNKNOWN), ("fail", Look.DEAD)),
    ],
)
def test_what_comes_of_an_attempt(decision, look):
    author = Author()
    author.world([(OPS, "ops", None)])
    intent = author.prepare(OPS, "hello", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.gateway.record(
        AttemptEnded(chunk=0, attempt=2, reason=Reason.RESPONSE_LOST, decision=decision), intent=intent
    )
    run = Run(trace=author.trace("attempt", title=""), verdicts=verdicts())
    assert row_of(run, "response-lost").look is look


def test_what_the_platform_put_elsewhere_is_a_bad_end():
    author = Author()
    author.world([(OPS, "ops", None), (DEPLOY, "deploy", "ops")])
    intent = author.prepare(DEPLOY, "hello", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    author.attempt(DEPLOY, intent)
    accepted = WireAccepted(address=OPS, requested=DEPLOY, text="hello", provider_id="p", key="k", chunk=0, attempt=1)
    author.platform(OPS).record(accepted, author.started, intent=intent)
    ended = AttemptEnded(chunk=0, attempt=1, reason=Reason.MISPLACED, decision="misplaced")
    author.gateway.record(ended, intent=intent)
    settled = IntentSettled(state=IntentState.MISPLACED, reason=Reason.MISPLACED, attempts=1, detail="it is at ops")
    author.gateway.record(settled, intent=intent)
    _, timeline = opened(Run(trace=author.trace("elsewhere", title=""), verdicts=verdicts()))
    rows = [(row.look, row.tags, row.text) for row in timeline.rows if row.tags]
    assert rows == [(Look.MISPLACED, ("!!",), "“hello”"), (Look.DEAD, ("!!",), "ended: misplaced")]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (ClientRequested(key="k1", dry_run=True), "a client asks for a dry run, key k1"),
        (HookSending(verdict="kept", by=(), reason=Reason.KEPT_BY_HOOKS), "the hooks leave it unchanged"),
        (
            HookSent(state=IntentState.DELIVERED, reason=Reason.ACCEPTED, provider_id="p7"),
            "the hooks are notified: delivered, accepted, message p7",
        ),
    ],
)
def test_what_goes_without_saying_is_shown_unfolded(body, text):
    run = small(body)
    assert all(row.text != text for row in opened(run)[1].rows)
    row = opened(run, unfolded=True)[1].rows[-1]
    assert (row.look, row.text) == (Look.INTERNAL, text)


def test_a_target_is_a_step_inside_the_gateway():
    resolved = TargetResolved(channel="discord", target="channel:501", address=OPS, session_key="k", steps=("a",))
    run = small(resolved)
    assert all("channel:501" not in row.text for row in opened(run)[1].rows)
    view, timeline = opened(run, unfolded=True)
    row = timeline.rows[-1]
    assert (row.look, row.start) == (Look.INTERNAL, TimelineLanes(view).gateway)
    assert row.text == "target “channel:501” is discord/ops, session k"


def test_every_event_can_be_described_and_drawn():
    for run in (bound_completion(), foreign_mirror(), changed_sessions()):
        view, timeline = opened(run, unfolded=True)
        assert timeline.seqs == list(range(1, view.last + 1))
        assert all(describe(view, event) for event in view.events)


def test_a_cursor_on_a_folded_event_stands_on_the_row_before_it():
    view, timeline = opened(bound_completion())
    for seq in range(view.last + 1):
        index = timeline.row_at(seq)
        before, after = timeline.seqs[: index + 1], timeline.seqs[index + 1 :]
        assert all(one <= seq for one in before) and all(one > seq for one in after)


def test_moving_by_rows_stops_at_both_ends():
    view, timeline = opened(bound_completion())
    assert timeline.neighbour(view.last, 5) == timeline.seqs[-1]
    assert timeline.neighbour(0, -5) == timeline.seqs[0]
    assert timeline.find(view.last, 1, is_delivery) is None


def test_an_empty_trace_has_no_rows():
    trace = Trace(header=TraceHeader(scenario="empty"), events=())
    view, timeline = opened(Run(trace=trace, verdicts=()))
    assert (view.last, list(timeline.rows), timeline.neighbour(0, 1)) == (0, [], 0)


def test_an_event_without_cause_hangs_on_the_first_of_its_intent():
    log = EventLog(lambda: 0.0)
    sink = log.recorder("gateway")
    first = sink.record(RunPhase(phase="faults"), intent="i1")
    other = sink.record(RunPhase(phase="faults"), intent="i2")
    later = sink.record(RunPhase(phase="rest"), intent="i1")
    causes = Causes(log.events)
    assert causes.path(later) == [first, later]
    assert causes.parent(other) is None
    assert causes.effects(first) == [later]
    assert causes.family(later) == {first, later}


def test_a_cause_in_the_future_is_ignored():
    log = EventLog(lambda: 0.0)
    seq = log.recorder("gateway").record(RunPhase(phase="faults"), 99)
    assert Causes(log.events).path(seq) == [seq]


def test_names_of_people_are_shown_and_control_characters_are_not():
    said = PeerSaid(address=OPS, peer=ANA, message_id="1", text="a\x1b[2Jb")
    row = row_of(small(said), "a·[2Jb")
    assert row.who == "ana"
