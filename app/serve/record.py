"""Trace files of a server: a new file for each process, and for each part that has grown too large.

Each file is a trace of its own, which `trunkline report --cut` and `trunkline watch` read: its events are numbered from
1, and its header has the number of the first one in the process. A cause in an earlier file is left out. Writing never
holds up the gateway and never ends it: what the disk does not take is lost, is said in the log, and a new file begins.
"""

import logging
import os
import re
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from trunkline.app.serve.config import RecordConfig
from trunkline.core.errors import ConfigError
from trunkline.core.events import Event, EventLog, trace

LOG = logging.getLogger("trunkline.record")
#: seconds for which lines are collected before a write
GATHERED = 0.05
#: events that may wait for the disk before they are lost
ROOM = 100_000
#: seconds before a file is begun again after the disk has refused one
PAUSE = 30.0
#: seconds that the end of the recording may take
_PATIENCE = 5.0
_OURS = re.compile(r"gateway-\d{8}T\d{6}Z-\d+-\d{4,}\.jsonl")
_HEADER_TITLE = "trunkline serve, process {process}, part {part}, from event {first}"


class RotatingRecording:
    """Writes the events of a log. Raises `ConfigError` if the folder cannot be written."""

    def __init__(self, config: RecordConfig, log: EventLog) -> None:
        self._folder = folder = Path(config.folder)
        self._file_size = config.file_size
        self._files = config.files
        begun = datetime.fromtimestamp(time.time(), UTC).strftime("%Y%m%dT%H%M%SZ")
        self._stem = f"gateway-{begun}-{os.getpid()}"
        self._part = 0
        self._descriptor: int | None = None
        self._size = 0
        #: seq of the event before the first one of the file
        self._base = 0
        self._retry_at = 0.0
        self._waiting: list[Event] = []
        self._lost = 0
        self._lock = threading.Lock()
        #: held while events are on their way into the file
        self._writing = threading.Lock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._begin(1)
        except OSError as error:
            raise ConfigError(f"record: {folder} cannot be written: {error.strerror or error}") from error
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()
        log.subscribe(self._see)

    def delete(self) -> int:
        """Delete every file, and what waits to be written; how many. A new one begins with the next event.

        Raises `OSError` for a file that cannot be deleted.
        """
        with self._writing:
            with self._lock:
                self._waiting.clear()
            self._close()
            return delete_recordings(self._folder)

    def close(self) -> None:
        """Write what is left."""
        self._closing.set()
        self._wake.set()
        self._thread.join(_PATIENCE)

    def _see(self, event: Event) -> None:
        # Called by whatever thread has recorded the event.
        with self._lock:
            if len(self._waiting) >= ROOM:
                self._lost += 1
                return
            self._waiting.append(event)
            first = len(self._waiting) == 1
        if first:
            self._wake.set()

    def _run(self) -> None:
        closing = False
        while not closing:
            self._wake.wait()
            self._wake.clear()
            closing = self._closing.wait(GATHERED)
            with self._writing:
                with self._lock:
                    events, self._waiting = self._waiting, []
                    lost, self._lost = self._lost, 0
                self._write(events)
                if lost:
                    # A trace has no gaps: what comes next belongs into another file.
                    self._give_up(f"{lost} events were lost, because the disk is too slow", pause=0.0)
        self._close()

    def _write(self, events: list[Event]) -> None:
        try:
            lines = list[bytes]()
            for event in events:
                if self._size >= self._file_size:
                    self._put(lines)
                    lines = []
                    self._close()
                if self._descriptor is None and not self._begin_again(event.seq):
                    return
                try:
                    line = self._line(event)
                except ValueError as error:
                    # A text that is no UTF-8, such as half of a pair from a platform's JSON.
                    self._put(lines)
                    lines = []
                    self._give_up(f"event {event.seq} cannot be written ({error})", pause=0.0)
                    continue
                lines.append(line)
                self._size += len(line)
            self._put(lines)
        except OSError as error:
            self._give_up(error.strerror or str(error), pause=PAUSE)

    def _line(self, event: Event) -> bytes:
        if self._base:
            cause = event.cause - self._base if event.cause is not None and event.cause > self._base else None
            event = msgspec.structs.replace(event, seq=event.seq - self._base, cause=cause)
        return trace.encode_event(event) + b"\n"

    def _put(self, lines: list[bytes]) -> None:
        if self._descriptor is None:
            return
        left = memoryview(b"".join(lines))
        while left:
            left = left[os.write(self._descriptor, left) :]

    def _begin_again(self, first: int) -> bool:
        if time.monotonic() < self._retry_at:
            return False
        self._begin(first)
        return True

    def _begin(self, first: int) -> None:
        """Open the next file, which must not exist, and delete the oldest ones that are too many."""
        self._part += 1
        path = self._folder / f"{self._stem}-{self._part:04d}.jsonl"
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._base = first - 1
        title = _HEADER_TITLE.format(process=os.getpid(), part=self._part, first=first)
        header = trace.encode_header(trace.TraceHeader(scenario="gateway", title=title, of_gateway=True)) + b"\n"
        self._size = len(header)
        self._put([header])
        for path in _recordings(self._folder)[: -self._files]:
            with suppress(OSError):
                path.unlink()

    def _give_up(self, why: str, *, pause: float) -> None:
        LOG.error("the recording in %s has a gap: %s; the gateway goes on", self._folder, why)
        self._retry_at = time.monotonic() + pause
        self._close()

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)


def delete_recordings(folder: Path) -> int:
    """Delete all files that gateways have recorded in a folder; how many. Raises `OSError`."""
    found = _recordings(folder)
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def _recordings(folder: Path) -> list[Path]:
    """The files of all processes, oldest first."""
    return sorted(path for path in folder.iterdir() if _OURS.fullmatch(path.name))
