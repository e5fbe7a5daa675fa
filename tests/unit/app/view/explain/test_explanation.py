"""Explanations: expected against actual, the first wrong step, and how to see it again."""

import msgspec

from tests.support.app.author import ANA, OPS, Author
from tests.support.app.changes import MAIN, OWN, changed_sessions
from tests.support.app.traces import bound_completion, foreign_mirror, verdicts
from tests.support.for_each import for_each
from trunkline.app.report.summary import blocks
from trunkline.app.runs.model import Run, UnmetExpectation
from trunkline.app.text.fact import Tone
from trunkline.app.view.explain.explanation import copy_choices, explain, reproduction
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.timeline.status_line import PlaybackMode, run_source, verdict_chip
from trunkline.core.events import TraceHeader
from trunkline.core.events.delivery import (
    HookFailed,
    HookSending,
    HookSent,
    IntentReopened,
    IntentSettled,
    LaneWaiting,
    MirrorRefused,
    OperatorActed,
    SendPreviewed,
    TransportFallback,
)
from trunkline.core.events.gateway import InboundReceived
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState, Transport
from trunkline.sim.invariants.base import Violation


def at_violation(run: Run):
    view = RunView(run)
    return view, explain(view, view.marks.stops[0])


def seq_of(view: RunView, kind: str) -> int:
    return next(event.seq for event in view.events if event.kind == kind)


def texts(why, label):
    """The lines under a label, up to the next one."""
    found, on = [], False
    for line in why.lines:
        on = line.label == label if line.label else on
        if on:
            found.append(line.text)
    return found


def test_expected_and_actual_come_first():
    _, why = at_violation(bound_completion())
    assert [line.label for line in why.lines if line.label][:5] == ["expected", "actual", "path", "broken", "repro"]
    assert texts(why, "expected")[0] == "one announcement of hand run d1"
    assert why.title.endswith("✗ D2 R1")


def test_the_first_wrong_step_is_marked_and_the_steps_before_it_are_right():
    view, why = at_violation(bound_completion())
    path = [line for line in why.lines if line.seq and line.text[0].isdigit() and "#" in line.text]
    marks = [line.mark for line in path]
    wrong = marks.index("✗ first wrong step")
    assert view.event(path[wrong].seq).kind == "completion.planned"
    assert set(marks[:wrong]) == {"✓"}
    assert set(marks[wrong + 1 :]) == {""}


def test_the_right_copy_shows_the_same_wrong_step():
    view, _ = at_violation(bound_completion())
    group = view.marks.groups[0]
    marks = [line.mark for line in explain(view, group[0]).lines]
    assert "✗ first wrong step" in marks


def blamed(**of_r1: int | None) -> tuple[Run, Violation, Violation]:
    """The run in which D2 and R1 are violated at one event, with another blame for R1."""
    run = bound_completion()
    d2, r1 = run.violations
    r1 = msgspec.structs.replace(r1, **{"first_wrong": None, **of_r1})
    return msgspec.structs.replace(run, verdicts=verdicts(d2, r1)), d2, r1


def test_of_two_violations_each_shows_its_own_first_wrong_step():
    second = bound_completion().violations[1].at
    run, d2, _ = blamed(first_wrong=second)
    _, why = at_violation(run)
    marks = {line.seq: line.mark for line in why.lines if line.mark.startswith("✗")}
    assert marks == {d2.first_wrong: "✗ first wrong step of D2", second: "✗ first wrong step of R1"}


def test_an_absence_is_a_line_of_its_own_below_the_last_right_step():
    run, d2, r1 = blamed(missing_after=bound_completion().violations[1].at)
    _, why = at_violation(run)
    path = [line for line in why.lines if line.mark or "#" in line.text]
    (at,) = [index for index, line in enumerate(path) if "nothing followed" in line.mark]
    assert (path[at].text, path[at].mark) == (f"missing: {r1.expected[0]}", f"✗ nothing followed #{r1.at} of R1")
    assert (path[at - 1].seq, "✗" in path[at - 1].mark) == (r1.at, False)
    assert "✗ first wrong step of D2" in [line.mark for line in why.lines if line.seq == d2.first_wrong]
    (block,) = [block for block in blocks(run) if block.startswith("  ✗ R1")]
    assert block.splitlines()[-1].endswith(f"missing: {r1.expected[0]}   ← nothing followed #{r1.at}")
    assert "first wrong step" not in block


def test_the_first_wrong_step_itself_shows_what_it_broke():
    run = bound_completion()
    view = RunView(run)
    why = explain(view, seq_of(view, "completion.planned"))
    assert why.title.endswith("✗ D2 R1")
    assert [line.seq for line in why.lines if line.mark == "✗ first wrong step"] == [seq_of(view, "completion.planned")]


def test_every_step_leads_to_its_event():
    view, why = at_violation(bound_completion())
    assert all(0 <= line.seq <= view.last for line in why.lines)


def test_a_route_says_why_each_rule_won_or_lost():
    view = RunView(bound_completion())
    said = next(event.seq for event in view.events if event.kind == "peer.said")
    lines = explain(view, said).lines
    assert [line.tone for line in lines if line.text.startswith(("✓ everything", "✗ night-shift"))] == [
        Tone.DIM,
        Tone.GOOD,
    ]


def test_a_send_names_its_client_and_how_its_target_was_resolved():
    view = RunView(changed_sessions())
    wire = [event.seq for event in view.events if event.kind == "wire.accepted"][-1]
    lines = explain(view, wire).lines
    assert texts(explain(view, wire), "asked") == [
        f"#{seq_of(view, 'send.requested')} “news” to “channel:501” on discord"
    ]
    assert texts(explain(view, wire), "steps") == [
        "1 'channel:501' is a channel",
        "2 mirrored into the session of that place",
    ]
    assert {line.seq for line in lines if line.label in ("target", "steps")} == {seq_of(view, "target.resolved")}


@for_each(
    ("kind", "labels", "said"),
    [
        ("target.resolved", ["target", "place", "session", "steps"], "discord/#ops"),
        ("session.moved", ["moved", "to", "session", "because"], f"from {MAIN}"),
        ("session.left", ["left", "now", "because"], OWN),
        ("session.reset", ["session", "reset", "before"], "generation 2 is s-second"),
        ("session.shared", ["shared", "because"], f"{MAIN}: ana is one of 2 people in it"),
        ("send.requested", ["asked", "key"], "news-1"),
        ("send.joined", ["key", "because"], "news-1; the first send is still under way: this one waits for it"),
        ("send.refused", ["refused", "because", "detail"], "write user:501 or channel:501"),
        ("config.reloaded", ["config", "scope"], "direct conversations per-account-channel-peer, groups per-group"),
    ],
)
def test_a_decision_is_explained_by_its_own_fields_first(kind, labels, said):
    view = RunView(changed_sessions())
    lines = explain(view, seq_of(view, kind)).lines
    assert [line.label for line in lines if line.label][: len(labels)] == labels
    assert said in [line.text for line in lines]


def test_a_message_with_a_reply_chain_says_what_happens_to_the_chain():
    author = Author()
    author.world([(OPS, "ops", None)])
    body = InboundReceived(address=OPS, peer=ANA, message_id="1", text="hi", reply_chain="88")
    seq = author.gateway.record(body, inbound="m1")
    view = RunView(Run(trace=author.trace("chain", title=""), verdicts=verdicts()))
    assert texts(explain(view, seq), "chain") == ["88 is a reply chain, not a thread: it is not part of the place"]


def test_a_dry_run_shows_place_session_and_texts():
    author = Author()
    author.world([(OPS, "ops", None)])
    body = SendPreviewed(
        key="k", address=OPS, session_key=OWN, chunks=("one", "two"), media=("a.png",), reason=Reason.DRY_RUN
    )
    seq = author.gateway.record(body)
    lines = explain(RunView(Run(trace=author.trace("dry", title=""), verdicts=verdicts())), seq).lines
    assert [(line.label, line.text) for line in lines][:6] == [
        ("dry run", "k: nothing was sent or stored"),
        ("to", "discord/ops"),
        ("session", OWN),
        ("says", "“one”"),
        ("", "“two”"),
        ("files", "a.png"),
    ]


def test_an_intent_lists_hooks_waits_fallbacks_and_operators():
    author = Author()
    author.world([(OPS, "ops", None)])
    sending = HookSending(verdict="modified", by=("sign",), reason=Reason.MODIFIED_BY_HOOK)
    author.gateway.record(HookFailed(hook="log", phase="sending", reason=Reason.HOOK_RAISED, detail="x"), intent="i1")
    author.gateway.record(sending, intent="i1")
    intent = author.prepare(OPS, "hello", 1, kind=IntentKind.REPLY, reason=Reason.REPLY_TO_ORIGIN)
    assert intent == "i1"
    for body in (
        LaneWaiting(address=OPS, reason=Reason.NO_ADAPTER, until=9.0),
        TransportFallback(
            chunk=0, attempt=1, instead_of=Transport.DIRECT, used=Transport.GATEWAY, reason=Reason.GATEWAY_PATH
        ),
        MirrorRefused(session_key="k", reason=Reason.MIRROR_REFUSED, detail="held"),
        IntentSettled(state=IntentState.UNKNOWN, reason=Reason.PARKED, attempts=1),
        OperatorActed(verb="sent", detail=""),
        IntentReopened(before=IntentState.UNKNOWN, reason=Reason.OPERATOR_SENT, chunk=1),
        HookSent(state=IntentState.UNKNOWN, reason=Reason.PARKED),
    ):
        last = author.gateway.record(body, intent=intent)
    lines = explain(RunView(Run(trace=author.trace("all", title=""), verdicts=verdicts())), last).lines
    told = {line.label: line.tone for line in lines if line.label}
    assert {"hooks", "waited", "fallback", "mirror", "ended", "operator", "notified"} <= set(told)
    assert [told[label] for label in ("fallback", "mirror")] == [Tone.WARN, Tone.WARN]
    hooks = [line for line in lines if line.label == "hooks"]
    assert [(line.text.partition(" ")[2], line.tone) for line in hooks] == [
        ("hook log fails at sending: hook-raised (x)", Tone.WARN),
        ("hooks change it (sign): modified-by-hook", Tone.PLAIN),
    ]


def test_a_cancelled_intent_names_the_hook_and_who_was_notified():
    author = Author()
    author.world([(OPS, "ops", None)])
    for body in (
        HookSending(verdict="cancelled", by=("censor",), reason=Reason.CANCELLED_BY_HOOK),
        IntentSettled(state=IntentState.CANCELLED, reason=Reason.CANCELLED_BY_HOOK, attempts=0),
        HookSent(state=IntentState.CANCELLED, reason=Reason.CANCELLED_BY_HOOK),
    ):
        seq = author.gateway.record(body, intent="i9")
    lines = explain(RunView(Run(trace=author.trace("taken", title=""), verdicts=verdicts())), seq).lines
    assert [line.label for line in lines if line.label][:4] == ["hooks", "because", "ended", "notified"]


def test_what_a_violation_quotes_stays_on_one_line():
    run = bound_completion(bug=False)
    broken = Violation(
        invariant="D1",
        at=9,
        summary="“a\nb” twice",
        expected=("“a\nb” once",),
        actual=("“a\x1b[2J” twice",),
        evidence=(9,),
    )
    again = Run(trace=run.trace, verdicts=verdicts(broken))
    assert all(line.text.isprintable() for line in explain(RunView(again), 9).lines)
    report = "\n".join(blocks(again))
    assert "    expected  “a ↵ b” once\n    actual    “a·[2J” twice\n" in report


def test_an_internal_event_is_explained_too():
    view = RunView(foreign_mirror())
    for seq in range(view.last + 1):
        why = explain(view, seq)
        assert why.lines
        assert all(line.text for line in why.lines)


def test_before_the_first_event_there_is_a_hint():
    why = explain(RunView(bound_completion()), 0)
    assert "nothing has happened" in why.lines[0].text


def test_the_end_lists_all_verdicts_and_missed_expectations():
    view = RunView(bound_completion())
    why = explain(view, view.last)
    assert len(texts(why, "broken")) == 2
    assert len(texts(why, "idle")) == 3
    assert texts(why, "unmet") == ["line 31: D2 holds"]


def test_one_line_reproduces_the_run():
    header = TraceHeader(scenario="x", path="my scenarios/x.yaml", seed=9, bugs=("a", "b"))
    assert reproduction(header) == "trunkline run 'my scenarios/x.yaml' --seed 9 --bug a --bug b"


def test_the_chip_counts_violations_so_far():
    view = RunView(bound_completion())
    stop = view.marks.stops[0]
    assert verdict_chip(view, stop - 1).text == "2 violations ahead"
    assert verdict_chip(view, stop).text == "✗ D2 R1  1 DUPLICATE"
    assert verdict_chip(view, stop).short == "✗ D2 R1"


def test_green_says_how_much_was_exercised():
    view = RunView(bound_completion(bug=False))
    assert verdict_chip(view, 1).text == "✓ all hold (7 of 10 exercised)"


def test_green_never_hides_an_expectation_or_an_idle_run():
    run = bound_completion(bug=False)
    unmet = Run(trace=run.trace, verdicts=run.verdicts, unmet=(UnmetExpectation(summary="no"),))
    assert verdict_chip(RunView(unmet), 1).tone is Tone.BAD
    idle = Run(trace=run.trace, verdicts=verdicts(idle=("D1", "D2", "D4", "D7", "L1", "L2", "M1", "O1", "R1", "V1")))
    assert verdict_chip(RunView(idle), 1).text == "nothing exercised"


def test_the_status_says_which_run_it_is():
    view = RunView(bound_completion())
    assert run_source(view, PlaybackMode.REWOUND) == "seed 7"
    assert run_source(view, PlaybackMode.WAITING) == ""


def test_what_a_gateway_did_has_no_seed_and_no_command_repeats_it():
    made = bound_completion()
    header = msgspec.structs.replace(made.trace.header, of_gateway=True)
    view = RunView(Run(trace=msgspec.structs.replace(made.trace, header=header), verdicts=made.verdicts))
    assert run_source(view, PlaybackMode.PLAYING) == ""
    lines = [*explain(view, 1).lines, *explain(view, view.last).lines]
    assert not [line for line in lines if line.label == "repro"]
    assert "command" not in [choice.title for choice in copy_choices(view, 1)]
