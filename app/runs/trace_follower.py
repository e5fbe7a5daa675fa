"""Follows a trace that is still being written, in a file or a pipe: complete lines, within a budget, without blocking.

Errors never raise: the feed keeps what it read, and reports the problem and its line. Independent of Textual.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from time import perf_counter

import msgspec

from trunkline.core.events import Event, TraceError, TraceHeader
from trunkline.core.events.trace import decode_event, decode_header

#: bytes per read
CHUNK = 1 << 18
#: maximum length of a line, in bytes: a longer one is not from a trace
LONGEST = 64 << 20
#: events between two reads of the clock
EVERY = 32
_MIB = 1 << 20


class FeedState(StrEnum):
    """The state of a feed."""

    #: the file does not exist yet, or is empty
    WAITING = "waiting"
    OPEN = "open"
    #: ``run.ended`` was read
    ENDED = "ended"
    #: reading stopped; `Feed.problem` says why
    BROKEN = "broken"


class Budget(msgspec.Struct, frozen=True):
    """Limits of one pull."""

    events: int = 2000
    seconds: float = 0.010


class Feed:
    """Reads one trace as it grows. Without `path` it reads the pipe `fd`, and owns it."""

    def __init__(
        self,
        path: Path | None,
        *,
        fd: int | None = None,
        limit: int = 256,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.name = str(path) if path is not None else "standard input"
        self.header: TraceHeader | None = None
        self.problem = ""
        self.flow = FeedState.WAITING
        #: number of lines read, and of events among them
        self.lines = 0
        self.events = 0
        self._path = path
        self._fd = fd
        self._regular = False
        self._limit = limit * _MIB
        self._clock = clock
        #: number of bytes read; the buffer, and where its unparsed part begins
        self._read = 0
        self._left = b""
        self._at = 0
        if fd is not None:
            os.set_blocking(fd, False)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.flow in (FeedState.ENDED, FeedState.BROKEN)

    def unread(self) -> int:
        """Bytes that are not parsed yet: in the file and the buffer; for a pipe, only in the buffer."""
        rest = len(self._left) - self._at
        if self._fd is None or not self._regular:
            return rest
        return max(os.fstat(self._fd).st_size - self._read, 0) + rest

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def waiting_for(self) -> str:
        """The line that says what the feed waits for; blank while it reads."""
        waiting = f"{self.name}: waiting for the first line; nothing is written yet"
        return waiting if self.flow is FeedState.WAITING else ""

    def take_anew(self) -> bool:
        """Whether a new run has begun: a file has one run only."""
        return False

    def pull(self, budget: Budget) -> list[Event]:
        """The events of the lines available now, as many as the budget allows."""
        found: list[Event] = []
        until = self._clock() + budget.seconds
        while not self.over and len(found) < budget.events:
            line = self._line()
            if line is None:
                break
            self._take(line, found)
            if not len(found) % EVERY and self._clock() >= until:
                break
        return found

    # ------------------------------------------------------------ lines

    def _take(self, line: bytes, found: list[Event]) -> None:
        self.lines += 1
        self.flow = FeedState.OPEN
        try:
            if self.header is None:
                self.header = decode_header(line)
                return
            event = decode_event(line)
            if event.seq != self.events + 1:
                raise TraceError(f"event {event.seq} follows event {self.events}: lines are missing")
        except TraceError as error:
            self._break(f"{self.name}:{self.lines}: {error.facts}")
            return
        except (ValueError, RecursionError) as error:
            self._break(f"{self.name}:{self.lines}: not a line of a trace, or corrupt ({error})")
            return
        self.events += 1
        found.append(event)
        if event.kind == "run.ended":
            self.flow = FeedState.ENDED
            if self._regular:
                # A pipe stays open: its writer waits until the reader closes it.
                self.close()

    def _line(self) -> bytes | None:
        """The next complete line, without its end; none while a line is incomplete."""
        while (end := self._left.find(b"\n", self._at)) < 0:
            if len(self._left) - self._at > LONGEST:
                self._break_here(f"a line of more than {LONGEST // _MIB} MiB: not a trace")
                return None
            data = self._more()
            if not data:
                return None
            self._left, self._at = self._left[self._at :] + data, 0
        line, self._at = self._left[self._at : end], end + 1
        return line.rstrip(b"\r")

    def _more(self) -> bytes:
        """Read without blocking; empty if nothing is available, or after an error."""
        if self._fd is None and not self._open():
            return b""
        assert self._fd is not None
        try:
            if self._regular and os.fstat(self._fd).st_size < self._read:
                self._break_here("the file was truncated while it was read")
                return b""
            data = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            self._break_here(error.strerror or str(error))
            return b""
        if data:
            self._read += len(data)
            if self._read > self._limit:
                mib = self._limit // _MIB
                self._break_here(f"more than {mib} MiB: use a larger --limit, at 16 times that in memory")
                return b""
        elif self._regular:
            self._check_path()
        elif self._read:
            rest = len(self._left) - self._at
            half = f", with {rest} bytes of an unfinished line" if rest else ""
            self._break_here(f"the writer is gone before 'run.ended'{half}")
        elif self._path is None:
            self._break_here("the writer is gone and wrote nothing")
        return data

    # ------------------------------------------------------------ the file

    def _open(self) -> bool:
        assert self._path is not None
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._break(f"{self.name}: {error.strerror or error}")
            return False
        mode = os.fstat(fd).st_mode
        if stat.S_ISDIR(mode):
            os.close(fd)
            self._break(f"{self.name}: {os.strerror(errno.EISDIR)}")
            return False
        self._fd, self._regular = fd, stat.S_ISREG(mode)
        return True

    def _check_path(self) -> None:
        """At the end of the file, check that the path still names the same file."""
        assert self._path is not None
        assert self._fd is not None
        try:
            named = self._path.stat()
        except FileNotFoundError:
            if self._read:
                self._break_here("the file was removed while it was read")
            else:
                self.close()
            return
        except OSError as error:
            self._break_here(error.strerror or str(error))
            return
        opened = os.fstat(self._fd)
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            if self._read:
                self._break_here("the file was replaced: watch it again to see the new one")
            else:
                self.close()

    def _break_here(self, what: str) -> None:
        self._break(f"{self.name}:{self.lines + 1}: {what}")

    def _break(self, problem: str) -> None:
        self.problem, self.flow = problem, FeedState.BROKEN
        self.close()
