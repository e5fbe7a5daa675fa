"""Runs many scenarios in a thread; each result arrives as a message."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Event
from typing import Any

import msgspec
from textual.message import Message
from textual.screen import Screen

from trunkline.app.runs.model import RunSource, ScenarioEntry
from trunkline.app.text.cells import error_text
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.picker.scenario_results import ScenarioResult, result_of
from trunkline.core.errors import UsageError


class BatchJob(msgspec.Struct, frozen=True, kw_only=True):
    """A scenario to run, with or without its defect."""

    entry: ScenarioEntry
    seed: int
    bugs: tuple[str, ...]


class RunFinished(Message):
    """Posted when a run of a batch has ended."""

    def __init__(self, batch: int, job: BatchJob, result: ScenarioResult) -> None:
        super().__init__()
        self.batch = batch
        self.job = job
        self.result = result


def jobs_of(entries: Sequence[ScenarioEntry]) -> list[BatchJob]:
    """Each scenario without its defect, and once more with it; always with its own seed."""
    return [
        BatchJob(entry=entry, seed=entry.seed or 0, bugs=bugs)
        for entry in entries
        for bugs in (((), entry.bugs) if entry.bugs else ((),))
    ]


def result_for(source: RunSource, job: BatchJob) -> ScenarioResult:
    """Run one job. A scenario that cannot be run gives a failed result."""
    try:
        return result_of(source.run(job.entry, seed=job.seed, bugs=job.bugs))
    except UsageError as error:
        return ScenarioResult(seed=job.seed, failed=error_text(error))


class BatchRun:
    """The batch of the picker: starts, stops, and reports progress."""

    def __init__(self, screen: Screen[Any], workspace: Workspace) -> None:
        self._screen = screen
        self._desk = workspace
        #: set to end the current batch; none while no batch runs
        self._ended: Event | None = None
        self._number = 0
        self._total = self._done = 0

    @property
    def progress(self) -> str:
        """The progress; blank while no batch runs."""
        return f"running {self._done} of {self._total}" if self._ended is not None else ""

    def start(self, entries: Sequence[ScenarioEntry]) -> None:
        """Run these in a thread."""
        jobs = jobs_of(entries)
        if not jobs:
            return
        self._number += 1
        self._total, self._done = len(jobs), 0
        self._ended = Event()
        work = partial(self._run, self._number, jobs, self._ended)
        self._screen.run_worker(work, thread=True, group="all")

    def stop(self) -> bool:
        """End the batch after its current run. Returns false if none was running."""
        if self._ended is None:
            return False
        self._ended.set()
        self._ended = None
        return True

    def take(self, message: RunFinished) -> None:
        self._desk.results.note(message.job.entry, message.result, defect=bool(message.job.bugs))
        if message.batch == self._number and self._ended is not None:
            self._done += 1
            if self._done == self._total:
                self._ended = None

    def _run(self, number: int, jobs: Sequence[BatchJob], ended: Event) -> None:
        for job in jobs:
            if ended.is_set():
                return
            self._screen.post_message(RunFinished(number, job, result_for(self._desk.source, job)))
