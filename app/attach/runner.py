"""Plays the tries of cells, several at a time, until every cell has those that it is to have."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from trunkline.app.attach.cells import CellRecord, FinishedTry, Trouble, next_cell, points_of
from trunkline.app.attach.gateways import state_folder
from trunkline.app.attach.interruption import not_interrupted, terminated_like_interrupted
from trunkline.app.attach.try_folder import TryFolder, judged
from trunkline.app.attach.worker_process import WorkerProcess
from trunkline.core.errors import UsageError
from trunkline.core.events.trace import read_trace
from trunkline.sim.attach.job import AttachJob, AttachOutcome

#: seconds between two looks at the processes
_LOOK = 0.05


class RunningTry:
    """A try that is being played."""

    def __init__(self, record: CellRecord, number: int, worker: WorkerProcess) -> None:
        self.record = record
        self.number = number
        self.worker = worker

    @property
    def trace(self) -> Path:
        """The trace file, which grows."""
        return Path(self.worker.job.trace)


class Watcher(Protocol):
    """The observer of a run's progress."""

    def started(self, running: RunningTry) -> None:
        """A try began."""
        ...

    def finished(self, record: CellRecord, finished: FinishedTry) -> None:
        """A try was played to its end."""
        ...

    def troubled(self, record: CellRecord, trouble: Trouble) -> None:
        """A try could not be played to its end."""
        ...

    def look(self, running: Sequence[RunningTry]) -> None:
        """Called again and again."""
        ...


class TryRunner:
    """Plays tries. `work`: a folder for the state of gateways; `keep`: where that of a bad try is moved to."""

    def __init__(self, folder: TryFolder, work: Path, watcher: Watcher, *, keep: Path | None = None) -> None:
        self._folder = folder
        self._work = work
        self._watcher = watcher
        self._keep = keep
        self._running: list[RunningTry] = []
        self._started = 0
        #: state folders that were kept
        self.kept: list[Path] = []

    def play(self, records: list[CellRecord], *, tries: int, more: int, jobs: int) -> None:
        """Play until every cell has its tries. However it ends, no process is left.

        A cell that is explored adds further ones to `records`, with what the folder has of them.

        Raises `UsageError` when nothing can be written any more, and `KeyboardInterrupt`; what is finished is kept.
        """
        try:
            with terminated_like_interrupted():
                while True:
                    self._add_points(records)
                    while len(self._running) < jobs and (record := next_cell(records, tries, more)) is not None:
                        self._start(record)
                    if not self._running:
                        return
                    time.sleep(_LOOK)
                    for ended in [ended for ended in self._running if ended.worker.over]:
                        self._take(ended)
                    self._watcher.look(self._running)
        finally:
            with not_interrupted():
                self._end_all()

    def _add_points(self, records: list[CellRecord]) -> None:
        for record in list(records):
            added = points_of(record)
            for point in added:
                point.finished.extend(self._folder.finished(point.cell))
            where = records.index(record) + 1
            records[where:where] = added

    def _start(self, record: CellRecord) -> None:
        cell, number = record.cell, record.take_number()
        self._started += 1
        folder = self._work / f"{self._started:04}"
        job = AttachJob(
            # As it was given: the command that repeats the try names it so. A worker has the same working directory.
            scenario=str(cell.file.path),
            profile=str(cell.gateway.path),
            install=str(cell.gateway.install),
            version=cell.gateway.version,
            folder=str(folder / "gateway"),
            trace=str(self._folder.trace_path(cell, number)),
            states=str(state_folder()),
            kill_at=cell.kill_at,
            patience=cell.patience,
            settle=cell.settle,
            options=cell.options,
        )
        started = RunningTry(record, number, WorkerProcess(job, folder))
        record.running += 1
        self._running.append(started)
        self._watcher.started(started)

    def _take(self, ended: RunningTry) -> None:
        """A worker has ended: judge what it recorded."""
        self._running.remove(ended)
        record = ended.record
        record.running -= 1
        outcome = ended.worker.outcome()
        found = self._judged(ended, outcome)
        if isinstance(found, Trouble):
            record.troubles.append(found)
            self._watcher.troubled(record, found)
        else:
            self._folder.keep(record.cell, found)
            record.finished.append(found)
            record.troubles.clear()
            self._watcher.finished(record, found)
        self._clear(ended, worth_keeping=isinstance(found, Trouble) or not found.run.holds)

    @staticmethod
    def _judged(ended: RunningTry, outcome: AttachOutcome) -> FinishedTry | Trouble:
        if outcome.problem:
            return Trouble(problem=outcome.problem, log=outcome.log)
        try:
            run, missed = judged(ended.record.cell, read_trace(ended.trace))
        except (UsageError, OSError) as error:
            return Trouble(problem=f"its trace cannot be read: {error}")
        return FinishedTry(
            number=ended.number,
            run=run,
            trace=ended.trace,
            missed=missed,
            seconds=ended.worker.seconds,
            notes=outcome.notes,
        )

    def _clear(self, ended: RunningTry, *, worth_keeping: bool) -> None:
        folder, cell = ended.worker.folder, ended.record.cell
        if self._keep is not None and worth_keeping:
            kept = self._keep / cell.gateway.name / cell.scenario / f"{cell.fingerprint}-{ended.number}"
            try:
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(folder, kept)
            except OSError as error:
                raise UsageError(f"{kept}: the folder of a try cannot be kept there: {error}") from error
            self.kept.append(kept)
        shutil.rmtree(folder, ignore_errors=True)

    def _end_all(self) -> None:
        """End every process that still runs; what such a try recorded does not count."""
        for running in self._running:
            running.worker.terminate()
        for running in self._running:
            running.worker.wait()
            running.record.running -= 1
            running.trace.unlink(missing_ok=True)
            self._clear(running, worth_keeping=False)
        self._running.clear()
