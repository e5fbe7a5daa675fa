"""Spreads an exploration over processes: its runs take milliseconds and are independent."""

import multiprocessing
import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

import msgspec

from trunkline.app import gc_policy
from trunkline.app.runs.model import RunJob
from trunkline.core.events.trace import TraceHeader
from trunkline.sim import CrashAt, ScenarioFile
from trunkline.sim.explore import CrashRun, Explorer, Sampling
from trunkline.sim.explore.crash_plan import CrashTrial
from trunkline.sim.plugins.toolbox import toolbox_of


class Finding(msgspec.Struct):
    #: number of runs that show it; of a difference, number of intents
    times: int
    summary: str
    first: CrashRun


class Exploration(msgspec.Struct, kw_only=True):
    file: ScenarioFile
    seed: int
    bugs: tuple[str, ...]
    #: points at which a process can be ended
    commits: int
    steps: int
    #: planned runs, including the one without a crash; fewer may have a second crash than planned
    planned: int
    #: chunks of the plan that are still to come
    left: int = 0
    #: runs so far, including those that stand for themselves because another one is the same
    runs: int = 0
    #: of these, kills that were not played because another kill leads to the same run
    same: int = 0
    #: runs with a violation
    violated: int = 0
    #: crashes that happened, by kind: ``kill commit``, ``stop step``, ...
    fired: Counter[str] = msgspec.field(default_factory=Counter[str])
    #: crashes during the recovery from another one
    inside: int = 0
    #: stops that another end of the process preceded
    overtaken: int = 0
    #: violations, by invariant or promise
    breaches: dict[str, Finding] = {}
    #: runs in which people see something else than without a crash
    different: Finding | None = None

    @classmethod
    def of(cls, explorer: Explorer, planned: int) -> "Exploration":
        """The results with only the run without a crash."""
        found = cls(
            file=explorer.file,
            seed=explorer.seed,
            bugs=explorer.bugs,
            commits=len(explorer.points.commits),
            steps=len(explorer.points.steps),
            planned=planned,
        )
        found.add(explorer.sound)
        return found

    @property
    def holds(self) -> bool:
        return not self.violated

    def add(self, run: CrashRun) -> None:
        """Count a run."""
        times = 1 + len(run.same)
        self.runs += times
        self.same += len(run.same)
        self.violated += 0 if run.holds else times
        fired = (*run.crashes[: run.fired], *(run.same if run.fired else ()))
        self.fired.update(f"{crash.kind} {crash.what}" for crash in fired)
        self.inside += max(0, run.fired - 1)
        self.overtaken += run.overtaken
        for name in dict.fromkeys(breach.id for breach in run.breaches):
            summary = next(breach.summary for breach in run.breaches if breach.id == name)
            self.breaches.setdefault(name, Finding(0, summary, run)).times += times
        if run.differences:
            self.different = self.different or Finding(0, "; ".join(run.differences), run)
            self.different.times += times

    def header(self, crashes: tuple[CrashAt, ...]) -> TraceHeader:
        """The header of a run, for the command that repeats it."""
        return TraceHeader(
            scenario=self.file.id,
            title=self.file.scenario.title,
            path=self.file.path.as_posix(),
            seed=self.seed,
            bugs=self.bugs,
            crashes=tuple(crash.name for crash in crashes),
            plugins=toolbox_of(self.file).named,
        )


#: trials in a chunk: some tenths of a second of work
_CHUNK = 16
#: chunks per worker that are submitted ahead
_AHEAD = 3


class _Worker:
    """Runs trials. The chunks of a scenario come one after another, so it keeps one explorer."""

    def __init__(self, jobs: Sequence[RunJob]) -> None:
        self._jobs = jobs
        self._explorer: tuple[int, Explorer] | None = None

    def explorer(self, number: int) -> Explorer:
        """The explorer of a job, kept until the next job."""
        if self._explorer is None or self._explorer[0] != number:
            job = self._jobs[number]
            self._explorer = number, Explorer(job.file, seed=job.seed, bugs=job.bugs)
        return self._explorer[1]

    def attempt(self, number: int, trials: Sequence[CrashTrial]) -> list[CrashRun]:
        explorer = self.explorer(number)
        return [tried for trial in trials for tried in explorer.attempt(trial)]


#: the worker of this process, if it is a worker process
_own: list[_Worker] = []


def _begin(jobs: Sequence[RunJob]) -> None:
    # Ctrl-C reaches all processes of a terminal; the parent ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc_policy.tune_worker()
    _own.append(_Worker(jobs))


def _attempt(number: int, trials: Sequence[CrashTrial]) -> list[CrashRun]:
    return _own[0].attempt(number, trials)


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def explore(jobs: Sequence[RunJob], sampling: Sampling, workers: int) -> Iterator[Exploration]:
    """Explore jobs in order. Yields the results of a job after each chunk of its runs."""
    local = _Worker(jobs)
    attempt = local.attempt if workers == 1 else _attempt
    with worker_processes(workers, jobs) as submit:
        waiting: deque[tuple[Exploration, Future[list[CrashRun]]]] = deque()
        ahead = workers * _AHEAD if workers > 1 else 1
        for number in range(len(jobs)):
            explorer = local.explorer(number)
            trials = explorer.plan(sampling)
            found = Exploration.of(explorer, 1 + sum(trial.runs for trial in trials))
            chunks = [trials[start : start + _CHUNK] for start in range(0, len(trials), _CHUNK)]
            found.left = len(chunks)
            for chunk in chunks:
                waiting.append((found, submit(attempt, number, chunk)))
                if len(waiting) >= ahead:
                    yield _take(waiting)
            if not chunks:
                yield found
        while waiting:
            yield _take(waiting)


def _take(waiting: deque[tuple[Exploration, Future[list[CrashRun]]]]) -> Exploration:
    found, future = waiting.popleft()
    for run in future.result():
        found.add(run)
    found.left -= 1
    return found


@contextmanager
def worker_processes(workers: int, jobs: Sequence[RunJob] = ()) -> Generator[Callable[..., Future[Any]]]:
    """A function that submits a call to worker processes or, for one worker, makes it here."""
    if workers == 1:
        with gc_policy.worker():
            yield _run_here
        return
    # Forking is cheap and safe here, since no thread runs yet; on other systems than Linux it is not safe.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(jobs,))
    try:
        yield pool.submit
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _run_here(function: Callable[..., Any], *given: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(function(*given))
    return future
