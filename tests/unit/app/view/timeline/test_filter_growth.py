"""The filter of a run that grows: a row that a violation names is judged anew at once, all others when it rests."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.app.author import DEPLOY, DM, OPS, Author
from tests.support.app.traces import PLACES
from tests.support.for_each import for_each
from tests.support.scale import scaled
from trunkline.app.runs.model import Run
from trunkline.app.tui.state.open_run import OpenRun
from trunkline.app.tui.state.workspace import Search
from trunkline.core.events import Trace
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import Fallback
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind
from trunkline.sim import judge
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.invariants import CHECKERS, Judge

#: filters that hold of a row by what violations say of it
JUDGED = ("v:dup", "v:bad", "v:leak", "!v:bad", "!v:dup")
OTHERS = ("v:fb", "v:mirror", "k:wire", "lane:#ops", "mirrored", "FB")


def growing(trace: Trace) -> tuple[OpenRun, Callable[[int], None]]:
    """A run that goes on, and how it goes on to an event."""
    judging = Judge(CHECKERS)
    opened = OpenRun(Run(trace=Trace(header=trace.header, events=()), verdicts=judging.verdicts()))
    opened.view.growing = True

    def until(last: int) -> None:
        for event in trace.events[opened.view.last : last]:
            judging.see(event)
            if isinstance(event.body, RunEnded):
                judging.finish()
            opened.view.grow([event], judging.verdicts())

    return opened, until


def kept(search: Search, opened: OpenRun) -> list[int]:
    found = search.kept(opened, opened.folded)
    assert [row.seq for row in found.rows] == found.seqs
    assert list(found.broken) == sorted({found.row_at(one.at) for one in opened.view.marks.violations} - {-1})
    return list(found.seqs)


def anew(text: str, opened: OpenRun) -> list[int]:
    search = Search()
    search.set_filter(text)
    return list(search.kept(opened, opened.folded).seqs)


def copied_late() -> Trace:
    """Much is said; then one thing three times, the last time elsewhere."""
    author = Author()
    author.world(PLACES)
    ids: dict[str, Any] = {"kind": IntentKind.REPLY, "reason": Reason.REPLY_TO_ORIGIN}
    for number in range(40):
        author.send(OPS, f"number {number}", 1, **ids)
    intent = author.prepare(DEPLOY, "hello", 1, **ids)
    author.attempt(DEPLOY, intent)
    author.accept(DEPLOY, "hello", intent)
    author.send(OPS, "in between", 1, **ids)
    author.accept(DEPLOY, "hello", intent)
    wire = author.accept(OPS, "hello", intent)
    author.settle(OPS, "hello", intent, wire, mirror=DM)
    author.rest()
    return author.trace("copied-late", title="One thing three times")


@pytest.mark.parametrize("text", JUDGED)
def test_what_a_violation_names_is_there_with_it(text: str):
    trace = copied_late()
    opened, until = growing(trace)
    findings: list[Search] = []
    shown: set[tuple[int, ...]] = set()
    for last in range(1, len(trace.events)):
        if not last % scaled(7, 19):
            # It may be asked for at any time.
            findings.append(Search())
            findings[-1].set_filter(text)
        until(last)
        rows = anew(text, opened)
        shown.add(tuple(rows))
        for search in findings:
            assert kept(search, opened) == rows, last
    # It is about something.
    assert len(shown) > 1


def late_fallback() -> Trace:
    """People see a message; only then it is told that it went there instead of elsewhere. Much comes after it."""
    author = Author()
    author.world(PLACES)
    ids: dict[str, Any] = {"kind": IntentKind.REPLY, "reason": Reason.REPLY_TO_ORIGIN}
    intent = author.prepare(DEPLOY, "hello", 1, **ids)
    author.attempt(DEPLOY, intent)
    author.accept(DEPLOY, "hello", intent)
    for number in range(12):
        author.send(OPS, f"and {number}", 1, **ids)
    author.gateway.record(Fallback(asked=DEPLOY, used=OPS, reason=Reason.PLACE_GONE), intent=intent)
    author.send(OPS, "the last", 1, **ids)
    author.rest()
    return author.trace("late-fallback", title="A fallback is told late")


@for_each("text", [*JUDGED, *OTHERS])
@for_each("rests", ["paused", "ended"])
def test_all_rows_are_judged_again_when_the_run_rests(text: str, rests: str):
    trace = late_fallback()
    opened, until = growing(trace)
    findings: list[Search] = []
    for last in range(1, len(trace.events) + 1):
        if not last % scaled(7, 19):
            findings.append(Search())
            findings[-1].set_filter(text)
        until(last)
        for search in findings:
            kept(search, opened)
    if rests == "paused":
        opened.playback.held = True
    else:
        opened.view.growing = False
    rows = anew(text, opened)
    accepted = next(event.seq for event in trace.events if isinstance(event.body, WireAccepted))
    assert text != "v:fb" or accepted in rows
    for search in findings:
        assert kept(search, opened) == rows
    whole = OpenRun(Run(trace=trace, verdicts=judge(trace.events)))
    assert anew(text, whole) == rows
