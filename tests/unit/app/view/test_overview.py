"""The rows of the overview's cards."""

import msgspec
import pytest

from tests.support.app.bound_runs import bound_threads
from tests.support.app.traces import DEFECT, bound_completion, foreign_mirror, verdicts
from trunkline.app.runs.model import Run
from trunkline.app.view.index.messages import MessageHistories
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import Verdicts
from trunkline.app.view.overview.cards import (
    binding_row,
    family_rows,
    latest_facts,
    latest_title,
    queue_line,
    queue_row,
    recent_row,
    session_row,
)
from trunkline.app.view.queue.rows import QueueBalance, QueueRows
from trunkline.app.view.rows.lanes import TimelineLanes
from trunkline.app.view.sessions.transcripts import Sessions
from trunkline.app.view.timeline.timeline import Timeline
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState


def latest(run: Run, seq: int, **settings):
    view = RunView(run)
    return [(fact.label, fact.text, fact.mark) for fact in latest_facts(view, Verdicts(view), seq, **settings)]


def words(row) -> dict[str, str]:
    return {name: cell.text for name, cell in row.cells.items()}


def test_families_show_which_member_is_violated_and_where():
    view = RunView(bound_completion())
    rows = {row.cells["letter"].text: row for row in family_rows(Verdicts(view), view.last)}
    at = view.marks.stops[0]
    assert words(rows["D"]) == {
        "sign": "✗",
        "letter": "D",
        "name": "delivery once",
        "ids": "D2",
        "count": "1",
        "at": f"#{at}",
        "brief": f"1 #{at}",
    }
    assert rows["D"].thing == "D2"
    assert words(rows["L"])["ids"] == "ok"
    assert (words(rows["V"])["ids"], words(rows["V"])["brief"]) == ("not exercised", "idle")
    before = {row.cells["letter"].text: row for row in family_rows(Verdicts(view), 0)}
    assert (words(before["D"])["ids"], words(before["D"])["sign"]) == ("later", "◐")


def test_the_latest_violation_shows_both_copies_and_the_expectation():
    run = bound_completion()
    view = RunView(run)
    stop = view.marks.stops[0]
    first, second = view.marks.groups[0]
    facts = latest(run, stop)
    assert facts[0] == ("✗ D2", f"#{stop} the result of hand run d1 was announced twice", "")
    assert facts[1] == ("1×", f"#{first} 1.350 → #ops ▸ deploy  by direct-announce", "")
    assert facts[2] == ("2×", f"#{second} 1.370 → #ops  by hand-session-route", "✗ wrong place")
    assert [label for label, _, _ in facts[3:]] == ["expected", "actual", "", "✗ R1", "step"]
    assert latest_title(view, Verdicts(view), stop) == "Violation: One announcement per hand run"
    brief = latest(run, stop, brief=True)
    assert brief[1] == ("1×", f"#{first} → #ops ▸ deploy", "")


def test_copies_of_one_place_are_marked_as_copies():
    run = foreign_mirror()
    facts = latest(run, 9999)
    assert [mark for label, _, mark in facts if label in ("1×", "2×")] == ["", "✗ copy"]


def test_before_the_first_violation_the_run_is_summarized():
    run = bound_completion()
    view = RunView(run)
    facts = latest(run, 0, story="Ana asks.\n\nThe agent hands it on.")
    assert [label for label, _, _ in facts] == ["ahead", "run", "defect", "story"]
    assert facts[0][1] == "D2 R1 will break: n goes there"
    assert facts[2][1] == DEFECT
    assert facts[3][1] == "Ana asks. The agent hands it on."
    assert latest_title(view, Verdicts(view), 0) == "No violation so far"


def test_a_sound_run_says_how_much_of_it_was_judged():
    run = bound_completion(bug=False)
    view = RunView(run)
    assert latest(run, view.last)[0] == ("verdict", "✓ all hold in the whole run, 7 of 10 exercised", "")
    assert latest_title(view, Verdicts(view), view.last) == "No violation"
    idle = Run(trace=run.trace, verdicts=verdicts(idle=tuple(one.id for one in run.verdicts)))
    assert latest(idle, 0)[0] == ("verdict", "nothing happened that an invariant judges", "")


def test_missed_expectations_are_shown_when_no_invariant_is_violated():
    run = bound_completion()
    sound = Run(trace=run.trace, verdicts=verdicts(), unmet=run.unmet)
    assert ("unmet", "D2 holds", "") in latest(sound, 0)


def test_the_queue_counts_what_became_of_everything():
    view = RunView(bound_completion())
    queue = QueueRows(view, MessageHistories(view))
    lines = [queue_line(queue.ledger(seq)) for seq in (0, view.marks.stops[0], view.last)]
    assert lines == ["no message was prepared yet", "✓ prepared 4 = delivered 3 + open 1", "✓ prepared 5 = delivered 5"]


def test_a_wrong_sum_is_marked_by_its_signs():
    ledger = QueueBalance(prepared=3, found=0, terms=(("delivered", 2), ("dead", 0)), missing=("i3",))
    assert queue_line(ledger) == "✗ prepared 3 ≠ delivered 2"
    assert queue_line(QueueBalance(prepared=1, found=0, terms=(), missing=("i1",)), brief=True) == "✗ prepared 1 ≠ 0"
    assert queue_line(ledger, brief=True) == "✗ prepared 3 ≠ delivered 2"


def test_a_long_sum_loses_its_first_word_where_there_is_little_room():
    ledger = QueueBalance(prepared=7, found=0, terms=(("delivered", 4), ("dead", 2), ("open", 1)))
    assert queue_line(ledger) == "✓ prepared 7 = delivered 4 + dead 2 + open 1"
    assert queue_line(ledger, brief=True) == "✓ 7 = delivered 4 + dead 2 + open 1"


@pytest.mark.parametrize(
    ("state", "sign"),
    [
        (IntentState.UNKNOWN, "?"),
        (IntentState.CANCELLED, "–"),
        (IntentState.PREPARED, "○"),
        (IntentState.DEAD, "✗"),
        (IntentState.MISPLACED, "✗"),
    ],
)
def test_each_end_has_its_sign(state, sign):
    view = RunView(bound_completion())
    history = MessageHistories(view).of("i1")
    assert history is not None
    if state is IntentState.PREPARED:
        assert words(queue_row(view, history, history.seq))["sign"] == sign
        return
    end = IntentSettled(state=state, reason=Reason.ACCEPTED, attempts=1)
    history.events = [msgspec.structs.replace(e, body=end) if e.kind == "intent.settled" else e for e in history.events]
    assert words(queue_row(view, history, view.last))["sign"] == sign


def test_a_copy_on_the_queue_is_wrong_whatever_its_state():
    view = RunView(bound_completion())
    histories = MessageHistories(view)
    third, fourth = histories.of("i3"), histories.of("i4")
    assert third is not None and fourth is not None
    assert words(queue_row(view, fourth, view.last)) == {
        "sign": "✗",
        "id": "i4",
        "text": "“release 41 shipped”",
        "place": "#ops",
        "state": "delivered",
        "tries": "1 try",
        "copy": "2×",
    }
    assert words(queue_row(view, third, view.last))["sign"] == "✓"


def test_sessions_to_come_are_marked_as_later():
    view = RunView(bound_completion())
    sessions = Sessions(view)
    rows = [session_row(row, 20) for row in sessions.rows(20)]
    assert [row.later for row in rows] == [False, True, True]
    end = [words(session_row(row, view.last)) for row in sessions.rows(view.last)]
    assert end[0] == {
        "conversation": "discord/#ops/deploy",
        "in": "1",
        "out": "2",
        "2×": "·",
        "≠": "·",
        "last": "1.360",
    }


def test_bindings_show_their_status():
    view = RunView(bound_threads())
    rows = {row.id: words(binding_row(view, row, view.last)) for row in view.bindings.rows(view.last)}
    assert rows["b2"]["status"] == "ended"
    assert rows["b5"]["sign"] == "●"
    first = view.bindings.rows(0)[0]
    assert binding_row(view, first, 0).later
    assert words(binding_row(view, first, 0))["ends"] == "·"


def test_recent_rows_are_the_timeline_in_words():
    view = RunView(bound_completion())
    lanes = TimelineLanes(view)
    timeline = Timeline(view, lanes)
    rows = [words(recent_row(timeline, lanes, index)) for index in range(len(timeline.rows))]
    ways = [row["way"] for row in rows]
    assert ways[:3] == ["● gw", "deploy ─▶ gw", "gw ─▶ codex"]
    assert "gw ━▶ #ops" in ways
    assert rows[1]["text"] == "ana “ship it”"
    assert rows[ways.index("gw ━▶ #ops")]["tag"] == "2×"


def test_a_copy_in_a_place_that_has_no_session_yet_is_not_dim():
    view = RunView(bound_completion(bug=True, seed=7))
    rows = [session_row(row, 57) for row in Sessions(view).rows(57)]
    seen = {words(row)["conversation"]: (words(row)["2×"], row.later) for row in rows}
    assert seen["discord/#ops"] == ("1", False)
    before = {words(row)["conversation"]: row.later for row in (session_row(r, 40) for r in Sessions(view).rows(40))}
    assert before["discord/#ops"]
