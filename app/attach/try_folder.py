"""The folder of a report: it keeps finished tries, so that the same command goes on where it was interrupted.

    DIR/trunkline-attach.json                             says that the folder is one of ours
    DIR/tries/GATEWAY/SCENARIO/FINGERPRINT/1.jsonl        the trace of a try
    DIR/tries/GATEWAY/SCENARIO/FINGERPRINT/1.json         how it ended; written last

Verdicts are not kept: they are a function of the trace, and are computed again.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from trunkline.app.attach.cells import Cell, FinishedTry
from trunkline.app.report.json_junit import write_whole
from trunkline.app.runs.model import Run
from trunkline.core.errors import UsageError
from trunkline.core.events import Trace, read_trace
from trunkline.sim import judge
from trunkline.sim.attach.expectations import check_attached, not_struck
from trunkline.sim.plugins.toolbox import toolbox_of

MARKER = "trunkline-attach.json"
#: version of the layout
LAYOUT = 1


class _Marker(msgspec.Struct, frozen=True):
    trunkline_attach: int


class _Ended(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    seconds: float
    notes: tuple[str, ...] = ()


def judged(cell: Cell, trace: Trace) -> tuple[Run, tuple[str, ...]]:
    """A run with its verdicts, and what of its script did not happen.

    Expectations are about the scenario as it is: without a further kill, and with everything that it has happen.
    """
    missed = not_struck(trace.events)
    verdicts = judge(trace.events, toolbox_of(cell.file).checkers)
    plain = cell.kill_at is None and not missed
    unmet = check_attached(cell.file, trace.events, verdicts) if plain else ()
    return Run(trace=trace, verdicts=verdicts, unmet=unmet), missed


class TryFolder:
    """Finished tries on disk. Raises `UsageError` for a folder that cannot be written, or has other files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self._lock: int | None = None
        self._open()

    def _open(self) -> None:
        folder, marker = self.folder, self.folder / MARKER
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not marker.exists():
                if any(folder.iterdir()):
                    raise UsageError(
                        f"{folder} has other files, and is no report of `trunkline attach`: name a new folder, "
                        "or an empty one. Nothing was written"
                    )
                write_whole(marker, msgspec.json.encode(_Marker(LAYOUT)) + b"\n")
            else:
                self._check(marker)
        except FileExistsError as error:
            raise UsageError(f"{folder} is a file: name a folder for the report") from error
        except OSError as error:
            raise UsageError(f"{folder}: the report cannot be written there: {error.strerror or error}") from error
        self._take()

    @staticmethod
    def _check(marker: Path) -> None:
        try:
            found = msgspec.json.decode(marker.read_bytes(), type=_Marker)
        except msgspec.DecodeError as error:
            raise UsageError(f"{marker}: not written by `trunkline attach` ({error}): name another folder") from error
        if found.trunkline_attach != LAYOUT:
            raise UsageError(
                f"{marker}: layout {found.trunkline_attach} of another version of Trunkline, this one writes "
                f"{LAYOUT}: name another folder"
            )

    def _take(self) -> None:
        """Two commands in one folder would overwrite each other's tries."""
        try:
            import fcntl
        except ImportError:  # not on this system
            return
        descriptor = os.open(self.folder / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise UsageError(f"{self.folder}: another `trunkline attach` writes there: wait for it to end") from error
        self._lock = descriptor

    def close(self) -> None:
        """Let others write there."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def trace_path(self, cell: Cell, number: int) -> Path:
        """Where the trace of a try goes. Raises `UsageError`."""
        folder = self._tries(cell)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: {error.strerror or error}") from error
        return folder / f"{number}.jsonl"

    def keep(self, cell: Cell, finished: FinishedTry) -> None:
        """A try has ended: it counts from now on. Raises `UsageError`."""
        ended = _Ended(seconds=round(finished.seconds, 3), notes=finished.notes)
        write_whole(self._tries(cell) / f"{finished.number}.json", msgspec.json.encode(ended) + b"\n")

    def finished(self, cell: Cell) -> Iterator[FinishedTry]:
        """The tries of a cell that have ended, in order. One that cannot be read does not count."""
        for path in sorted(self._tries(cell).glob("*.json"), key=lambda file: (len(file.stem), file.stem)):
            trace = path.with_suffix(".jsonl")
            try:
                ended = msgspec.json.decode(path.read_bytes(), type=_Ended)
                run, missed = judged(cell, read_trace(trace))
                number = int(path.stem)
            except (OSError, msgspec.DecodeError, UsageError, ValueError):
                continue
            yield FinishedTry(
                number=number, run=run, trace=trace, missed=missed, seconds=ended.seconds, notes=ended.notes
            )

    def others(self, cell: Cell) -> int:
        """How many tries there are of another version of the gateway, profile or scenario."""
        own = self._tries(cell)
        return sum(len(list(folder.glob("*.json"))) for folder in own.parent.glob("*") if folder != own)

    def _tries(self, cell: Cell) -> Path:
        return self.folder / "tries" / cell.gateway.name / cell.scenario / cell.fingerprint
