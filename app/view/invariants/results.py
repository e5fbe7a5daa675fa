"""Verdicts at any event: per invariant, per family, and the violations of one with their evidence.

A run is judged as a whole, so exercise counts are for the whole run; only the violations follow the cursor.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from operator import attrgetter

import msgspec

from trunkline.app.text.cells import clean, count, seconds
from trunkline.app.text.fact import Fact, Tone, listed
from trunkline.app.view.index.growing import GrowingRows
from trunkline.app.view.index.run_index import GrowingView, RunView
from trunkline.app.view.kinds.registry import describe
from trunkline.sim.invariants.base import Status, Verdict, Violation
from trunkline.sim.scenario.names import plugin_of

#: violations of one invariant that are shown, around the cursor; the others are counted
MOST_SHOWN = 60
#: a caveat on the verdicts of a truncated trace
NOT_JUDGED = "violations that only the end of a run can prove were not judged"
#: meaning of the first letter of an id
FAMILIES = {
    "D": "delivery once",
    "L": "everything ends",
    "R": "return address",
    "S": "sessions",
    "M": "mirror",
    "O": "order",
    "C": "callbacks",
    "H": "heartbeat",
    "B": "bindings",
    "P": "audience",
    "T": "true to the world",
    "V": "visibility",
    "A": "actions",
    "W": "true records",
    "E": "service",
    "K": "commands",
    "X": "from outside",
}


class InvariantStatus(StrEnum):
    VIOLATED = "violated"
    #: violated after the cursor
    LATER = "violated later"
    OK = "ok"
    #: nothing happened that it applies to, so it proves nothing
    IDLE = "not exercised"


#: sign and tone of each status
SIGNS = {
    InvariantStatus.VIOLATED: ("✗", Tone.BAD),
    InvariantStatus.LATER: ("◐", Tone.WARN),
    InvariantStatus.OK: ("✓", Tone.GOOD),
    InvariantStatus.IDLE: ("–", Tone.DIM),
}
_RANK = {judged: rank for rank, judged in enumerate(InvariantStatus)}


class VerdictRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    sentence: str
    judged: InvariantStatus
    #: how often it had something to judge, in the whole run
    exercised: int
    #: violations up to the cursor, and after it
    broken: int = 0
    ahead: int = 0
    #: the first violation of the run, and the last one up to the cursor; 0: none
    first: int = 0
    latest: int = 0

    @property
    def words(self) -> str:
        return f"ok {count(self.exercised, 'time')}" if self.judged is InvariantStatus.OK else str(self.judged)


class FamilyRow(msgspec.Struct, frozen=True, kw_only=True):
    letter: str
    name: str
    judged: InvariantStatus
    #: the invariants with that status
    ids: tuple[str, ...]
    #: the invariant with the worst status
    worst: str
    broken: int
    latest: int


class Verdicts(GrowingView):
    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self._violations: dict[str, GrowingRows[Violation]] = {}
        self._listed = 0
        self.grow()

    def settle(self) -> None:
        # Of a watched run the header may come late, and with it others are judged.
        for verdict in self.all:
            self._violations.setdefault(verdict.id, GrowingRows(attrgetter("at")))
        for violation in self.view.marks.found[self._listed :]:
            self._violations[violation.invariant].add(violation)
        self._listed = self.view.marks.version

    @property
    def all(self) -> tuple[Verdict, ...]:
        """The verdicts so far, in catalog order."""
        return self.view.verdicts

    def broken(self, seq: int) -> int:
        """Number of violations up to event `seq`."""
        return self.view.marks.upto(seq)

    def rows(self, seq: int) -> list[VerdictRow]:
        """Every invariant after event `seq`, in catalog order."""
        return [self._row(verdict, seq) for verdict in self.all]

    def _row(self, verdict: Verdict, seq: int) -> VerdictRow:
        found = self._violations[verdict.id]
        broken = found.upto(seq)
        judged = InvariantStatus.VIOLATED if broken else InvariantStatus.LATER if found else InvariantStatus.OK
        return VerdictRow(
            id=verdict.id,
            title=verdict.name,
            sentence=verdict.sentence,
            judged=InvariantStatus.IDLE if verdict.status is Status.NOT_EXERCISED else judged,
            exercised=verdict.exercised,
            broken=broken,
            ahead=len(found) - broken,
            first=found[0].at if found else 0,
            latest=found[broken - 1].at if broken else 0,
        )

    def families(self, seq: int) -> list[FamilyRow]:
        """The invariants grouped by the first letter of their id."""
        groups: dict[str, list[VerdictRow]] = {}
        for row in self.rows(seq):
            groups.setdefault(plugin_of(row.id) or row.id[:1], []).append(row)
        return [_family(letter, rows) for letter, rows in groups.items()]

    def latest(self, seq: int) -> list[Violation]:
        """The violations at the last event up to `seq` that has any."""
        number = self.broken(seq)
        at = self.view.marks.violations[number - 1].at if number else 0
        return [
            violation for found in self._violations.values() for violation in found[found.upto(at - 1) : found.upto(at)]
        ]

    def concerned(self, seq: int) -> str | None:
        """The invariant that is violated at an event, or has it as evidence."""
        found = self.view.marks.of(seq)
        return min(found, key=lambda violation: violation.at != seq).invariant if found else None

    def facts(self, name: str, seq: int) -> Iterator[Fact]:
        """Everything about one invariant, with its violations around the cursor."""
        verdict = next((verdict for verdict in self.all if verdict.id == name), None)
        if verdict is None:
            return
        row = self._row(verdict, seq)
        sign, tone = SIGNS[row.judged]
        yield Fact("promise", clean(verdict.sentence))
        ahead = f", {row.ahead} ahead" if row.ahead else ""
        counts = f": {row.broken} so far{ahead}, first #{row.first}" if row.first else ""
        judged = "nothing happened in this run that it applies to: no proof that it holds"
        if verdict.note and not row.exercised:
            judged = "no proof that it holds"
        if row.exercised:
            judged = f"{count(row.exercised, 'time')} in the whole run"
        yield Fact("status", f"{sign} {row.words}{counts}", tone=tone)
        yield Fact("judged", judged, tone=Tone.DIM)
        if verdict.note:
            yield Fact("", clean(verdict.note), tone=Tone.DIM)
        if self.view.run.trace.cut:
            yield Fact("cut", f"the trace is truncated: {NOT_JUDGED}", tone=Tone.WARN)
        yield from self._violation_facts(name, seq)

    def _violation_facts(self, name: str, seq: int) -> Iterator[Fact]:
        found = self._violations[name]
        here = found.upto(seq)
        start = max(0, min(here - MOST_SHOWN // 2, len(found) - MOST_SHOWN))
        if start:
            yield Fact("earlier", f"{count(start, 'violation')} before these: N goes there", tone=Tone.DIM)
        for number, violation in enumerate(found[start : start + MOST_SHOWN], start + 1):
            yield from violation_facts(self.view, violation, f"✗ {number} of {len(found)}")
        later = len(found) - start - MOST_SHOWN
        if later > 0:
            yield Fact("later", f"{count(later, 'violation')} after these: n goes there", tone=Tone.DIM)


def violation_facts(view: RunView, violation: Violation, label: str) -> Iterator[Fact]:
    """A violation: its summary, expected against actual, and every event that proves it."""
    at = violation.at
    summary = clean(violation.summary)
    yield Fact(label, f"#{at} {seconds(view.time(at))} {summary}", at, Tone.BAD)
    yield from listed("expected", violation.expected, at, Tone.GOOD)
    yield from listed("actual", violation.actual, at, Tone.BAD)
    shown = sorted({*violation.evidence} | ({violation.blamed} if violation.blamed else set[int]()))
    for index, seq in enumerate(seq for seq in shown if 0 < seq <= view.last):
        yield evidence_fact(view, seq, "" if index else "evidence", violation.first_wrong)
        if seq == violation.missing_after:
            yield absence_fact(violation)


def blame_facts(view: RunView, violation: Violation) -> Iterator[Fact]:
    """Where it went wrong: the first wrong step, or the step that nothing followed and what is missing."""
    if violation.blamed and violation.blamed <= view.last:
        yield evidence_fact(view, violation.blamed, "step", violation.first_wrong)
    if violation.missing_after is not None:
        yield absence_fact(violation)


def absence_fact(violation: Violation, of: str = "") -> Fact:
    """The event that should have followed a step and did not, as a line of its own below the step."""
    after = violation.missing_after or 0
    return Fact(
        "",
        clean(f"missing: {violation.expected[0] if violation.expected else violation.summary}"),
        after,
        Tone.BAD,
        mark=f"✗ nothing followed #{after}{of}",
    )


def evidence_fact(view: RunView, seq: int, label: str, first_wrong: int | None) -> Fact:
    """An event that proves a violation, with its copy number."""
    event = view.event(seq)
    copy = view.marks.copies.get(seq)
    number = f"{copy.number}× " if copy else ""
    mark = "✗ first wrong step" if seq == first_wrong else ""
    return Fact(
        label,
        f"{number}#{seq} {seconds(event.at)} {describe(view, event)}",
        seq,
        Tone.BAD if copy and copy.number > 1 else Tone.PLAIN,
        mark=mark,
    )


def _family(letter: str, rows: Sequence[VerdictRow]) -> FamilyRow:
    worst = min(rows, key=lambda row: _RANK[row.judged])
    return FamilyRow(
        letter=letter,
        name=FAMILIES.get(letter, f"plug-in {letter}"),
        judged=worst.judged,
        ids=tuple(row.id for row in rows if row.judged is worst.judged),
        worst=worst.id,
        broken=sum(row.broken for row in rows),
        latest=max(row.latest for row in rows),
    )
