"""Compares two runs: which events both have, which only one has, and where they first diverge."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import accumulate

import msgspec

from trunkline.app.text.cells import clean, count, cut, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.app.view.wire_side.facts import gateway_name
from trunkline.core.events import Event
from trunkline.core.values import Address
from trunkline.sim.events import script
from trunkline.sim.index.pairs import differences, differs, pair_events
from trunkline.sim.scenario.edit import BRANCH


class DiffMark(StrEnum):
    SAME = "="
    #: the same event at another time
    MOVED = "~"
    ONLY_A = "-"
    ONLY_B = "+"
    #: in both, but with another outcome, another place, or other violated invariants
    VERDICT = "!"


#: marks of rows that differ in more than their time
REAL_DIFFERENCES = frozenset({DiffMark.ONLY_A, DiffMark.ONLY_B, DiffMark.VERDICT})


class DiffRow(msgspec.Struct, frozen=True, gc=False):
    """A row: the event of A, the event of B (0: none), and how they compare."""

    mark: DiffMark
    a: int
    b: int


class Diff:
    def __init__(self, first: RunView, other: RunView) -> None:
        self.a = first
        self.b = other
        self.rows: tuple[DiffRow, ...] = tuple(_rows(first, other))
        marks = [row.mark for row in self.rows]
        self.counts: dict[DiffMark, int] = {mark: marks.count(mark) for mark in DiffMark}
        #: index of the first row that differs; none: the runs are the same
        self.first: int | None = self._first()
        #: indexes of the rows where a stretch of differences begins
        self.stops: tuple[int, ...] = tuple(index for index in _stops(marks) if not self._is_premise(index))
        #: indexes of the rows that differ in more than their time
        self.different: tuple[int, ...] = tuple(index for index, mark in enumerate(marks) if mark in REAL_DIFFERENCES)
        #: for each row the last event of B up to it, for looking up rows by cursor
        self._reached = list(accumulate((row.b for row in self.rows), max))

    def _first(self) -> int | None:
        """The first difference; an event that switches a bug on is the cause of the others and comes last."""
        found = [index for index, row in enumerate(self.rows) if row.mark is not DiffMark.SAME]
        return next((index for index in found if not self._is_premise(index)), found[0] if found else None)

    def _is_premise(self, index: int) -> bool:
        return isinstance(self.event(self.rows[index])[1].body, script.BugEnabled)

    @property
    def same(self) -> bool:
        """Whether the runs have the same events at the same times, but for what they have not reached."""
        return self.first is None or isinstance(self.event(self.rows[self.first])[1].body, script.ScriptMissed)

    def row_of(self, seq: int) -> int:
        """Index of the last row up to event `seq` of B; -1 before the first."""
        return bisect_right(self._reached, seq) - 1

    def seq_at(self, index: int) -> int:
        """The event of B at a row: its own, else the last one before it."""
        return self._reached[index]

    def event(self, row: DiffRow) -> tuple[RunView, Event]:
        """The event that a row shows, with its run: B's if B has it, else A's."""
        return (self.b, self.b.event(row.b)) if row.b else (self.a, self.a.event(row.a))


def _rows(ours: RunView, theirs: RunView) -> list[DiffRow]:
    """Pair the events and merge both runs, in the order of A; events of B alone keep their place in B."""
    pairs = pair_events(ours.events, theirs.events)
    paired = set(pairs)
    broken_a, broken_b = _broken(ours), _broken(theirs)
    rows: list[DiffRow] = []
    others = [event for event in theirs.events if event.seq not in paired]
    left, count = 0, len(others)
    for event, seq in zip(ours.events, pairs, strict=True):
        while left < count and (others[left].seq < seq if seq else others[left].at < event.at):
            rows.append(DiffRow(DiffMark.ONLY_B, 0, others[left].seq))
            left += 1
        if not seq:
            rows.append(DiffRow(DiffMark.ONLY_A, event.seq, 0))
            continue
        other = theirs.events[seq - 1]
        if broken_a.get(event.seq) != broken_b.get(seq) or differs(event.body, other.body):
            mark = DiffMark.VERDICT
        else:
            mark = DiffMark.SAME if event.at == other.at else DiffMark.MOVED
        rows.append(DiffRow(mark, event.seq, seq))
    rows += [DiffRow(DiffMark.ONLY_B, 0, event.seq) for event in others[left:]]
    return rows


def _broken(view: RunView) -> dict[int, frozenset[str]]:
    """For each event the invariants whose violation it proves."""
    found: dict[int, set[str]] = {}
    for violation in view.marks.violations:
        for seq in (*violation.evidence, violation.at):
            found.setdefault(seq, set()).add(violation.invariant)
    return {seq: frozenset(names) for seq, names in found.items()}


def _stops(marks: Sequence[DiffMark]) -> list[int]:
    """Rows where a stretch of differences begins; rows that are only later or earlier form one stretch."""
    found: list[int] = []
    before = DiffMark.SAME
    for index, mark in enumerate(marks):
        begins = mark in REAL_DIFFERENCES and before not in REAL_DIFFERENCES
        if begins or (mark is DiffMark.MOVED and before is DiffMark.SAME):
            found.append(index)
        before = mark
    return found


#: meaning of the marks
MEANINGS = {
    DiffMark.SAME: "same",
    DiffMark.MOVED: "other time",
    DiffMark.ONLY_A: "only A",
    DiffMark.ONLY_B: "only B",
    DiffMark.VERDICT: "other outcome",
}
#: characters of a value in a difference
_VALUE = 60
_TONES = {DiffMark.ONLY_A: Tone.WARN, DiffMark.ONLY_B: Tone.WARN, DiffMark.VERDICT: Tone.BAD}


def outcome(diff: Diff, *, short: bool) -> str:
    """Both verdicts, the first divergence and the numbers of differences; their signs if it must be short."""
    differing = [(mark, number) for mark, number in diff.counts.items() if number and mark is not DiffMark.SAME]
    counts = [f"{mark.value}{number}" if short else f"{MEANINGS[mark]} {number}" for mark, number in differing]
    return "  ".join([f"A {verdict(diff.a)}  B {verdict(diff.b)}", divergence(diff), *counts])


def verdict(view: RunView) -> str:
    """Number and kinds of the violations of a run: ``✗2 dup``."""
    broken = len(view.marks.violations)
    if not broken:
        return f"✓ ok, unmet {len(view.run.unmet)}" if view.run.unmet else "✓ ok"
    marks = view.marks
    kinds = {"dup": marks.copies, "leak": marks.misplaced, "mirror": marks.mirrors}
    words = [word for word, found in kinds.items() if found]
    return f"✗{broken} {' '.join(words) or ' '.join(dict.fromkeys(v.invariant for v in view.marks.violations))}"


def run_name(view: RunView) -> str:
    """A run by its inputs: scenario, seed, defects, crashes and added steps."""
    made = view.header
    defects = f"  defect {', '.join(made.bugs)}" if made.bugs else ""
    crashes = f"  {', '.join(made.crashes)}" if made.crashes else ""
    added = "".join(f"  + {step}" for step in made.steps)
    # The added steps say more than the branch suffix.
    name = made.scenario.removesuffix(BRANCH) if made.steps else made.scenario
    seed = f" seed {made.seed}" if made.seeded else f" on {gateway_name(made)}" if view.wire_side else ""
    return clean(f"{name}{seed}{defects}{crashes}{added}  {count(view.last, 'event')}")


def divergence(diff: Diff) -> str:
    """The first divergence: the event of B, or of A if only A has it."""
    if diff.first is None:
        return "no difference"
    return f"first divergence {number(diff.rows[diff.first])}"


def number(row: DiffRow) -> str:
    """The event of a row: ``#14``, or ``A #14`` if only A has it."""
    return f"#{row.b}" if row.b else f"A #{row.a}"


def delta(diff: Diff, row: DiffRow) -> str:
    """How much later or earlier it happens in B; empty without a difference."""
    if not (row.a and row.b):
        return ""
    change = round(diff.b.event(row.b).at - diff.a.event(row.a).at, 6)
    return f"{change:+.3f}" if change else ""


def row_text(diff: Diff, row: DiffRow) -> str:
    view, event = diff.event(row)
    text = describe(view, event)
    if row.mark is not DiffMark.VERDICT:
        return text
    return "  ".join([f"{text} |", *_changes(diff, row)])


def row_tone(mark: DiffMark) -> Tone:
    """The color of a row, which repeats its mark."""
    return _TONES.get(mark, Tone.DIM if mark is DiffMark.SAME else Tone.PLAIN)


def facts_of(diff: Diff, row: DiffRow) -> Iterator[Fact]:
    """A row in detail: both sides, and all differences."""
    for name, view, seq in (("A", diff.a, row.a), ("B", diff.b, row.b)):
        own = row.b if name == "B" else 0
        if not seq:
            yield Fact(name, "did not happen", tone=Tone.WARN)
            continue
        event = view.event(seq)
        yield Fact(name, f"#{seq} {seconds(event.at)} s  {describe(view, event)}", own)
        for violation in view.marks.of(seq):
            yield Fact("broken", f"{violation.invariant} {clean(violation.summary)}", own, Tone.BAD)
    if row.a and row.b:
        if changed := delta(diff, row):
            yield Fact("time", f"{changed} s in B", row.b)
        for change in _changes(diff, row):
            yield Fact("differs", change, row.b, Tone.BAD)


def _changes(diff: Diff, row: DiffRow) -> Iterator[str]:
    ours, theirs = diff.a.event(row.a).body, diff.b.event(row.b).body
    for name, before, after in differences(ours, theirs) if ours != theirs else ():
        old, new = _value(diff.a, before), _value(diff.b, after)
        yield f"{name} changed" if old is None or new is None else f"{name} {old} → {new}"
    before = _broken_at(diff.a, row.a)
    after = _broken_at(diff.b, row.b)
    if before != after:
        yield f"broken {before or 'nothing'} → {after or 'nothing'}"


def _broken_at(view: RunView, seq: int) -> str:
    return ", ".join(sorted({violation.invariant for violation in view.marks.of(seq)}))


def _value(view: RunView, value: object) -> str | None:
    """A value in words; none for a compound value, which the descriptions of both events show better."""
    if isinstance(value, Address):
        return view.places.label(value)
    if value is None or isinstance(value, str | int | float):
        return cut(clean("nothing" if value is None or value == "" else str(value)), _VALUE)
    return None


def as_lines(diff: Diff) -> Iterator[str]:
    """The comparison as text: the header and each difference; equal events are counted."""
    yield f"A {verdict(diff.a)}  {run_name(diff.a)}"
    yield f"B {verdict(diff.b)}  {run_name(diff.b)}"
    counts = (f"{mark.value} {diff.counts[mark]} {meaning}" for mark, meaning in MEANINGS.items() if diff.counts[mark])
    yield "  ".join([divergence(diff), *counts])
    if diff.same:
        return
    yield ""
    yield from _stretches(diff, diff.rows)


def _stretches(diff: Diff, rows: Sequence[DiffRow]) -> Iterator[str]:
    quiet: dict[DiffMark, int] = {}
    for row in rows:
        if row.mark not in REAL_DIFFERENCES:
            quiet[row.mark] = quiet.get(row.mark, 0) + 1
            continue
        yield from _quiet(quiet)
        quiet = {}
        _, event = diff.event(row)
        yield f"{row.mark.value} {number(row):>7} {seconds(event.at):>10}  {row_text(diff, row)}"
    yield from _quiet(quiet)


def _quiet(quiet: dict[DiffMark, int]) -> Iterator[str]:
    for mark in (DiffMark.SAME, DiffMark.MOVED):
        if mark in quiet:
            what = "the same" if mark is DiffMark.SAME else "the same at another time"
            yield f"{mark.value} {count(quiet[mark], 'event')} {what}"
