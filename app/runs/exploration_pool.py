"""Explorations spread over processes: a run takes milliseconds, and none knows of another."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager

import msgspec

from trunkline.app.runs.exploration import Exploration
from trunkline.sim import ScenarioFile
from trunkline.sim.explore import Explorer, Sampling, Tried
from trunkline.sim.explore.crash_plan import Trial

#: trials that a worker is given at once: some tenths of a second
_CHUNK = 16
#: chunks for each worker that are under way or waiting
_AHEAD = 3


class ExplorationJob(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario to be explored under one seed."""

    file: ScenarioFile
    seed: int
    bugs: tuple[str, ...]


class _Worker:
    """Tries what it is given. Chunks of one scenario come one after another, so one explorer is kept."""

    def __init__(self, jobs: Sequence[ExplorationJob]) -> None:
        self._jobs = jobs
        self._explorer: tuple[int, Explorer] | None = None

    def explorer(self, number: int) -> Explorer:
        """The explorer of a job."""
        if self._explorer is None or self._explorer[0] != number:
            job = self._jobs[number]
            self._explorer = number, Explorer(job.file, seed=job.seed, bugs=job.bugs)
        return self._explorer[1]

    def attempt(self, number: int, trials: Sequence[Trial]) -> list[Tried]:
        """Try these, in order."""
        explorer = self.explorer(number)
        return [tried for trial in trials for tried in explorer.attempt(trial)]


#: the worker of this process, if it is one
_own: list[_Worker] = []


def _begin(jobs: Sequence[ExplorationJob]) -> None:
    # Ctrl-C reaches all processes of a terminal; the one that it is meant for tells the others when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _be_quick()
    _own.append(_Worker(jobs))


def _attempt(number: int, trials: Sequence[Trial]) -> list[Tried]:
    return _own[0].attempt(number, trials)


def _be_quick() -> None:
    # Runs leave little behind, and what is loaded by now stays: the collector need not look often, nor at all of it.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


def cpu_seconds() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def explore(jobs: Sequence[ExplorationJob], sampling: Sampling, workers: int) -> Iterator[Exploration]:
    """Explore jobs in order. Gives what is known of a job after each chunk of its runs, until none is left."""
    local = _Worker(jobs)
    with _pool(jobs, workers, local) as submit:
        waiting: deque[tuple[Exploration, Future[list[Tried]]]] = deque()
        ahead = workers * _AHEAD if workers > 1 else 1
        for number in range(len(jobs)):
            explorer = local.explorer(number)
            trials = explorer.plan(sampling)
            found = Exploration.of(explorer, 1 + sum(1 + trial.second for trial in trials))
            chunks = [trials[start : start + _CHUNK] for start in range(0, len(trials), _CHUNK)]
            found.left = len(chunks)
            for chunk in chunks:
                waiting.append((found, submit(number, chunk)))
                if len(waiting) >= ahead:
                    yield _take(waiting)
            if not chunks:
                yield found
        while waiting:
            yield _take(waiting)


def _take(waiting: deque[tuple[Exploration, Future[list[Tried]]]]) -> Exploration:
    found, future = waiting.popleft()
    found.add(future.result())
    found.left -= 1
    return found


_Submit = Callable[[int, Sequence[Trial]], "Future[list[Tried]]"]


@contextmanager
def _pool(jobs: Sequence[ExplorationJob], workers: int, local: _Worker) -> Generator[_Submit, None, None]:
    """Something to submit chunks to: processes, or this one where one is enough."""
    if workers == 1:
        usual = gc.get_threshold()
        _be_quick()
        try:
            yield _at_once(local)
        finally:
            gc.unfreeze()
            gc.set_threshold(*usual)
        return
    # Forking is cheap and safe here: no thread runs yet. Elsewhere than on Linux it is not.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(jobs,))
    try:
        yield lambda number, trials: pool.submit(_attempt, number, trials)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _at_once(worker: _Worker) -> _Submit:
    def submit(number: int, trials: Sequence[Trial]) -> Future[list[Tried]]:
        future: Future[list[Tried]] = Future()
        future.set_result(worker.attempt(number, trials))
        return future

    return submit
