"""The progress of many tries: lines of what ended, and at a terminal what runs, what was found and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trunkline.app.attach.cells import CellRecord, FinishedTry, Trouble, tries_left
from trunkline.app.attach.incidents import incidents_of
from trunkline.app.attach.runner import RunningTry
from trunkline.app.terminal.output import print_lines
from trunkline.app.text.cells import clean, count, span

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

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
    """Prints what ends, and draws what runs. `Watcher` of the runner."""

    def __init__(self, records: Sequence[CellRecord], *, tries: int, more: int, jobs: int) -> None:
        self._records, self._tries, self._more, self._jobs = records, tries, more, jobs
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._drawn = 0.0
        self._said: set[str] = set()

    # ------------------------------------------------------------ what the runner reports

    def started(self, running: RunningTry) -> None:
        """The first try says where its trace can be followed."""
        if not self._said:
            self._say(f"follow it in another terminal: trunkline watch {running.trace}")
            self._said.add("")

    def finished(self, record: CellRecord, finished: FinishedTry) -> None:
        """A line for a try that ended."""
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
        """The problem of a try, with the end of the gateway's log."""
        first, *rest = trouble.problem.split("\n")
        self._say(f"! {record.cell.name:<{_WIDTH}} {first}", *(f"    {line}" for line in (*rest, *trouble.log)))

    def look(self, running: Sequence[RunningTry]) -> None:
        """Draw what runs, some times a second."""
        now = time.monotonic()
        if self._bar is None or self._task is None or now - self._drawn < _EVERY:
            return
        self._drawn = now
        done = sum(len(record.finished) for record in self._records)
        left = tries_left(self._records, self._tries, self._more)
        bad = sum(record.violated for record in self._records)
        seconds = time_left(
            self._records,
            [running_try.worker.seconds for running_try in running],
            tries=self._tries,
            more=self._more,
            jobs=self._jobs,
        )
        what = ", ".join(clean(_running(running_try)) for running_try in running)
        # Before a try has ended nothing is known of how long they take.
        left_words = f" · about {span(seconds)} left" if done else ""
        text = f"{count(bad, 'scenario')} violated{left_words} · {what}"
        self._bar.update(self._task, completed=done, total=done + left, description=text, refresh=True)

    @staticmethod
    def _say(*lines: str) -> None:
        # None is what sys.stdout is when a line is printed: a progress bar replaces it meanwhile.
        print_lines(*lines, flush=True)

    @contextmanager
    def shown(self) -> Generator[None, None, None]:
        """Show a progress bar on standard error at a terminal; otherwise only the lines of what ended."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
        # Its own thread would be copied into the processes that are started meanwhile.
        with Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
            auto_refresh=False,
        ) as bar:
            self._bar, self._task = bar, bar.add_task("starting", total=None)
            try:
                yield
            finally:
                self._bar = None


def _running(running: RunningTry) -> str:
    kind = last_kind(running.trace)
    return f"{running.record.cell.name} {span(running.worker.seconds)}{f' {kind}' if kind else ''}"
