"""Writes the trace of a running gateway, to be watched or kept.

    recording = Recording(Path("run.jsonl"), TraceHeader(scenario="my gateway"))
    recording.follow(log)
    ...
    recording.close()

The log only puts events into a queue; a separate thread encodes and writes them, whole lines at a time. Neither a slow
disk nor a stalled reader of a pipe delays the gateway, and a problem with the file is reported once. Simulations do
not use this: they return their trace.

Nothing is synced to disk, so that the store never waits for a trace. Written lines survive the process; a killed
process may lose the last ones or half a line, and `trunkline report --cut` reads such a trace.
"""

import os
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType

from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import IntentPrepared, IntentReopened, IntentSettled
from trunkline.core.events.log import Event, EventLog
from trunkline.core.events.trace import TraceError, TraceHeader, encode_event, encode_header

#: seconds for which lines are collected before a write
GATHERED = 0.05
#: events that may wait for the disk before the recording is given up
MOST_WAITING = 200_000
#: seconds that `close` waits for the remaining lines
PATIENCE = 5.0


def _report(problem: str) -> None:
    # A service may have no standard error, or a full pipe; that must not do any harm.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"trunkline: {problem}\n")


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        """Do nothing: Windows has no lock bound to a process, so two recordings may share a file there."""
        del descriptor

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        """Keep a second recording from the file; the lock ends with the process. Raises `BlockingIOError`."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _open(path: Path) -> FileIO:
    """Open the file empty and private, as messages are private. Raises `OSError`, `BlockingIOError` if in use."""
    # Python closes it in child processes.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            _lock(descriptor)
            os.ftruncate(descriptor, 0)
        return FileIO(descriptor, "wb")
    except OSError:
        os.close(descriptor)
        raise


class Recording:
    """The trace file of a process, created empty. Raises `TraceError` without a file; later calls never raise.

    A forked process does not write: its events are not of this run.
    """

    def __init__(self, path: Path, header: TraceHeader, *, report: Callable[[str], None] = _report) -> None:
        self._path = path
        self._report = report
        self._waiting: list[Event] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        #: why recording was given up
        self.problem = ""
        self._log: EventLog | None = None
        #: open intents
        self._open: dict[str, None] = {}
        self._last = 0
        self._ended = False
        self._process = os.getpid()
        try:
            self._file = _open(path)
        except BlockingIOError as error:
            raise TraceError(f"{path}: another recording is writing it: give each process a file of its own") from error
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror or error}") from error
        try:
            self._put(encode_header(header) + b"\n")
        except OSError as error:
            self._file.close()
            raise TraceError(f"{path}: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._run, name=f"trace {path.name}", daemon=True)
        self._thread.start()

    def follow(self, log: EventLog) -> None:
        """Write the events of a log, which must be empty so far: a trace begins with event 1."""
        self._log = log
        log.subscribe(self._see)

    def __enter__(self) -> "Recording":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Record the end of the run with the open intents, and write the rest. Waits `PATIENCE` at most."""
        if self._closing.is_set() or os.getpid() != self._process:
            return
        if self._log is not None and not self._ended:
            self._log.recorder("recording").record(RunEnded(at_rest=not self._open, open=tuple(self._open)))
        self._closing.set()
        self._wake.set()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self._fail("it was not written to its end in time")

    def _see(self, event: Event) -> None:
        # A run has no events after its end; readers would refuse the file.
        if self.problem or self._ended or self._closing.is_set() or os.getpid() != self._process:
            return
        if isinstance(event.body, IntentPrepared | IntentReopened):
            self._open[event.intent or ""] = None
        elif isinstance(event.body, IntentSettled):
            self._open.pop(event.intent or "", None)
        elif isinstance(event.body, RunEnded):
            self._ended = True
        if event.seq != self._last + 1:
            self._fail(f"event {event.seq} follows event {self._last}: the log had begun before it was followed")
            return
        self._last = event.seq
        with self._lock:
            self._waiting.append(event)
            many = len(self._waiting)
        if many > MOST_WAITING:
            self._fail(f"{many} events wait to be written: the disk, or who reads the pipe, is too slow")
        elif many == 1:
            self._wake.set()

    def _fail(self, problem: str) -> None:
        if not self.problem:
            self.problem = f"{self._path}: {problem}; the trace ends there, the gateway goes on"
            self._report(self.problem)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            closing = self._closing.wait(GATHERED)
            self._write()
            if closing:
                break
        with suppress(OSError):
            self._file.close()

    def _write(self) -> None:
        with self._lock:
            events, self._waiting = self._waiting, []
        if self.problem or not events:
            return
        try:
            self._put(b"".join(encode_event(event) + b"\n" for event in events))
        except OSError as error:
            self._fail(error.strerror or str(error))
        except ValueError as error:
            # A text that is no UTF-8, such as half of a pair from a platform's JSON.
            self._fail(f"an event cannot be written ({error})")

    def _put(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) or 0 :]
