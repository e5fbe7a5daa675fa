"""A run that is still going on, judged event by event as its trace grows. Independent of Textual."""

import errno
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from time import perf_counter

import msgspec

from trunkline.app.errors import inconsistent_as_error
from trunkline.app.runs.model import Run
from trunkline.core.events import Event, Trace, TraceError, TraceHeader, trace
from trunkline.sim.invariants import CHECKERS, Checker, Judge, Verdict

# Follows a trace that is still being written, in a file or a pipe: complete lines, within a budget, without blocking.
#
# Errors never raise: the feed keeps what it read, and reports the problem and its line. Independent of Textual.

#: bytes per read
CHUNK = 1 << 18
#: maximum length of a line, in bytes: a longer one is not from a trace
LONGEST = 64 << 20
#: events between two reads of the clock
EVERY = 32
MIB = 1 << 20


class FeedState(StrEnum):
    #: the file does not exist yet, or is empty
    WAITING = "waiting"
    OPEN = "open"
    #: ``run.ended`` was read
    ENDED = "ended"
    #: reading stopped; `Feed.problem` says why
    BROKEN = "broken"


class Budget(msgspec.Struct, frozen=True):
    events: int = 2000
    seconds: float = 0.010


class GrowingTrace(ABC):
    """A trace that grows: a file, a pipe, or the stream of a gateway. Errors never raise: `problem` has them.

    At most `limit` MiB of it are read.
    """

    def __init__(self, name: str, flow: FeedState, limit: int, clock: Callable[[], float]) -> None:
        self.name = name
        #: none until it is read
        self.header: TraceHeader | None = None
        self.problem = ""
        self.flow = flow
        #: number of lines read
        self.lines: int = 0
        self._limit = limit * MIB
        self._clock = clock

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.flow in (FeedState.ENDED, FeedState.BROKEN)

    def pull(self, budget: Budget) -> list[Event]:
        """The events available now, as many as the budget allows, and all of one run."""
        found: list[Event] = []
        until = self._clock() + budget.seconds
        while not self.over and len(found) < budget.events and self._take_next(found):
            if not len(found) % EVERY and self._clock() >= until:
                break
        return found

    @abstractmethod
    def _take_next(self, found: list[Event]) -> bool:
        """Read on, and add what it is to `found`. False if nothing is there now."""

    @abstractmethod
    def waiting_for(self) -> str:
        """The feed's line while all is well: what the feed waits for, or its connection; blank while it reads."""

    def pop_new_run(self) -> bool:
        """Whether a new run has begun since the last call: what was pulled before is of no more use."""
        return False

    @abstractmethod
    def close(self) -> None: ...

    def _break(self, problem: str) -> None:
        self.problem, self.flow = problem, FeedState.BROKEN
        self.close()


class Feed(GrowingTrace):
    """Reads one trace as it grows. Without `path` it reads the pipe `fd`, and owns it."""

    def __init__(
        self, path: Path | None, *, fd: int | None = None, limit: int = 256, clock: Callable[[], float] = perf_counter
    ) -> None:
        super().__init__(str(path) if path is not None else "standard input", FeedState.WAITING, limit, clock)
        #: number of events among the lines
        self.events = 0
        self._path = path
        self._fd = fd
        self._regular = False
        #: number of bytes read; the buffer, and where its unparsed part begins
        self._read = 0
        self._left = b""
        self._at = 0
        if fd is not None:
            os.set_blocking(fd, False)

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
        waiting = f"{self.name}: waiting for the first line; nothing is written yet"
        return waiting if self.flow is FeedState.WAITING else ""

    def _take_next(self, found: list[Event]) -> bool:
        line = self._line()
        if line is not None:
            self._take(line, found)
        return line is not None

    def _take(self, line: bytes, found: list[Event]) -> None:
        self.lines += 1
        self.flow = FeedState.OPEN
        try:
            if self.header is None:
                self.header = trace.decode_header(line)
                return
            event = trace.decode_event(line)
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
                self._break_here(f"a line of more than {LONGEST // MIB} MiB: not a trace")
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
                mib = self._limit // MIB
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


#: events that are judged and shown to the views at once; the clock is read between two such steps
STEP = 64

Take = Callable[[Sequence[Event], Sequence[Verdict]], None]


class LiveRun:
    """Pulls events from a feed into views. While paused, it does nothing."""

    def __init__(
        self,
        feed: GrowingTrace,
        checkers: Sequence[type[Checker]] = CHECKERS,
        *,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self.checkers = checkers
        self.feed = feed
        self.paused = False
        #: why the views rejected the trace, and the events of that step
        self.problem = ""
        self.rejected: Sequence[Event] = ()
        self._clock = clock
        self._judge = Judge(self.checkers)

    @property
    def over(self) -> bool:
        return bool(self.problem) or self.feed.over

    @property
    def pulling(self) -> bool:
        """Whether each frame pulls more."""
        return not self.over and not self.paused

    def begin(self) -> Run:
        """The run before its first event; its header is still unknown."""
        self._judge = Judge(self.checkers)
        header = self.feed.header or TraceHeader(scenario=Path(self.feed.name).stem if self.feed.name else "live")
        return Run(trace=Trace(header=header, events=()), verdicts=self._judge.verdicts())

    def pull(self, take: Take, budget: Budget) -> int:
        """Pass new events and the current verdicts to `take`. Returns the number of events.

        The budget covers reading, judging, and what `take` does.
        """
        until = self._clock() + budget.seconds
        done = 0
        while self.pulling and done < budget.events:
            left = until - self._clock()
            if left <= 0:
                break
            events = self.feed.pull(Budget(min(STEP, budget.events - done), left))
            if not events:
                break
            done += len(events)
            try:
                with inconsistent_as_error(f"{self.feed.name}:{self.feed.lines}"):
                    for event in events:
                        self._judge.see(event)
                    if self.feed.flow is FeedState.ENDED:
                        self._judge.finish()
                    take(events, self._judge.verdicts())
            except TraceError as error:
                self.problem, self.rejected = error.facts, events
        return done

    def find_bad_event(self, run: Run, take: Take) -> int:
        """Pass the rejected events to `take` one by one until one fails; then the problem names its line.

        `run` holds the events before them. Returns how many of them are good.
        """
        judging = Judge(self.checkers)
        for event in run.trace.events:
            judging.see(event)
        for good, event in enumerate(self.rejected):
            try:
                # The header is the first line.
                with inconsistent_as_error(f"{self.feed.name}:{event.seq + 1}"):
                    judging.see(event)
                    take([event], judging.verdicts())
            except TraceError as error:
                self.problem = error.facts
                return good
        return len(self.rejected)

    def status(self) -> str:
        """The problem of the feed, or what it waits for; empty while all is well."""
        return self.problem or self.feed.problem or self.feed.waiting_for()
