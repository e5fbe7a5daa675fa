"""Spreads an exploration over processes: its runs take milliseconds and are independent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial

from trunkline.app import gc_policy
from trunkline.app.runs.exploration import Exploration
from trunkline.app.runs.model import RunJob
from trunkline.sim.explore import CrashRun, Explorer, Sampling
from trunkline.sim.explore.crash_plan import CrashTrial

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
    with _pool(jobs, workers, local) as submit:
        waiting: deque[tuple[Exploration, Future[list[CrashRun]]]] = deque()
        ahead = workers * _AHEAD if workers > 1 else 1
        for number in range(len(jobs)):
            explorer = local.explorer(number)
            trials = explorer.plan(sampling)
            found = Exploration.of(explorer, 1 + sum(trial.runs for trial in trials))
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


def _take(waiting: deque[tuple[Exploration, Future[list[CrashRun]]]]) -> Exploration:
    found, future = waiting.popleft()
    found.add(future.result())
    found.left -= 1
    return found


_Submit = Callable[[int, Sequence[CrashTrial]], "Future[list[CrashRun]]"]


@contextmanager
def _pool(jobs: Sequence[RunJob], workers: int, local: _Worker) -> Generator[_Submit, None, None]:
    """A function that submits a chunk, to worker processes or, for one worker, to this process."""
    if workers == 1:
        with gc_policy.worker():
            yield partial(_run_here, local)
        return
    # Forking is cheap and safe here, since no thread runs yet; on other systems than Linux it is not safe.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(jobs,))
    try:
        yield partial(pool.submit, _attempt)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _run_here(worker: _Worker, number: int, trials: Sequence[CrashTrial]) -> Future[list[CrashRun]]:
    future: Future[list[CrashRun]] = Future()
    future.set_result(worker.attempt(number, trials))
    return future
