"""Plays the tries of cells, several at a time, until every cell has those that it is to have."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trunkline.app.attach.cells import CellRecord, FinishedTry, Trouble, next_cell, points_of, state_folder, tries_left
from trunkline.app.attach.report.finding import incidents_of
from trunkline.app.attach.try_folder import TryFolder, judged
from trunkline.app.terminal.output import print_lines, progress_bar
from trunkline.app.text.cells import clean, count, span
from trunkline.core.errors import UsageError
from trunkline.core.events.trace import read_trace
from trunkline.sim.attach.expectations import why_unjudged
from trunkline.sim.attach.job import AttachJob, AttachOutcome
from trunkline.sim.plugins import PluginError
from trunkline.sim.plugins.toolbox import toolbox_of

# Ctrl-C, SIGTERM and the end of a terminal, while processes and files are in hand.

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def terminated_like_interrupted() -> Generator[None, None, None]:
    """SIGTERM and SIGHUP raise `KeyboardInterrupt`, as Ctrl-C does."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt, _NAMES[1:]):
        yield


@contextmanager
def not_interrupted() -> Generator[None, None, None]:
    """Run a block to its end, within a bounded time; interruptions are ignored meanwhile."""
    with _handled(signal.SIG_IGN, _NAMES):
        yield


@contextmanager
def _handled(by: Callable[[int, Any], object] | signal.Handlers, names: tuple[str, ...]) -> Generator[None, None, None]:
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    before = {number: signal.signal(number, by) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


WORKER = "trunkline.sim.attach.worker"
#: seconds that a try may take at most: one that hangs must not hold everything that is still to be tried
LONGEST = 1800.0
#: seconds that a worker has to end its gateway before it is killed
END_WITHIN = 15.0
#: bytes that an outcome, or the error output of a worker, may need
_ROOM = 100_000
#: lines of the error output of a worker that failed
_LAST_LINES = 12


class WorkerProcess:
    """A worker that plays a try. `folder`: of its own, it gets the gateway's state, its log and the outcome."""

    def __init__(self, job: AttachJob, folder: Path) -> None:
        self.job = job
        self.folder = folder
        self.began = time.monotonic()
        #: why it was ended before its time
        self.ended_because = ""
        self._out, self._err = folder / "outcome.json", folder / "worker.log"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._out.open("wb") as out, self._err.open("wb") as err:
                self._process = subprocess.Popen(  # noqa: S603 -- this interpreter
                    [sys.executable, "-m", WORKER],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=err,
                    # Ctrl-C reaches the whole group of a terminal: this one ends when its parent says so.
                    start_new_session=True,
                )
        except OSError as error:
            raise UsageError(f"a try cannot be started in {folder}: {error.strerror or error}") from error
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already; its outcome says why
            self._process.stdin.write(msgspec.json.encode(job) + b"\n")
            self._process.stdin.close()

    @property
    def seconds(self) -> float:
        """Since its start."""
        return time.monotonic() - self.began

    @property
    def over(self) -> bool:
        """Whether it has ended. One that takes too long is ended."""
        if self._process.poll() is not None:
            return True
        if self.seconds > LONGEST:
            self.ended_because = f"the try did not end within {LONGEST:g} s"
            self.terminate()
            self.wait()
        return False

    def terminate(self) -> None:
        """Ask it to end its gateway and itself."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = END_WITHIN) -> None:
        """Wait for its end; one that does not end is killed, with its process group."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def outcome(self) -> AttachOutcome:
        """How the try ended; of a worker that failed, the end of its error output."""
        if self.ended_because:
            return AttachOutcome(problem=self.ended_because)
        code = self._process.returncode
        try:
            lines = self._out.read_bytes().strip().split(b"\n")
            return msgspec.json.decode(lines[-1], type=AttachOutcome)
        except (OSError, msgspec.DecodeError):
            problem = f"the process of the try ended with the code {code}{self._full_disk()}"
            return AttachOutcome(problem=problem, log=self._last_errors())

    def _full_disk(self) -> str:
        """Why it could say nothing of its end, if there was no room for it."""
        try:
            free = shutil.disk_usage(self.folder).free
        except OSError:
            return ""
        return f": the disk of {self.folder} is full, {free:,} bytes are free" if free < _ROOM else ""

    def _last_errors(self) -> tuple[str, ...]:
        try:
            text = self._err.read_bytes()[-20_000:].decode(errors="replace")
        except OSError:
            return ()
        return tuple(clean(line) for line in text.rstrip().split("\n")[-_LAST_LINES:] if line.strip())


#: seconds between two looks at the processes
_LOOK = 0.05


@dataclass(frozen=True, eq=False)
class RunningTry:
    record: CellRecord
    number: int
    worker: WorkerProcess

    @property
    def trace(self) -> Path:
        """The trace file, which grows."""
        return Path(self.worker.job.trace)


class TryRunner:
    """Plays tries. `work`: a folder for the state of gateways; `keep`: where that of a bad try is moved to."""

    def __init__(self, folder: TryFolder, work: Path, progress: "AttachProgress", *, keep: Path | None = None) -> None:
        self._folder = folder
        self._work = work
        self._progress = progress
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
                    self._progress.look(self._running)
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
            plugins=toolbox_of(cell.file).named,
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
        self._progress.started(started)

    def _take(self, ended: RunningTry) -> None:
        """A worker has ended: judge what it recorded."""
        self._running.remove(ended)
        record = ended.record
        record.running -= 1
        outcome = ended.worker.outcome()
        found = self._judged(ended, outcome)
        if isinstance(found, Trouble):
            record.troubles.append(found)
            self._progress.troubled(record, found)
        else:
            self._folder.keep(record.cell, found)
            record.finished.append(found)
            record.troubles.clear()
            self._progress.finished(record, found)
        self._clear(ended, worth_keeping=isinstance(found, Trouble) or not found.run.holds)

    @staticmethod
    def _judged(ended: RunningTry, outcome: AttachOutcome) -> FinishedTry | Trouble:
        if outcome.problem:
            return Trouble(problem=outcome.problem, log=outcome.log, final=outcome.final)
        try:
            run, missed = judged(ended.record.cell, read_trace(ended.trace))
        except PluginError as error:
            return Trouble(problem=error.facts, final=True)
        except (UsageError, OSError) as error:
            return Trouble(problem=f"its trace cannot be read: {error}")
        if why := why_unjudged(run.trace.events):
            return Trouble(problem=f"{ended.record.cell.gateway.name} {why}", final=True)
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


# The progress of many tries: lines of what ended, and at a terminal what runs, what was found and the time left.

#: width of the name of a cell
_WIDTH = 40
#: bytes at the end of a trace that are read for its last event
_TAIL = 65_536
#: seconds between two pictures
_EVERY = 0.5
#: a try is assumed to take so long until one has ended
_GUESS = 60.0


class _Kind(msgspec.Struct):
    kind: str = ""


def last_kind(trace: Path) -> str:
    """The kind of the last whole event of a trace that is being written; empty if there is none."""
    try:
        with trace.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            lines = file.read().split(b"\n")[:-1]
        return msgspec.json.decode(lines[-1], type=_Kind).kind if lines else ""
    except (OSError, msgspec.DecodeError):
        return ""


def time_left(records: Sequence[CellRecord], running: Sequence[float], *, tries: int, more: int, jobs: int) -> float:
    """Seconds until everything has ended, by what the tries of each gateway took. `running`: seconds of each so far."""
    every = [finished.seconds for record in records for finished in record.finished if finished.seconds]
    overall = sum(every) / len(every) if every else _GUESS
    total = 0.0
    for name in dict.fromkeys(record.cell.gateway.name for record in records):
        own = [record for record in records if record.cell.gateway.name == name]
        took = [finished.seconds for record in own for finished in record.finished if finished.seconds]
        total += tries_left(own, tries, more) * (sum(took) / len(took) if took else overall)
    return max(0.0, total - sum(min(elapsed, overall) for elapsed in running)) / max(1, jobs)


class AttachProgress:
    """Prints what ends, and draws what runs."""

    def __init__(self, records: Sequence[CellRecord], *, tries: int, more: int, jobs: int) -> None:
        self._records, self._tries, self._more, self._jobs = records, tries, more, jobs
        #: draws the bar, while one is shown
        self._update: Callable[..., object] | None = None
        self._drawn = 0.0
        self._said: set[str] = set()

    def started(self, running: RunningTry) -> None:
        """The first try says where its trace can be followed."""
        if not self._said:
            self._say(f"follow it in another terminal: trunkline watch {running.trace}")
            self._said.add("")

    def finished(self, record: CellRecord, finished: FinishedTry) -> None:
        """A try was played to its end."""
        run = finished.run
        for note in (*finished.notes, *incidents_of(run.trace.events, record.cell.gateway.name)):
            if note not in self._said:
                self._said.add(note)
                first, *rest = note.split("\n")
                self._say(f"! {first}", *(f"    {line}" for line in rest))
        found = f"violated: {' '.join(run.violated)}" if run.violated else "holds"
        if run.unmet:
            found += f", {count(len(run.unmet), 'expectation')} missed"
        if finished.missed and run.holds:
            found = "not everything of the script happened"
        of = record.wanted(self._tries, self._more)
        sign = "✗" if not run.holds else "–" if finished.missed else "✓"
        self._say(
            f"{sign} {record.cell.name:<{_WIDTH}} try {finished.number} of {of} · {found} · {span(finished.seconds)}"
        )

    def troubled(self, record: CellRecord, trouble: Trouble) -> None:
        """A try could not be played to its end."""
        first, *rest = trouble.problem.split("\n")
        self._say(f"! {record.cell.name:<{_WIDTH}} {first}", *(f"    {line}" for line in (*rest, *trouble.log)))

    def look(self, running: Sequence[RunningTry]) -> None:
        """Draw what runs, some times a second."""
        now = time.monotonic()
        if self._update is None or now - self._drawn < _EVERY:
            return
        self._drawn = now
        done = sum(len(record.finished) for record in self._records)
        left = tries_left(self._records, self._tries, self._more)
        bad = sum(record.violated for record in self._records)
        so_far = [running_try.worker.seconds for running_try in running]
        seconds = time_left(self._records, so_far, tries=self._tries, more=self._more, jobs=self._jobs)
        what = ", ".join(clean(_running(running_try)) for running_try in running)
        # Before a try has ended nothing is known of how long they take.
        left_words = f" · about {span(seconds)} left" if done else ""
        text = f"{count(bad, 'scenario')} violated{left_words} · {what}"
        self._update(completed=done, total=done + left, description=text, refresh=True)

    @staticmethod
    def _say(*lines: str) -> None:
        # None is what sys.stdout is when a line is printed: a progress bar replaces it meanwhile.
        print_lines(*lines, flush=True)

    @contextmanager
    def shown(self) -> Generator[None, None, None]:
        """Show a progress bar on standard error at a terminal; otherwise only the lines of what ended."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn

        columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
        with progress_bar("starting", None, *columns) as self._update:
            try:
                yield
            finally:
                self._update = None


def _running(running: RunningTry) -> str:
    kind = last_kind(running.trace)
    return f"{running.record.cell.name} {span(running.worker.seconds)}{f' {kind}' if kind else ''}"
