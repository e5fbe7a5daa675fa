"""Opens a trace that may be too big, truncated, or another kind of file. Each error is one sentence."""

import codecs
import re
import stat
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from trunkline.app.cli.options import TraceLimits, check_at_least
from trunkline.app.errors import inconsistent_as_error
from trunkline.app.runs.model import Run
from trunkline.app.terminal.output import print_error
from trunkline.core.errors import UsageError
from trunkline.core.events import Trace
from trunkline.core.events.trace import TraceError, first_step_back, parse_trace
from trunkline.sim import judge
from trunkline.sim.run.expectations import missed_parts

#: means standard input
STDIN = Path("-")
#: MiB that are opened by default; a run of the simulator has a few hundred KiB
LIMIT = 256
_MIB = 1024 * 1024
#: memory that a trace takes once it is read and judged, as a multiple of its size
_TIMES = 16


def open_trace(path: Path, *, limit: int = LIMIT, cut: bool = False) -> Trace:
    """Read a trace file, or standard input for ``-``. Raises `UsageError` with what is wrong and what to do.

    A file above `limit` MiB is refused before it is read, a pipe as soon as it exceeds that. With `cut`, a truncated
    trace is read as far as it goes.
    """
    check_at_least(1, limit=limit)
    if path == STDIN:
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError("- reads a trace from standard input, and none comes in: pipe one in, or name a file")
        return _read(sys.stdin.buffer, name_of(path), limit, cut=cut)
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_size > limit * _MIB:
            raise TraceError(_too_big(str(path), found.st_size, limit))
        with path.open("rb") as file:
            return _read(file, str(path), limit, cut=cut)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def name_of(path: Path) -> str:
    """The name of a trace in errors."""
    return "standard input" if path == STDIN else str(path)


def judged_run(path: Path, limits: TraceLimits) -> Run:
    """The recorded run of a trace, judged again. Raises `UsageError`."""
    trace = open_trace(path, limit=limits.limit, cut=limits.cut)
    with inconsistent_as_error(name_of(path)):
        verdicts = judge(trace.events, limits.toolbox.checkers)
        return Run(trace=trace, verdicts=verdicts, unmet=tuple(missed_parts(trace.events)))


def _read(file: BinaryIO, name: str, limit: int, *, cut: bool) -> Trace:
    lines = _Lines(file, name, limit)
    each = iter(lines)
    try:
        first = next(each, None)
        return _warned(parse_trace(chain(() if first is None else (first,), each), name=name, whole=not cut), name)
    except TraceError as error:
        if lines.refused:
            raise
        if lines.number <= 1:
            raise TraceError(f"{error.facts}{foreign(lines.first)}") from error
        raise TraceError(f"{error.facts}. With --cut it is opened as far as it goes") from error


def _warned(trace: Trace, name: str) -> Trace:
    """The trace, with a warning where its clock was set back: times of what follows mean less."""
    found = first_step_back(trace)
    if found is not None:
        before, event = found
        # The header is line 1.
        print_error(
            f"trunkline: warning: {name}:{event.seq + 1}: event {event.seq} is {before.at - event.at:g} s earlier than "
            "the one before it: the clock was set back, or the file was edited. It is judged in the order of its lines"
        )
    return trace


class _Lines:
    """Iterates over the lines of a file up to the size limit; counts them and keeps the first."""

    def __init__(self, file: BinaryIO, name: str, limit: int) -> None:
        self._file = file
        self._name = name
        self._limit = limit
        self.number = 0
        self.first = b""
        #: the limit was exceeded
        self.refused = False

    def __iter__(self) -> Iterator[bytes]:
        left = self._limit * _MIB
        while line := self._file.readline(left + 1):
            left -= len(line)
            if left < 0:
                self.refused = True
                raise TraceError(_too_big(self._name, None, self._limit))
            self.number += 1
            line = line.rstrip(b"\r\n")
            if self.number == 1:
                # Some editors write a byte order mark before UTF-8 text.
                line = self.first = line.removeprefix(codecs.BOM_UTF8)
            yield line


#: first bytes of files that people mistake for traces -> what they are, and what to do with them
_FOREIGN = (
    (b"\x1f\x8b", "this is a gzip file: unpack it first (zcat FILE | trunkline report -)"),
    (b"\x28\xb5\x2f\xfd", "this is a zstd file: unpack it first (zstdcat FILE | trunkline report -)"),
    (b"PK\x03\x04", "this is a zip archive: unpack it first"),
    (b"SQLite format 3", "this is a SQLite file; `trunkline queue list --store FILE` shows a gateway's queue"),
    (codecs.BOM_UTF16_LE, "this is UTF-16: save it as UTF-8"),
    (codecs.BOM_UTF16_BE, "this is UTF-16: save it as UTF-8"),
    (b"\x00", "the file begins with zero bytes: it was never written, or not to its end"),
    (b'{"seq":', "its header is missing: the file lost its first lines"),
)
#: first line of a scenario, or of a comment above one
_SCENARIO = re.compile(rb"\s*(#|---|[a-z_]+:)")


def foreign(first: bytes) -> str:
    """The kind of a file that is no trace, judging by its first line; blank if it is unknown."""
    for start, what in _FOREIGN:
        if first.startswith(start):
            return f"; {what}"
    if _SCENARIO.match(first):
        return "; it looks like a scenario: `trunkline run FILE` runs one, `trunkline FILE` opens it in the app"
    return ""


def _too_big(name: str, size: int | None, limit: int) -> str:
    has = f"has {size / _MIB:,.0f} MiB" if size is not None else f"has more than {limit} MiB"
    least = f"--limit {-(-size // _MIB)}" if size is not None else "a larger --limit"
    memory = f"about {size * _TIMES / 1024**3:,.0f} GiB" if size is not None else f"about {_TIMES} times its size"
    return (
        f"{name}: {has}, and the limit is {limit} MiB. Record a shorter run, or open it anyway with "
        f"{least}: that takes {memory} of memory"
    )
