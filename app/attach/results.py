"""The outcome of the tries of cells, for readers: k of n for each invariant, and the first try to show each."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from trunkline.app.attach.cells import CellRecord, FinishedTry, gateway_given_up
from trunkline.app.report.summary import report_lines
from trunkline.app.text.cells import clean, count, shell_words
from trunkline.core.declared import filled
from trunkline.sim.attach.doctor import Checkup
from trunkline.sim.attach.tries import MIN_TRIES, JudgedTry, over_tries
from trunkline.sim.invariants import Status

#: what stands for a missed expectation among the ids of invariants
EXPECTED = "expected"
_WIDTH = 40
_REPRO = "  repro"
_SEQ = re.compile(r" \(#\d+\)")


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
    """The invariants that the tries of a cell violate, in the order of the catalogue."""
    tries = [JudgedTry(verdicts=judged.run.verdicts, whole=not judged.missed) for judged in finished]
    found = [
        filled(TryBreach, verdict, tries=verdict.judged, first=finished[verdict.violated[0]])
        for verdict in over_tries(tries)
        if verdict.violated
    ]
    missed = [unmet for unmet in finished if unmet.run.unmet]
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


def remarks_of(finished: Sequence[FinishedTry]) -> tuple[str, ...]:
    """The remarks on promises kept late, such as by a notice at the next message, with the number of tries."""
    found = Counter(
        remark for kept in finished for remark in dict.fromkeys(r for v in kept.run.verdicts for r in v.remarks)
    )
    # The number of an event differs from try to try.
    plain = Counter[str]()
    for remark, times in found.items():
        plain[_SEQ.sub("", remark)] += times
    return tuple(f"{remark}: {times} of {len(finished)}" for remark, times in plain.items())


def command_of(record: CellRecord) -> str:
    """The command that repeats the tries of a cell, often enough for a claim."""
    cell = record.cell
    words = ["trunkline", "attach", cell.file.path.as_posix(), *cell.options]
    words += ["--at", cell.kill_at.slug] if cell.kill_at is not None else []
    return shell_words([*words, "--tries", str(max(MIN_TRIES, len(record.finished)))])


def exercised(record: CellRecord) -> int:
    """In how many tries everything of the script happened, and there was anything to judge."""
    idle = Status.NOT_EXERCISED
    whole = [finished for finished in record.finished if not finished.missed]
    return sum(any(verdict.status is not idle for verdict in finished.run.verdicts) for finished in whole)


def nothing_exercised(records: Sequence[CellRecord]) -> bool:
    """Whether tries were played, and none of them shows anything: no violation, and nothing was judged."""
    played = [record for record in records if record.finished]
    return bool(played) and not any(verdict.violated or exercised(verdict) for verdict in played)


def result_lines(records: Sequence[CellRecord]) -> Iterator[str]:
    """The results of all cells. Those that were not tried because a gateway could not be run are counted."""
    untried = Counter[str]()
    for record in records:
        if record.cannot or record.finished or record.troubles or not gateway_given_up(record, records):
            yield from cell_lines(record, records)
        else:
            untried[record.cell.gateway.name] += 1
    for name, number in untried.items():
        yield clean(f"! {name:<{_WIDTH}} {count(number, 'scenario')} not tried: {name} could not be run")


def cell_lines(record: CellRecord, records: Sequence[CellRecord]) -> Iterator[str]:
    """The results of a cell: a line, and for the first try with a violation what went wrong."""
    name = f"{record.cell.gateway.label} · {record.cell.scenario}"
    breaches = breaches_of(record.finished)
    if record.cannot:
        yield clean(f"– {name:<{_WIDTH}} cannot be attached: {'; '.join(record.cannot)}")
    elif breaches:
        yield clean(f"✗ {name:<{_WIDTH}} {' · '.join(breach.text for breach in breaches)}")
        shown: set[int] = set()
        for breach in breaches:
            if breach.first.number not in shown:
                shown.add(breach.first.number)
                # The command of a trace does not know how often the try was repeated.
                lines = list(report_lines(breach.first.run))[1:]
                yield from (line for line in lines if not line.startswith(_REPRO))
        yield from (clean(f"    {remark}") for remark in remarks_of(record.finished))
        yield f"{_REPRO}     {command_of(record)}"
        if len(record.finished) < MIN_TRIES:
            tries = count(len(record.finished), "try", "tries")
            yield f"    {tries} so far: a finding should be claimed from {MIN_TRIES} on (--tries {MIN_TRIES})"
    elif record.finished:
        tries = count(len(record.finished), "try", "tries")
        sign, said = ("✓", "holds") if exercised(record) else ("–", "not exercised")
        yield clean(f"{sign} {name:<{_WIDTH}} {said} in {tries}")
        yield from (clean(f"    {remark}") for remark in remarks_of(record.finished))
        for missed in dict.fromkeys(text for finished in record.finished for text in finished.missed):
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
    """The requirements of a profile as lines, and which of them this machine has."""
    yield f"{found.title}{f' {found.version}' if found.version else ''} (profile {found.profile})"
    if found.tried:
        yield f"  tried with {', '.join(found.tried)}"
    for line in found.lines:
        yield f"  {_STATES[line.state]} {line.what}: {line.found}"
        if line.remedy and line.state != "ok":
            yield f"      {line.remedy}"
    yield "it can be attached" if found.ready else "it cannot be attached yet"


def profile_lines(every: Sequence[Checkup]) -> Iterator[str]:
    """The profiles that ship, with what is installed of them."""
    width = max((len(gateway.profile) for gateway in every), default=0)
    for gateway in every:
        missing = [line for line in gateway.lines if line.state == "missing"]
        state = f"{gateway.version or 'ready'}" if not missing else f"not ready: {missing[0].what}: {missing[0].found}"
        yield f"{gateway.profile:<{width}}  {gateway.title}  {state}"
    yield "`trunkline attach doctor PROFILE` says what is missing and how to get it; a profile of your own is a file"


def summary_line(records: Sequence[CellRecord], *, interrupted: bool) -> str:
    tries = sum(len(record.finished) for record in records)
    bad = sum(record.violated for record in records)
    held = [record for record in records if record.finished and not record.violated]
    good = sum(exercised(verdict) > 0 for verdict in held)
    idle = len(held) - good
    rest = len(records) - bad - len(held)
    words = [f"{bad} violated"] if bad else []
    words += [f"{good} {'hold' if good != 1 else 'holds'}"] if good or not (bad or idle) else []
    words += [f"{idle} not exercised"] if idle else []
    words += [f"{rest} without a result"] if rest else []
    head = f"{count(len(records), 'scenario')} on a gateway, {count(tries, 'try', 'tries')}: {', '.join(words)}"
    return f"interrupted. So far: {head}" if interrupted else head
