"""What the tries of cells came to, for readers: k of n for each invariant, and the first try that shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from trunkline.app.attach.cells import CellRecord, FinishedTry, gateway_given_up
from trunkline.app.report.summary import report_lines
from trunkline.app.text.cells import clean, count, shell_words
from trunkline.sim.attach.doctor import Checkup
from trunkline.sim.attach.tries import MIN_TRIES, JudgedTry, over_tries
from trunkline.sim.invariants import Status

#: what stands for a missed expectation among the ids of invariants
EXPECTED = "expected"
_WIDTH = 40
_REPRO = "  repro"


class TryBreach(msgspec.Struct, frozen=True, kw_only=True):
    """An invariant that some tries of a cell violate, or the expectations of the scenario."""

    id: str
    title: str
    sentence: str
    #: tries that violate it, and tries that it was judged in
    times: int
    tries: int
    first: FinishedTry

    @property
    def flaky(self) -> bool:
        """Whether some tries hold."""
        return self.times < self.tries

    @property
    def text(self) -> str:
        """``X1 5 of 5``."""
        return f"{self.id} {self.times} of {self.tries}{' (flaky)' if self.flaky else ''}"


def breaches_of(finished: Sequence[FinishedTry]) -> tuple[TryBreach, ...]:
    """What the tries of a cell violate, in the order of the catalogue."""
    tries = [JudgedTry(verdicts=one.run.verdicts, whole=not one.missed) for one in finished]
    found = [
        TryBreach(
            id=one.id,
            title=one.title,
            sentence=one.sentence,
            times=one.times,
            tries=one.judged,
            first=finished[one.violated[0]],
        )
        for one in over_tries(tries)
        if one.violated
    ]
    missed = [one for one in finished if one.run.unmet]
    if missed:
        sentence = "What the scenario expects to be accepted is accepted, and nothing else."
        found.append(
            TryBreach(
                id=EXPECTED,
                title="Expectations",
                sentence=sentence,
                times=len(missed),
                tries=len(finished),
                first=missed[0],
            )
        )
    return tuple(found)


def command_of(record: CellRecord) -> str:
    """The command that repeats the tries of a cell, often enough for a claim."""
    cell = record.cell
    words = ["trunkline", "attach", cell.file.path.as_posix(), *cell.options]
    words += ["--at", cell.kill_at.slug] if cell.kill_at is not None else []
    return shell_words([*words, "--tries", str(max(MIN_TRIES, len(record.finished)))])


def exercised(record: CellRecord) -> int:
    """In how many tries everything of the script happened, and there was anything to judge."""
    idle = Status.NOT_EXERCISED
    whole = [one for one in record.finished if not one.missed]
    return sum(any(verdict.status is not idle for verdict in one.run.verdicts) for one in whole)


def nothing_exercised(records: Sequence[CellRecord]) -> bool:
    """Whether tries were played, and none of them shows anything: no violation, and nothing was judged."""
    played = [one for one in records if one.finished]
    return bool(played) and not any(one.violated or exercised(one) for one in played)


def cell_lines(record: CellRecord, records: Sequence[CellRecord]) -> Iterator[str]:
    """The results of a cell: a line, and for the first try with a violation what went wrong."""
    name = f"{record.cell.gateway.label} · {record.cell.scenario}"
    breaches = breaches_of(record.finished)
    if record.cannot:
        yield clean(f"– {name:<{_WIDTH}} cannot be attached: {'; '.join(record.cannot)}")
    elif breaches:
        yield clean(f"✗ {name:<{_WIDTH}} {' · '.join(one.text for one in breaches)}")
        shown: set[int] = set()
        for one in breaches:
            if one.first.number not in shown:
                shown.add(one.first.number)
                # The command of a trace does not know how often the try was repeated.
                lines = list(report_lines(one.first.run))[1:]
                yield from (line for line in lines if not line.startswith(_REPRO))
        yield f"{_REPRO}     {command_of(record)}"
        if len(record.finished) < MIN_TRIES:
            tries = count(len(record.finished), "try", "tries")
            yield f"    {tries} so far: a finding should be claimed from {MIN_TRIES} on (--tries {MIN_TRIES})"
    elif record.finished:
        tries = count(len(record.finished), "try", "tries")
        sign, said = ("✓", "holds") if exercised(record) else ("–", "not exercised")
        yield clean(f"{sign} {name:<{_WIDTH}} {said} in {tries}")
        for missed in dict.fromkeys(text for one in record.finished for text in one.missed):
            yield clean(f"    not happened: {missed}")
    elif record.troubles:
        yield clean(f"! {name:<{_WIDTH}} could not be run")
    elif gateway_given_up(record, records):
        yield clean(f"! {name:<{_WIDTH}} not tried: {record.cell.gateway.name} could not be run")
    else:
        yield clean(f"· {name:<{_WIDTH}} not tried")


#: signs of what was looked at
_STATES = {"ok": "✓", "note": "!", "missing": "✗"}


def checkup_lines(found: Checkup) -> Iterator[str]:
    """What a profile needs, and what of it is on this machine."""
    yield f"{found.title}{f' {found.version}' if found.version else ''} (profile {found.profile})"
    if found.tried:
        yield f"  tried with {', '.join(found.tried)}"
    for one in found.lines:
        yield f"  {_STATES[one.state]} {one.what}: {one.found}"
        if one.remedy and one.state != "ok":
            yield f"      {one.remedy}"
    yield "it can be attached" if found.ready else "it cannot be attached yet"


def profile_lines(every: Sequence[Checkup]) -> Iterator[str]:
    """The profiles that ship, with what is installed of them."""
    width = max((len(one.profile) for one in every), default=0)
    for one in every:
        missing = [line for line in one.lines if line.state == "missing"]
        state = f"{one.version or 'ready'}" if not missing else f"not ready: {missing[0].what}: {missing[0].found}"
        yield f"{one.profile:<{width}}  {one.title}  {state}"
    yield "`trunkline attach doctor PROFILE` says what is missing and how to get it; a profile of your own is a file"


def summary_line(records: Sequence[CellRecord], *, interrupted: bool) -> str:
    """The last line."""
    tries = sum(len(one.finished) for one in records)
    bad = sum(one.violated for one in records)
    held = [one for one in records if one.finished and not one.violated]
    good = sum(exercised(one) > 0 for one in held)
    idle = len(held) - good
    rest = len(records) - bad - len(held)
    words = [f"{bad} violated"] if bad else []
    words += [f"{good} {'hold' if good != 1 else 'holds'}"] if good or not (bad or idle) else []
    words += [f"{idle} not exercised"] if idle else []
    words += [f"{rest} without a result"] if rest else []
    head = f"{count(len(records), 'scenario')} on a gateway, {count(tries, 'try', 'tries')}: {', '.join(words)}"
    return f"interrupted. So far: {head}" if interrupted else head
