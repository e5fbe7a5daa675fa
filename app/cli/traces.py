"""Opening a trace that may be anything: too big, cut, foreign, or telling nonsense. All of it ends in a sentence."""

from __future__ import annotations

import stat
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from app.broken import sentence
from core.errors import UsageError
from core.events import Trace
from core.events.trace import TraceError, parse_trace

#: what stands for standard input
STDIN = Path("-")
#: MiB that are opened without being asked twice; a run of the simulator has a few hundred KiB
LIMIT = 256
_MIB = 1024 * 1024
#: a trace takes about so many times its size in memory once it is read and judged
_TIMES = 16


def open_trace(path: Path, *, limit: int = LIMIT) -> Trace:
    """Read a trace file, or standard input for ``-``. Raises `UsageError` with what is wrong and what to do.

    A file above `limit` MiB is refused before any of it is read; what comes from a pipe, as soon as it is above.
    """
    if limit < 1:
        raise UsageError("--limit must be at least 1")
    if path == STDIN:
        if sys.stdin.isatty():
            raise UsageError("- reads a trace from standard input, and that is a terminal: pipe one in, or name a file")
        return _read(sys.stdin.buffer, "standard input", limit)
    try:
        found = path.stat()
        if stat.S_ISREG(found.st_mode) and found.st_size > limit * _MIB:
            raise TraceError(_too_big(str(path), found.st_size, limit))
        with path.open("rb") as file:
            return _read(file, str(path), limit)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def _read(file: BinaryIO, name: str, limit: int) -> Trace:
    try:
        return parse_trace(_lines(file, name, limit), name=name)
    except (ValueError, RecursionError) as error:
        # Text that is no UTF-8 inside a body, or brackets nested without end: the decoder gives up in its own words.
        raise TraceError(f"{name}: this is not a trace, or it is corrupt ({error})") from error


def _lines(file: BinaryIO, name: str, limit: int) -> Iterator[bytes]:
    """The lines of a file, none of them longer than what is left of the limit."""
    left = limit * _MIB
    while line := file.readline(left + 1):
        left -= len(line)
        if left < 0:
            raise TraceError(_too_big(name, None, limit))
        yield line.rstrip(b"\r\n")


def _too_big(name: str, size: int | None, limit: int) -> str:
    has = f"has {size / _MIB:,.0f} MiB" if size is not None else f"has more than {limit} MiB"
    least = f"--limit {-(-size // _MIB)}" if size is not None else "a larger --limit"
    memory = f"about {size * _TIMES / 1024**3:,.0f} GiB" if size is not None else f"about {_TIMES} times its size"
    return (
        f"{name}: {has}, and {limit} MiB are opened at once. Record a shorter run, or open it all the same with "
        f"{least}: that takes {memory} of memory"
    )


@contextmanager
def believing(name: str) -> Generator[None, None, None]:
    """What a readable trace tells may still make no sense: then it cannot be judged or shown, and that is said."""
    try:
        yield
    except (UsageError, BrokenPipeError):
        raise
    except Exception as error:
        raise TraceError(
            f"{name}: its lines can be read, but what they tell makes no sense ({sentence(error)}). "
            "Record it again; if nobody changed the file, this is a defect of Trunkline: please report it"
        ) from error
