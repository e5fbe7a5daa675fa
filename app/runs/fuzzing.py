"""Plays random scenarios in worker processes, groups what is found by its cause, and has each cause made smaller.

Results are taken in the order of the seeds, and a search for a smaller scenario ends after a number of runs: the same
seeds give the same report, however many workers there are.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from itertools import count as numbers
from pathlib import Path

import msgspec

from trunkline.app.runs.exploration_pool import worker_processes
from trunkline.core.errors import TrunklineError, UsageError
from trunkline.sim.fuzz.finding_file import finding_text, shrink_finding
from trunkline.sim.fuzz.generator import Tree, make_scenario
from trunkline.sim.fuzz.shrink import BUDGET, Shrunk, bare
from trunkline.sim.fuzz.trial import OWN_KINDS, FuzzFinding, Trial, try_seed, try_tree
from trunkline.sim.invariants import INVARIANTS
from trunkline.sim.scenario import ScenarioFile, load_scenario
from trunkline.sim.scenario.edit import tree_of

#: scenarios that a worker is given at once, and how many times that is submitted ahead
_CHUNK = 4
_AHEAD = 3


class FuzzPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Which random scenarios are played."""

    first: int = 1
    #: the last seed; none: until the time is over
    last: int | None = None
    #: seconds after which no further scenario is begun; none: until the last seed
    seconds: float | None = None
    focus: str = ""
    bugs: tuple[str, ...] = ()
    workers: int = 1
    #: the folder of the findings, which are played first
    corpus: Path

    def command(self, seed: int) -> str:
        options = "".join(f" --bug {bug}" for bug in self.bugs) + (f" --focus {self.focus}" if self.focus else "")
        return f"trunkline fuzz --seeds {seed}..{seed}{options}"


class Cause(msgspec.Struct, kw_only=True):
    """Findings of one kind and culprit."""

    finding: FuzzFinding
    #: the seed of the first; none: a file of the corpus
    seed: int | None
    #: the smallest scenario so far, and how many steps it has
    file: Path
    steps: int
    times: int = 1
    #: whether a search for a smaller one came to its end
    minimal: bool = False


class Campaign(msgspec.Struct, kw_only=True):
    """The counters and the causes so far."""

    plan: FuzzPlan
    scenarios: int = 0
    #: files of the corpus that were played
    replayed: int = 0
    #: events of all runs by kind, and in how many scenarios there was one
    counts: Counter[str] = msgspec.field(default_factory=Counter[str])
    reached: Counter[str] = msgspec.field(default_factory=Counter[str])
    causes: dict[tuple[str, str], Cause] = {}
    #: files of the corpus that cannot be read
    unread: list[str] = []

    def add(self, trial: Trial) -> list[FuzzFinding]:
        """Count a trial. Returns those of its findings that have a new cause."""
        self.counts.update(trial.counts)
        self.reached.update(trial.counts.keys())
        new = list[FuzzFinding]()
        for finding in trial.findings:
            if finding.cause in self.causes:
                self.causes[finding.cause].times += 1
            else:
                new.append(finding)
        return new


def play_seeds(seeds: Sequence[int], plan: FuzzPlan) -> list[Trial]:
    """Play the scenarios of some seeds; what a worker does."""
    return [try_seed(seed, plan.focus, plan.bugs) for seed in seeds]


def shrink_seed(seed: int, plan: FuzzPlan, finding: FuzzFinding, name: str) -> tuple[str, int, bool]:
    """The file of the smallest scenario with a finding, its steps, and whether nothing can be taken away."""
    shrunk = shrink_finding(make_scenario(seed, plan.focus), finding, plan.bugs)
    text = finding_text(shrunk.tree, finding, plan.bugs, found_by=plan.command(seed), name=name)
    return text, len(shrunk.tree["script"]), shrunk.minimal


def fuzz(campaign: Campaign, write: Callable[[Path, bytes], None]) -> Iterator[None]:
    """Play the corpus, then random scenarios. Yields after each step; every new cause has its file at once.

    `write` writes a file, whole.
    """
    plan = campaign.plan
    for path in sorted(plan.corpus.glob("*.yaml")):
        _replay(campaign, path)
        yield
    deadline = None if plan.seconds is None else time.monotonic() + plan.seconds
    with worker_processes(plan.workers) as submit:
        waiting: deque[tuple[Sequence[int], Future[list[Trial]]]] = deque()
        smaller: list[tuple[Cause, Future[tuple[str, int, bool]]]] = []
        for seeds in _chunks(plan):
            while len(waiting) >= (1 if plan.workers == 1 else plan.workers * _AHEAD):
                _take(campaign, waiting, smaller, submit, write)
                yield
            if deadline is not None and time.monotonic() >= deadline:
                break
            waiting.append((seeds, submit(play_seeds, seeds, plan)))
        while waiting:
            _take(campaign, waiting, smaller, submit, write)
            yield
        for cause, future in smaller:
            text, cause.steps, cause.minimal = future.result()
            write(cause.file, text.encode())
            yield


def _chunks(plan: FuzzPlan) -> Iterator[Sequence[int]]:
    for start in numbers(plan.first, _CHUNK):
        end = start + _CHUNK if plan.last is None else min(start + _CHUNK, plan.last + 1)
        if end <= start:
            return
        yield range(start, end)


def _replay(campaign: Campaign, path: Path) -> None:
    """Play a file of the corpus: what it found may be there still."""
    try:
        file = load_scenario(path)
        tree = tree_of(file.scenario)
        trial = try_tree(tree, campaign.plan.bugs)
    except TrunklineError as error:
        campaign.unread.append(str(error))
        return
    campaign.replayed += 1
    for finding in campaign.add(trial):
        steps = len(file.scenario.script)
        campaign.causes[finding.cause] = Cause(finding=finding, seed=None, file=path, steps=steps, minimal=True)


def _take(
    campaign: Campaign,
    waiting: deque[tuple[Sequence[int], Future[list[Trial]]]],
    smaller: list[tuple[Cause, Future[tuple[str, int, bool]]]],
    submit: Callable[..., Future[tuple[str, int, bool]]],
    write: Callable[[Path, bytes], None],
) -> None:
    """Take the next results. What has a new cause is written at once, and then made smaller."""
    seeds, future = waiting.popleft()
    for seed, trial in zip(seeds, future.result(), strict=True):
        campaign.scenarios += 1
        for finding in campaign.add(trial):
            cause = _keep(campaign, seed, finding, write)
            if finding.kind != "TWICE":
                smaller.append((cause, submit(shrink_seed, seed, campaign.plan, finding, str(cause.file))))


def _keep(campaign: Campaign, seed: int, finding: FuzzFinding, write: Callable[[Path, bytes], None]) -> Cause:
    """Write the scenario of a finding as it was made."""
    plan = campaign.plan
    plan.corpus.mkdir(parents=True, exist_ok=True)
    culprit = "".join(char if char.isalnum() else "-" for char in finding.culprit.lower())[:40].strip("-")
    file = plan.corpus / f"{'-'.join(filter(None, (finding.kind, culprit, str(seed))))}.yaml"
    tree: Tree = make_scenario(seed, plan.focus)
    text = finding_text(tree, finding, plan.bugs, found_by=plan.command(seed), name=str(file))
    write(file, text.encode())
    cause = Cause(finding=finding, seed=seed, file=file, steps=len(tree["script"]))
    campaign.causes[finding.cause] = cause
    return cause


class SmallFile(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario file, made smaller."""

    finding: FuzzFinding
    shrunk: Shrunk
    text: str
    #: steps of the script, and how many there were
    steps: int
    before: int
    smaller: bool


def shrink_file(
    file: ScenarioFile,
    bugs: Sequence[str],
    target: Path,
    *,
    invariant: str | None = None,
    seed: int | None = None,
    runs: int = BUDGET,
) -> SmallFile:
    """Make a scenario smaller, under its own seed or another one.

    Raises `UsageError` if nothing is wrong with it, or not what is asked for.
    """
    if invariant is not None and invariant not in INVARIANTS and invariant not in OWN_KINDS:
        raise UsageError(f"--invariant {invariant}: there are {', '.join((*INVARIANTS, *OWN_KINDS))}")
    tree = {**tree_of(file.scenario), **({} if seed is None else {"seed": seed})}
    found = [of for of in try_tree(tree, bugs, expected=True).findings if invariant in (None, of.kind)]
    if not found:
        options = "".join(f" --bug {bug}" for bug in bugs)
        what = "holds" if invariant is None else f"does not violate {invariant}"
        raise UsageError(f"{file.path}: the scenario {what}; `trunkline run {file.path}{options}` says what it shows")
    shrunk = shrink_finding(tree, found[0], bugs, budget=runs)
    command = f"trunkline shrink {file.path}" + "".join(f" --bug {bug}" for bug in bugs)
    text = finding_text(shrunk.tree, found[0], bugs, found_by=command, name=str(target))
    steps, before = len(shrunk.tree["script"]), len(file.scenario.script)
    smaller = shrunk.tree != bare(tree)
    return SmallFile(finding=found[0], shrunk=shrunk, text=text, steps=steps, before=before, smaller=smaller)
