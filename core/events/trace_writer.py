"""Writing a trace while it happens: for a gateway whose run is to be watched, or kept.

    recording = Recording(Path("run.jsonl"), TraceHeader(scenario="my gateway"))
    recording.follow(log)
    ...
    recording.close()

The log only puts events into a queue; a thread of its own encodes and writes them, whole lines at once. So neither a
slow disk nor a reader that stops reading a pipe holds the gateway up, and what goes wrong with the file is told once
and hurts nobody. Not for simulations: they return their trace.

Nothing is synced to the disk: what was written outlives the process, and no trace is worth a store that has to wait for
it. A process that is killed leaves the last moments out, or half a line: `trunkline report --cut` reads such a trace.
"""

from __future__ import annotations

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

#: seconds that lines are gathered before they are written
GATHERED = 0.05
#: events that may wait for the disk; then it is given up
MOST_WAITING = 200_000
#: seconds that `close` waits for what is still to be written
PATIENCE = 5.0


def _tell(problem: str) -> None:
    # A service may have no standard error, or one that is full; nobody is to be hurt by that.
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"trunkline: {problem}\n")


if sys.platform == "win32":

    def _lock(descriptor: int) -> None:
        """Windows has no lock that goes with the process: there nobody is kept from giving one file to two."""
        del descriptor

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        """Two recordings would write over each other. The lock goes with the process. Raises `BlockingIOError`."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _open(path: Path) -> FileIO:
    """The file, emptied, for its owner only: it has what people said. Raises `OSError`, `BlockingIOError` if in use."""
    # Python closes it in programs that the process starts.
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
    """One trace file of one process, made anew. Raises `TraceError` when it cannot be made; later nothing raises.

    A process that is forked off does not write: what it tells is not of this run.
    """

    def __init__(self, path: Path, header: TraceHeader, *, tell: Callable[[str], None] = _tell) -> None:
        self._path = path
        self._tell = tell
        self._waiting: list[Event] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        #: what went wrong; nothing is written any more
        self.problem = ""
        self._log: EventLog | None = None
        #: what was to be said and has not ended
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
        """Write what a log tells from now on. It must not have told anything yet: a trace begins with event 1."""
        self._log = log
        log.subscribe(self._see)

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say that the run is over, with what is open by now, and write what is left. Waits `PATIENCE` at most."""
        if self._closing.is_set() or os.getpid() != self._process:
            return
        if self._log is not None and not self._ended:
            self._log.recorder("recording").record(RunEnded(at_rest=not self._open, open=tuple(self._open)))
        self._closing.set()
        self._wake.set()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self._fail("it was not written to its end in time")

    # ------------------------------------------------------------ in the thread that tells

    def _see(self, event: Event) -> None:
        # After its end a run has no more events, and what reads them would refuse all of them.
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
            self._tell(self.problem)

    # ------------------------------------------------------------ in the thread that writes

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
