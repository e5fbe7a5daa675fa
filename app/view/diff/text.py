"""Texts of a comparison: its header, its rows, and both as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from trunkline.app.text.cells import clean, count, cut, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.diff.compare import REAL_DIFFERENCES, Diff, DiffMark, DiffRow, differences
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.wire_side.unknown import gateway_name
from trunkline.core.values import Address
from trunkline.sim.scenario.edit import BRANCH

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


class DiffHeader(msgspec.Struct, frozen=True, kw_only=True):
    """A line for each run, and the outcome of the comparison."""

    a: str
    b: str
    #: whether the run violates an invariant
    bad_a: bool
    bad_b: bool
    outcome: str
    #: for a narrow terminal
    short: str


def header(diff: Diff) -> DiffHeader:
    """The header of a comparison."""
    differing = {mark: number for mark, number in diff.counts.items() if number and mark is not DiffMark.SAME}
    counts = [f"{MEANINGS[mark]} {number}" for mark, number in differing.items()]
    signs = [f"{mark.value}{number}" for mark, number in differing.items()]
    where = divergence(diff)
    verdicts = f"A {verdict(diff.a)}  B {verdict(diff.b)}"
    return DiffHeader(
        a=f"A {verdict(diff.a)}  {run_name(diff.a)}",
        b=f"B {verdict(diff.b)}  {run_name(diff.b)}",
        bad_a=bool(diff.a.marks.violations),
        bad_b=bool(diff.b.marks.violations),
        outcome="  ".join([verdicts, where, *counts]),
        short="  ".join([verdicts, where, *signs]),
    )


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
    """The event, with its differences."""
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
    before = _broken(diff.a, row.a)
    after = _broken(diff.b, row.b)
    if before != after:
        yield f"broken {before or 'nothing'} → {after or 'nothing'}"


def _broken(view: RunView, seq: int) -> str:
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
    head = header(diff)
    yield head.a
    yield head.b
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
