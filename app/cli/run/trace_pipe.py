"""``trunkline run --trace -``: the trace on standard output while the run is made, and the report after it."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import termios
import time
from pathlib import Path
from typing import BinaryIO

from trunkline.app.cli.io.output import discard_output
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, TraceHeader, encode_event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.trace import encode_header

#: what stands for standard output
STDOUT = Path("-")
#: seconds between two looks at who reads
_LOOK = 0.05


class Piped:
    """Writes the lines of one run to standard output as they come. Whoever reads slowly holds the run up."""

    def __init__(self, header: TraceHeader) -> None:
        if sys.stdout is None:
            raise UsageError("--trace - writes the trace to standard output, and that is closed: name a file")
        if sys.stdout.isatty():
            raise UsageError(
                "--trace - writes the trace to standard output, and that is a terminal: "
                "pipe it on (trunkline run FILE --trace - | trunkline watch -), or name a file"
            )
        self._out: BinaryIO = sys.stdout.buffer
        #: why nothing more is written; inside the run it must not be raised: the simulated gateway would get it
        self._error: OSError | None = None
        self._ended = False
        self._put(encode_header(header))

    def see(self, event: Event) -> None:
        """One more event. What the dead still do after the end is no part of the run."""
        if not self._ended:
            self._put(encode_event(event))
        self._ended = self._ended or isinstance(event.body, RunEnded)

    def _put(self, line: bytes) -> None:
        if self._error is None:
            try:
                self._out.write(line + b"\n")
                self._out.flush()
            except OSError as error:
                self._error = error

    def end(self) -> None:
        """Wait until nobody draws on the terminal that the report goes to. Raises `OSError` if it was not written."""
        if self._error is not None:
            if self._error.errno == errno.EPIPE:
                _wait_for_the_terminal()
            raise self._error
        _wait_for_the_reader()
        discard_output()
        _wait_for_the_terminal()


def _wait_for_the_reader() -> None:
    """Until all is read, or nobody reads any more: a reader that draws on the terminal has begun to by then."""
    if not _shared():
        return
    from array import array
    from fcntl import ioctl

    left, pipe = array("i", [1]), sys.stdout.fileno()
    poll = select.poll()
    poll.register(pipe, 0)
    while not poll.poll(0):
        ioctl(pipe, termios.FIONREAD, left)
        if not left[0]:
            return
        time.sleep(_LOOK)


def _wait_for_the_terminal() -> None:
    """Until what draws on the terminal gives it back: a report in the middle of its picture would spoil both."""
    while sys.stderr.isatty() and not termios.tcgetattr(sys.stderr.fileno())[3] & termios.ICANON:
        time.sleep(_LOOK)


def _shared() -> bool:
    """Standard output is a pipe, and the report goes to a terminal, which its reader may draw on."""
    return sys.stderr.isatty() and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
