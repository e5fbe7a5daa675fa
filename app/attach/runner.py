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
    """What is notified of the progress."""

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
                    for one in [one for one in self._running if one.worker.over]:
                        self._take(one)
                    self._watcher.look(self._running)
        finally:
            with not_interrupted():
                self._end_all()

    def _add_points(self, records: list[CellRecord]) -> None:
        for record in list(records):
            added = points_of(record)
            for one in added:
                one.finished.extend(self._folder.finished(one.cell))
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
        one = RunningTry(record, number, WorkerProcess(job, folder))
        record.running += 1
        self._running.append(one)
        self._watcher.started(one)

    def _take(self, one: RunningTry) -> None:
        """A worker has ended: judge what it recorded."""
        self._running.remove(one)
        record = one.record
        record.running -= 1
        outcome = one.worker.outcome()
        found = self._judged(one, outcome)
        if isinstance(found, Trouble):
            record.troubles.append(found)
            self._watcher.troubled(record, found)
        else:
            self._folder.keep(record.cell, found)
            record.finished.append(found)
            record.troubles.clear()
            self._watcher.finished(record, found)
        self._clear(one, worth_keeping=isinstance(found, Trouble) or not found.run.holds)

    @staticmethod
    def _judged(one: RunningTry, outcome: AttachOutcome) -> FinishedTry | Trouble:
        if outcome.problem:
            return Trouble(problem=outcome.problem, log=outcome.log)
        try:
            run, missed = judged(one.record.cell, read_trace(one.trace))
        except (UsageError, OSError) as error:
            return Trouble(problem=f"its trace cannot be read: {error}")
        return FinishedTry(
            number=one.number, run=run, trace=one.trace, missed=missed, seconds=one.worker.seconds, notes=outcome.notes
        )

    def _clear(self, one: RunningTry, *, worth_keeping: bool) -> None:
        folder, cell = one.worker.folder, one.record.cell
        if self._keep is not None and worth_keeping:
            kept = self._keep / cell.gateway.name / cell.scenario / f"{cell.fingerprint}-{one.number}"
            try:
                kept.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(folder, kept)
            except OSError as error:
                raise UsageError(f"{kept}: the folder of a try cannot be kept there: {error}") from error
            self.kept.append(kept)
        shutil.rmtree(folder, ignore_errors=True)

    def _end_all(self) -> None:
        """End every process that still runs; what such a try recorded does not count."""
        for one in self._running:
            one.worker.terminate()
        for one in self._running:
            one.worker.wait()
            one.record.running -= 1
            one.trace.unlink(missing_ok=True)
            self._clear(one, worth_keeping=False)
        self._running.clear()
