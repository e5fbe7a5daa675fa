"""The linear report: every fact of the run, one a line, in words."""

import re
import unicodedata

import msgspec
import pytest

from tests.support.paths import ROOT
from trunkline.app.report.sections import WORDS, Section, normal_lines, plain_lines, queue_facts, report, sections
from trunkline.app.report.summary import LINES, VIOLATIONS
from trunkline.app.runs.model import Run
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.hands.facts import hand_facts
from trunkline.app.view.hands.runs import HandRuns
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.messages.rows import MessageRows
from trunkline.app.view.queue.rows import QueueRows
from trunkline.app.view.sessions.transcripts import Sessions
from trunkline.core.events import Trace, TraceHeader
from trunkline.core.events.gateway import InboundReceived
from trunkline.core.events.hands import DelegationAccepted
from trunkline.sim import load_scenario, run_scenario
from trunkline.sim.invariants import judge
from trunkline.sim.invariants.base import Verdict
from trunkline.sim.plugins import OURS

HOME = ROOT / "scenarios"
#: bound threads live in the hand-made traces of the Bindings screen
SCENARIOS = (
    "tour/told-twice",
    "faults/frozen-holder",
    "faults/hands-lost",
    "faults/queue-full",
    "faults/sent-by-clients",
    "museum/B155-cancelled-in-silence",
    "museum/B152-dry-run-sends",
    "museum/B022-finished-while-talking",
    "museum/B072-scope-changed",
)


def ran(name: str, *, own: bool) -> Run:
    file = load_scenario(HOME / f"{name}.yaml", names=OURS)
    return run_scenario(file, bugs=file.scenario.bugs[:1] if own else ())


@pytest.fixture(scope="module", params=[(name, own) for name in SCENARIOS for own in (False, True)], ids=str)
def run(request) -> Run:
    name, own = request.param
    return ran(name, own=own)


def report_lines(run: Run, *, plain: bool = True) -> list[str]:
    return list(report(run, plain=plain))


def test_each_fact_is_one_line_of_plain_words(run):
    for line in report_lines(run):
        assert line == line.strip() and line.isprintable()
        assert not [
            char for char in line if unicodedata.name(char, "").startswith(("BOX ", "BLOCK ", "BLACK ", "WHITE "))
        ]
        assert not set(line) & {chr(sign) for sign in WORDS}


def test_each_line_below_a_heading_says_what_it_is(run):
    chapter = ""
    for line in filter(None, report_lines(run)):
        if line.startswith("# "):
            chapter = line
        elif not line.startswith("## ") and chapter != "# Timeline":
            assert re.match(r"[a-z][a-z /\d]*: ", line) or "in this run" in line, line


def test_chapters_are_those_of_the_app(run):
    chapters = [line[2:] for line in report_lines(run) if line.startswith("# ")]
    assert chapters == ["Run", "Verdicts", "Messages", "Sessions", "Bindings", "Queue", "Hands", "Timeline"]


def test_both_forms_have_the_same_facts(run):
    def words(lines):
        """Without labels, headings and signs."""
        return [fact.text for part in sections(RunView(run)) for fact in part.facts]

    plain, normal = "\n".join(report_lines(run)), "\n".join(report_lines(run, plain=False))
    for text in words(run):
        assert text.translate(WORDS) in plain and text.rstrip() in normal


def test_every_verdict_has_its_sentence_and_its_evidence(run):
    lines = report_lines(run)
    for verdict in run.verdicts:
        at = lines.index(f"## {verdict.id} {verdict.title}".translate(WORDS))
        end = next((n for n in range(at + 1, len(lines)) if lines[n].startswith("#")), len(lines))
        own = "\n".join(lines[at:end])
        assert verdict.sentence.translate(WORDS) in own and verdict.status.value.split()[0] in own.replace("held", "ok")
        for violation in verdict.violations[:VIOLATIONS]:
            assert all(f"evidence: #{seq} " in own for seq in violation.evidence[:LINES])
            assert violation.first_wrong is None or "(first wrong step)" in own
    for unmet in run.unmet:
        assert any(line.startswith("missed: ") and line != "missed: " for line in lines), unmet


def test_every_message_has_its_whole_life(run):
    view, text = RunView(run), "\n".join(report_lines(run))
    for name in (history.id for history in MessageHistories(view).prepared_by(view.last)):
        assert f"\n## Message {name} to " in text
        for event in view.of_intent(name):
            assert f"\nlife: #{event.seq} " in text
    for event in view.events:
        if isinstance(event.body, InboundReceived):
            assert f"\n## Message {event.inbound} from " in text


def test_every_session_has_its_transcript_beside_what_people_saw(run):
    view, text = RunView(run), "\n".join(report_lines(run))
    sessions = Sessions(view)
    for row in sessions.rows(view.last):
        assert row.place.translate(WORDS) in text
        for pair in sessions.pairs(row.owner):
            assert f"\nline: #{pair.seq} " in text or f"\nreset: #{pair.seq} " in text


def test_every_task_of_a_hand_has_a_section(run):
    view, text = RunView(run), "\n".join(report_lines(run))
    tasks = [event for event in view.events if isinstance(event.body, DelegationAccepted)]
    for event in tasks:
        assert isinstance(event.body, DelegationAccepted)
        assert f"\n## Task {event.delegation} of hand {event.body.hand}: " in text
    assert bool(tasks) != ("no delegations in this run" in text)


def test_the_queue_loses_nothing_unseen(run):
    view = RunView(run)
    fact, *_ = queue_facts(view, QueueRows(view, MessageHistories(view)))
    left, right = fact.text.removeprefix("✓ ").removesuffix(", adds up").split(" = ")
    assert sum(int(part.split()[1]) for part in left.split(" + ")) == sum(
        int(part.split()[1]) for part in right.split(" + ")
    )
    assert fact.tone is Tone.GOOD


def test_the_report_agrees_with_the_screens(run):
    """One model of each thing: what stands in a row of the app stands in the report."""
    view, lines = RunView(run), report_lines(run, plain=False)
    histories = MessageHistories(view)
    text, messages, queue, hands = (
        "\n".join(lines),
        MessageRows(view, histories),
        QueueRows(view, histories),
        HandRuns(view, histories),
    )
    assert queue.empty or queue.ledger(view.last).text in text
    for history in histories:
        state = messages.head(history, view.last).cells["terminal"]
        at = next(at for at, line in enumerate(lines) if line.startswith(f"  Message {history.id}"))
        assert lines[at + 1].split(maxsplit=1) == ["state", (state.more or state.text).partition(" ")[2]]
    for row in hands.rows(view.last):
        for fact in hand_facts(view, hands, row, view.last):
            assert fact.text in text


def test_an_invariant_violated_thousands_of_times_is_printed_five_times():
    found = ran("tour/told-twice", own=True)
    many = tuple(
        msgspec.structs.replace(verdict, violations=verdict.violations * 3000) if verdict.violations else verdict
        for verdict in found.verdicts
    )
    lines = report_lines(msgspec.structs.replace(found, verdicts=many))
    broken = sum(bool(verdict.violations) for verdict in found.verdicts)
    assert broken >= 2
    assert sum(line.startswith("broken: at #") for line in lines) == 5 * broken
    assert sum(line.startswith("more: and 2995 more") for line in lines) == broken
    assert len(lines) < len(report_lines(found)) * 2


def test_long_lists_of_one_violation_are_cut_and_the_first_wrong_step_is_kept():
    found = ran("tour/told-twice", own=True)

    def longer(verdict: Verdict) -> Verdict:
        wide = [
            msgspec.structs.replace(one, actual=one.actual * 500, evidence=one.evidence * 500)
            for one in verdict.violations
        ]
        return msgspec.structs.replace(verdict, violations=tuple(wide))

    lines = report_lines(msgspec.structs.replace(found, verdicts=tuple(map(longer, found.verdicts))))
    assert any(re.fullmatch(r"actual: and \d+ more lines", line) for line in lines)
    assert any(re.fullmatch(r"evidence: and \d+ more events", line) for line in lines)
    blamed = sum(one.first_wrong is not None for verdict in found.verdicts for one in verdict.violations)
    assert sum(line.endswith("(first wrong step)") for line in lines) == blamed >= 2


def test_a_duplicate_is_described_in_words():
    lines = report_lines(ran("tour/told-twice", own=True))
    assert "verdict: violated: D2 R1" in "\n".join(lines)
    assert any(re.match(r"copy: #\d+ is number 2 of 2 of the same message, with #\d+", line) for line in lines)
    assert "repro: trunkline run scenarios/tour/told-twice.yaml --seed 1 --bug hand-announces-too" in "\n".join(
        line.replace(f"{ROOT}/", "") for line in lines
    )


def test_bindings_have_their_record_and_story():
    from tests.support.app.bound_runs import bound_threads

    lines = report_lines(bound_threads())
    at = lines.index("# Bindings")
    assert lines[at + 1] == "## Binding b1" and lines[at + 2].startswith("status: b1 ")
    assert any(line.startswith("story: #") for line in lines[at:])


def test_a_label_is_repeated_on_each_of_its_lines():
    part = Section(title="Two", facts=(Fact("path", "a → b"), Fact("", "c", mark="✗ wrong here")))
    assert list(plain_lines([part])) == ["# Two", "path: a to b", "path: c (wrong here)"]
    assert list(normal_lines([part])) == ["Two", "  path       a → b", "             c   ✗ wrong here"]


def test_a_wrong_fact_says_so_without_color():
    bad, held = Fact("copies", "2", tone=Tone.BAD), Fact("verdict", "held", mark="✓")
    assert list(plain_lines([Section(title="x", facts=(bad, held))])) == ["# x", "copies: 2 (wrong)", "verdict: held"]


def test_a_run_in_which_nothing_happened_says_so_in_each_chapter():
    run = Run(trace=Trace(header=TraceHeader(scenario="nothing"), events=()), verdicts=judge(()))
    text = "\n".join(report_lines(run))
    for words in ("no messages", "no sessions", "no bindings", "no delegations"):
        assert f"{words} in this run" in text
    assert "nothing was queued in this run" in text and "no events" in text
