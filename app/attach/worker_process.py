"""One try in a process of its own. It gets its job on standard input, and prints its outcome."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from trunkline.app.text.cells import clean
from trunkline.core.errors import UsageError
from trunkline.sim.attach.job import AttachJob, AttachOutcome

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
