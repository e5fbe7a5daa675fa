"""A run that grew, in pieces of whatever size, and the same run opened at once: every view model tells the same."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.app.changes import changed_sessions
from tests.support.app.traces import bound_completion, foreign_mirror
from tests.support.bench.long_runs import long_trace
from tests.support.scale import scaled
from tests.support.scenario.shipped import played_here, shipped_scenario
from trunkline.app.runs.model import Run
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.view.queue.rows import FoldedMarks
from trunkline.app.view.rows.lanes import lay_out
from trunkline.core.events import Event, Trace
from trunkline.sim import judge, run_scenario
from trunkline.sim.invariants import CHECKERS, Judge

SCENARIOS = played_here()
#: events of a long run
LONG = 400


@cache
def trace_of(path: Path) -> Trace:
    """The trace of a scenario with the defects that it declares."""
    file = shipped_scenario(path)
    return run_scenario(file, bugs=file.scenario.bugs).trace


@cache
def whole(path: Path, last: int) -> dict[str, object]:
    """What is told of the beginning of a run, opened at once."""
    return view_answers(at_once(trace_of(path), last))


def at_once(trace: Trace, last: int) -> OpenRun:
    events = trace.events[:last]
    return OpenRun(Run(trace=Trace(header=trace.header, events=events), verdicts=judge(events)))


def grown(trace: Trace, sizes: Sequence[int], *, last: int | None = None) -> OpenRun:
    """The same, a piece at a time; every view is made at the start and looked at after each piece."""
    judging = Judge(CHECKERS)
    opened = OpenRun(Run(trace=Trace(header=trace.header, events=()), verdicts=judging.verdicts()))
    look(opened)
    done, turn = 0, 0
    last = len(trace.events) if last is None else last
    while done < last:
        piece = trace.events[done : min(done + sizes[turn % len(sizes)], last)]
        done, turn = done + len(piece), turn + 1
        for event in piece:
            judging.see(event)
        if piece[-1].kind == "run.ended":
            judging.finish()
        opened.view.grow(piece, judging.verdicts())
        look(opened)
    return opened


def look(opened: OpenRun) -> None:
    """Have everything made and kept that a screen would."""
    last = opened.view.last
    opened.view.sessions.at(last)
    _ = (list(opened.folded.rows[-5:]), list(opened.unfolded.rows[-5:]), opened.folded.broken)
    _ = (
        opened.sessions.rows(last),
        opened.queue.ledger(last),
        list(opened.hands.rows(last)),
        opened.verdicts.rows(last),
    )
    _ = [opened.messages.head(history, last) for history in opened.histories]


def view_answers(opened: OpenRun) -> dict[str, object]:
    """Everything that the screens ask for, at some moments."""
    view = opened.view
    moments = sorted({0, view.last // 3, view.last // 2, view.last})
    found: dict[str, object] = {
        "lanes": opened.lanes.all,
        "rows": [str(row) for row in opened.folded.rows],
        "unfolded": [str(row) for row in opened.unfolded.rows],
        "broken": opened.folded.broken,
        "layout": [lay_out(opened.lanes, width, wish=opened.folded.wish) for width in (60, 120, 200)],
        "violations": view.marks.violations,
        "groups": view.marks.groups,
        "run": (view.run, view.over, view.ended),
        "causes": [view.causes.path(event.seq) for event in view.events],
        "places": [(place, view.places.short(place)) for place in view.places.in_order()],
        "seen": {place: view.visible.of(place) for place in view.visible.places()},
        "span": view.bindings.span,
        "kept": [row.id if not isinstance(row, (FoldedMarks, Event)) else str(row) for row in opened.queue.rows],
        "parts": [[str(part) for part in _parts(opened, history.id)] for history in opened.histories],
    }
    for seq in moments:
        found[f"at {seq}"] = dict(_at(opened, seq))
    return found


def _parts(opened: OpenRun, name: str) -> Iterator[object]:
    history = opened.histories.of(name)
    assert history is not None
    for part in opened.messages.parts(history):
        yield opened.messages.part(history, part, opened.view.last)


def _at(opened: OpenRun, seq: int) -> Iterator[tuple[str, object]]:
    view = opened.view
    sessions = view.sessions.at(seq)
    yield "sessions at", (sessions, list(sessions))
    yield "prepared", [history.id for history in opened.histories.prepared_by(seq)]
    yield "transcripts", {key: view.transcripts.of(key) for key in sessions}
    yield "bindings", (view.bindings.rows(seq), view.bindings.bound(seq))
    yield "verdicts", (opened.verdicts.rows(seq), opened.verdicts.families(seq), opened.verdicts.latest(seq))
    yield "messages", [opened.messages.head(history, seq) for history in opened.histories]
    yield "wrong", list(opened.messages.wrong(seq))
    yield "queue", [opened.queue.line(row, seq) for row in opened.queue.rows]
    yield "ledger", (opened.queue.ledger(seq), opened.queue.wrong(seq))
    yield "hands", (list(opened.hands.rows(seq)), opened.hands.wrong(seq), opened.hands.counts(seq))
    yield "sessions", opened.sessions.rows(seq)
    yield "pairs", [opened.sessions.pairs(row.owner) for row in opened.sessions.rows(seq)]
    yield "owners", [opened.sessions.owner_of(event.seq) for event in view.events[:seq]]


def check(was: dict[str, object], now: dict[str, object]) -> None:
    assert list(was) == list(now)
    for name, value in was.items():
        assert now[name] == value, name


@pytest.mark.slow(every=20)
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_event_by_event(path: Path):
    trace = trace_of(path)
    # Each piece is looked at whole, so of a long run only some are as small as this.
    sizes = (1, 2, 5) if len(trace.events) < LONG else (1, 2, 5, 40)
    check(whole(path, len(trace.events)), view_answers(grown(trace, sizes)))


@settings(max_examples=scaled(25, 8), deadline=None)
@given(
    path=st.sampled_from(SCENARIOS),
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=6),
    part=st.floats(0.05, 1.0),
)
def test_in_pieces_of_any_size_up_to_any_moment(path: Path, sizes: list[int], part: float):
    trace = trace_of(path)
    last = max(int(len(trace.events) * part), 1)
    check(whole(path, last), view_answers(grown(trace, sizes, last=last)))


@pytest.mark.parametrize("made", [bound_completion, foreign_mirror, changed_sessions])
def test_runs_made_by_hand(made: Callable[[], Run]):
    trace = made().trace
    check(view_answers(at_once(trace, len(trace.events))), view_answers(grown(trace, (3, 1))))


def test_a_long_run():
    length = scaled(4000, 1500)
    trace = long_trace(length)
    check(view_answers(at_once(trace, length)), view_answers(grown(trace, (300, 7))))


@pytest.mark.parametrize("name", ["focus-and-unfocus", "two-bound-sessions", "told-twice", "sent-by-clients"])
def test_sessions_that_are_made_a_little_at_a_time(name: str):
    """While the run goes on in between; what is made in the end tells of all of it."""
    trace = trace_of(next(path for path in SCENARIOS if path.stem == name))
    half = len(trace.events) // 2
    opened = at_once(trace, half)
    opened.view.growing = True
    judging = Judge(CHECKERS)
    for event in trace.events[:half]:
        judging.see(event)
    assert opened.sessions.last == half
    made = 0
    for event in trace.events[half:]:
        judging.see(event)
        opened.view.grow([event], judging.verdicts())
        made += opened.settle(lambda: True)
        assert opened.sessions.rows(opened.view.last)
    while opened.sessions.last < opened.view.last:
        made += opened.settle(lambda: True)
    assert made
    whole = at_once(trace, len(trace.events))
    last = opened.view.last
    assert opened.sessions.rows(last) == whole.sessions.rows(last)
    for row in whole.sessions.rows(last):
        assert opened.sessions.pairs(row.owner) == whole.sessions.pairs(row.owner)
