"""A trace that is still being written, file or pipe: whole lines as they come, within a budget, and never waiting.

What goes wrong never raises: the feed says what, and where, and what was read stays. No screen library here.
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

#: bytes that are read at once
CHUNK = 1 << 18
#: bytes of one line at most: a longer one is no line of a trace
LONGEST = 64 << 20
#: events between two looks at the clock
EVERY = 32
_MIB = 1 << 20


class FeedState(StrEnum):
    """What can be expected of a feed."""

    #: there is no file yet, or nothing in it
    WAITING = "waiting"
    OPEN = "open"
    #: ``run.ended`` was read: that was all
    ENDED = "ended"
    #: nothing more will be read; `Feed.problem` says why
    BROKEN = "broken"


class Budget(msgspec.Struct, frozen=True):
    """What may be spent at once."""

    events: int = 2000
    seconds: float = 0.010


class Feed:
    """Reads one trace as it grows. `path` none: the pipe `fd`, which must not be used by anybody else."""

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
        #: lines that were taken, and events among them
        self.lines = 0
        self.events = 0
        self._path = path
        self._fd = fd
        self._regular = False
        self._limit = limit * _MIB
        self._clock = clock
        #: bytes that were read, and those of them that are not taken yet
        self._read = 0
        self._left = b""
        self._at = 0
        if fd is not None:
            os.set_blocking(fd, False)

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return self.flow in (FeedState.ENDED, FeedState.BROKEN)

    def unread(self) -> int:
        """Bytes that wait in the file; of a pipe, those that were read and not taken."""
        rest = len(self._left) - self._at
        if self._fd is None or not self._regular:
            return rest
        return max(os.fstat(self._fd).st_size - self._read, 0) + rest

    def close(self) -> None:
        """Read nothing more."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def pull(self, budget: Budget) -> list[Event]:
        """The events of the lines that are there by now, as many as the budget allows; none when there are none."""
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
            self._break(f"{self.name}:{self.lines}: this is no line of a trace, or it is corrupt ({error})")
            return
        self.events += 1
        found.append(event)
        if event.kind == "run.ended":
            self.flow = FeedState.ENDED
            if self._regular:
                # The writer of a pipe sees by its other end that somebody still looks on.
                self.close()

    def _line(self) -> bytes | None:
        """The next whole line, without its end; a line that is half written waits."""
        while (end := self._left.find(b"\n", self._at)) < 0:
            if len(self._left) - self._at > LONGEST:
                self._break(f"{self.name}:{self.lines + 1}: a line of more than {LONGEST // _MIB} MiB: not a trace")
                return None
            data = self._more()
            if not data:
                return None
            self._left, self._at = self._left[self._at :] + data, 0
        line, self._at = self._left[self._at : end], end + 1
        return line.rstrip(b"\r")

    def _more(self) -> bytes:
        """What can be read without waiting; nothing where there is nothing, or where it broke."""
        if self._fd is None and not self._open():
            return b""
        assert self._fd is not None
        try:
            if self._regular and os.fstat(self._fd).st_size < self._read:
                self._break(self._told("the file became shorter than what was read of it: it was truncated"))
                return b""
            data = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return b""
        except OSError as error:
            self._break(self._told(error.strerror or str(error)))
            return b""
        if data:
            self._read += len(data)
            if self._read > self._limit:
                mib = self._limit // _MIB
                self._break(self._told(f"more than {mib} MiB: a larger --limit reads on, at 16 times that in memory"))
                return b""
        elif self._regular:
            self._look()
        elif self._read:
            rest = len(self._left) - self._at
            half = f", with {rest} bytes of a line that never ended" if rest else ""
            self._break(self._told(f"the writer is gone before 'run.ended'{half}"))
        elif self._path is None:
            self._break(self._told("nothing came, and the writer is gone"))
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

    def _look(self) -> None:
        """At its end: is it still the file that has this name?"""
        assert self._path is not None
        assert self._fd is not None
        try:
            named = self._path.stat()
        except FileNotFoundError:
            if self._read:
                self._break(self._told("the file was removed while it was read"))
            else:
                self.close()
            return
        except OSError as error:
            self._break(self._told(error.strerror or str(error)))
            return
        opened = os.fstat(self._fd)
        if (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            if self._read:
                self._break(self._told("another file has this name now: watch it again to see that one"))
            else:
                self.close()

    def _told(self, what: str) -> str:
        return f"{self.name}:{self.lines + 1}: {what}"

    def _break(self, problem: str) -> None:
        self.problem, self.flow = problem, FeedState.BROKEN
        self.close()
