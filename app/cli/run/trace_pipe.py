"""``trunkline run --trace -``: the trace goes to standard output during the run, and the report follows it."""

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

from trunkline.app.terminal.output import discard_output
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, TraceHeader, encode_event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.trace import encode_header

#: means standard output
STDOUT = Path("-")
#: seconds between two polls of the reader
_POLL = 0.05


class TracePipe:
    """Writes the lines of one run to standard output as they come. A slow reader holds the run up."""

    def __init__(self, header: TraceHeader) -> None:
        if sys.stdout is None:
            raise UsageError("--trace - writes the trace to standard output, and that is closed: name a file")
        if sys.stdout.isatty():
            raise UsageError(
                "--trace - writes the trace to standard output, and that is a terminal: "
                "pipe it on (trunkline run FILE --trace - | trunkline watch -), or name a file"
            )
        self._out: BinaryIO = sys.stdout.buffer
        #: the error that stopped writing; raised by `end`, since during the run the simulated gateway would catch it
        self._error: OSError | None = None
        self._ended = False
        self._write_line(encode_header(header))

    def write(self, event: Event) -> None:
        """Write one event. Events after the end, of processes that died, are not part of the run."""
        if not self._ended:
            self._write_line(encode_event(event))
        self._ended = self._ended or isinstance(event.body, RunEnded)

    def _write_line(self, line: bytes) -> None:
        if self._error is None:
            try:
                self._out.write(line + b"\n")
                self._out.flush()
            except OSError as error:
                self._error = error

    def end(self) -> None:
        """Wait until the reader gives back the terminal that the report goes to. Raises `OSError` if writing failed."""
        if self._error is not None:
            if self._error.errno == errno.EPIPE:
                _wait_for_the_terminal()
            raise self._error
        _wait_for_the_reader()
        discard_output()
        _wait_for_the_terminal()


def _wait_for_the_reader() -> None:
    """Wait until the pipe is empty or closed: a reader that draws on the terminal has started drawing by that time."""
    if not _shares_terminal():
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
        time.sleep(_POLL)


def _wait_for_the_terminal() -> None:
    """Wait while another program has the terminal in raw mode: a report in the middle of its picture spoils both."""
    while sys.stderr.isatty() and not termios.tcgetattr(sys.stderr.fileno())[3] & termios.ICANON:
        time.sleep(_POLL)


def _shares_terminal() -> bool:
    """Whether standard output is a pipe and the report goes to a terminal, which the reader may draw on too."""
    return sys.stderr.isatty() and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
