"""Runs as plain text: a line per run, and a block per violation with its first wrong step and how to repeat it."""

from collections import Counter
from collections.abc import Iterator, Sequence

from trunkline.app.runs.model import DeclaredDefect, Run, judgeable, so_far
from trunkline.app.text.cells import clean, count
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.view.explain.explanation import culprit_facts, path_of, reproduction
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.invariants.results import NOT_JUDGED
from trunkline.core.events.trace import TraceHeader
from trunkline.sim.invariants import Verdict, Violation

_WIDTH = 34
#: a run that loops breaks the same invariant thousands of times: at most this many violations of each are printed
VIOLATIONS = 5
EXPECTATIONS = 20
#: lines of what was expected, and of what was found, per violation
LINES = 20
#: steps at each end of a long causal path
_STEPS = 20


def run_line(run: Run, declared: DeclaredDefect | None = None) -> str:
    """A line for a run. `declared`: what a run with a declared defect shows."""
    header = run.trace.header
    facts = [_played(header)]
    good = run.holds if declared is None else not declared.differs
    if declared is not None:
        facts.append(f"shows {' '.join(declared.shows) or 'no broken invariant'}")
        facts += [declared.differs] if declared.differs else []
    elif run.holds:
        judged = len(judgeable(header, run.verdicts))
        facts.append(f"{run.exercised} of {judged} invariants exercised{so_far(run.trace.cut)}")
    else:
        facts.append(f"violated: {' '.join(run.violated)}" if run.violated else "invariants hold")
        if missed := len(run.unmet) - run.not_exercised:
            facts.append(count(missed, "expectation") + " missed")
        facts += [f"not exercised: {run.not_exercised}"] if run.not_exercised else []
    facts.append(count(len(run.trace.events), "event"))
    if header.bugs:
        facts.append(clean(f"bug {', '.join(header.bugs)}"))
    return f"{'✓' if good else '✗'} {clean(header.scenario):<{_WIDTH}} {' · '.join(facts)}"


def _played(header: TraceHeader) -> str:
    """The gateway of a run: a real one, one of which only the wire is known, or a scenario under a seed."""
    if header.of_gateway:
        return "a gateway"
    return clean(header.gateway) if header.side == "wire" else f"seed {header.seed}"


def report_lines(run: Run, declared: DeclaredDefect | None = None) -> Iterator[str]:
    """The line of a run, and a block for each violation."""
    yield run_line(run, declared)
    for block in blocks(run):
        yield from block.split("\n")


def blocks(run: Run) -> Iterator[str]:
    """A block for each violation of a run; the last line is the command that repeats the run."""
    view = RunView(run)
    titles = {verdict.id: verdict for verdict in run.verdicts}
    printed: Counter[str] = Counter()
    for fact in culprit_facts(view):
        yield _line(fact.label, f"{fact.text}{fact.mark and f'   ← {fact.mark}'}")[2:]
    for violation in run.violations:
        printed[violation.invariant] += 1
        if printed[violation.invariant] <= VIOLATIONS:
            yield "\n".join(_violation(view, violation, titles[violation.invariant]))
    for invariant, number in printed.items():
        if number > VIOLATIONS:
            yield f"  ✗ {invariant} {clean(titles[invariant].name)}: {number - VIOLATIONS} more; --json has all of them"
    for unmet in run.unmet[:EXPECTATIONS]:
        where = f"{run.trace.header.path}:{unmet.line}: " if unmet.line else ""
        what = "" if unmet.not_exercised else "expectation missed: "
        lines = [f"  ✗ {what}{where}{clean(unmet.summary)}"]
        lines += _listed("expected", unmet.expected)
        lines += _listed("actual", unmet.actual)
        yield "\n".join(lines)
    if len(run.unmet) > EXPECTATIONS:
        yield f"  ✗ {len(run.unmet) - EXPECTATIONS} more expectations missed; --json has all of them"
    if run.trace.cut:
        yield f"  cut       {clean(run.trace.cut)}; {NOT_JUDGED}"
    command = "" if run.holds else reproduction(run.trace.header, run.trace.events)
    if command:
        yield f"  repro     {command}"


def _violation(view: RunView, violation: Violation, verdict: Verdict) -> Iterator[str]:
    yield f"  ✗ {violation.invariant} {clean(verdict.name)}: {clean(violation.summary)}"
    yield f"    {verdict.sentence}"
    yield from _listed("expected", violation.expected)
    yield from _listed("actual", violation.actual)
    for number, step in enumerate(shortened_path(view, violation, "...")):
        mark = f"   ← {step.mark.removeprefix('✗ ')}" if step.tone is Tone.BAD else ""
        yield _line("path" if number == 0 else "", f"{step.text}{mark}")


def shortened_path(view: RunView, violation: Violation, more: str) -> list[Fact]:
    """The causal path of a violation; of a long one both ends, how many steps are left out, and the wrong steps."""
    steps = list(path_of(view, violation))
    between = steps[_STEPS:-_STEPS]
    if len(between) < 2:
        return steps
    wrong = [step for step in between if step.tone is Tone.BAD]
    left_out = Fact("", f"{more} {count(len(between) - len(wrong), 'more step')}")
    return [*steps[:_STEPS], left_out, *wrong, *steps[-_STEPS:]]


def _listed(label: str, lines: tuple[str, ...]) -> list[str]:
    shown = [_line("" if index else label, clean(text)) for index, text in enumerate(lines[:LINES])]
    return shown if len(lines) <= LINES else [*shown, _line("", f"... {count(len(lines) - LINES, 'more line')}")]


def _line(label: str, text: str) -> str:
    return f"    {label:<9} {text}"


def summary(runs: Sequence[Run], declared: Sequence[DeclaredDefect] = ()) -> str:
    """The last line of a report. `declared`: of runs with declared defects."""
    if declared:
        failed = sum(bool(defect.differs) for defect in declared)
        what = f"{failed} failed, {len(declared) - failed} show" if failed else "all show"
        return f"{count(len(declared), 'run')} with a declared defect: {what} what is declared"
    broken = sum(not run.holds for run in runs)
    total = count(len(runs), "run")
    # A run that only misses an expectation violates no invariant.
    red = [run for run in runs if not run.holds]
    idle = all(run.not_exercised and not run.violated and run.not_exercised == len(run.unmet) for run in red)
    word = "violated" if all(run.violated for run in red) else "not exercised" if idle else "failed"
    return f"{total}: all hold" if not broken else f"{total}: {broken} {word}, {len(runs) - broken} hold"
