"""A terminal of a known size with a program on it: what stands on its screen, and what the program spent until then.

It understands what the app writes: text, moves of the cursor, line ends, the other screen. Styles are skipped.
"""

import codecs
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path

_PIECE = re.compile(
    r"\x1b\[(?P<marks>[0-9;?<>=$]*)(?P<what>[a-zA-Z])"  # a control sequence
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # a command for the terminal, such as the shape of the pointer
    r"|(?P<text>[^\x1b])"
)
#: the beginning of a sequence whose rest is still to come
_CUT = re.compile(r"\x1b(?:\[[0-9;?<>=$]*|\][^\x07\x1b]*)?\Z")


class Picture:
    """The cells of a screen."""

    def __init__(self, width: int, height: int) -> None:
        self._cells = [[" "] * width for _ in range(height)]
        self._x = self._y = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def lines(self) -> list[str]:
        """Its lines, without the blanks at their ends."""
        return ["".join(line).rstrip() for line in self._cells]

    def write(self, written: bytes) -> None:
        """Draw what a program writes."""
        text = self._rest + self._decoder.decode(written)
        cut = _CUT.search(text)
        self._rest = text[cut.start() :] if cut else ""
        for found in _PIECE.finditer(text, 0, cut.start() if cut else len(text)):
            if char := found["text"]:
                self._put(char)
            elif found["what"] == "H":
                row, column = (int(number or 1) for number in (found["marks"] or "1;1").split(";"))
                self._y, self._x = row - 1, column - 1

    def _put(self, char: str) -> None:
        if char == "\r":
            self._x = 0
        elif char == "\n":
            self._y += 1
        else:
            if 0 <= self._y < len(self._cells) and 0 <= self._x < len(self._cells[0]):
                self._cells[self._y][self._x] = char
            self._x += 1


@dataclass(frozen=True, slots=True)
class Moment:
    """What a program had spent when words stood on its screen."""

    wall: float
    cpu: float


class NotShown(Exception):
    """The program ended, or took too long."""


def shown(
    command: Sequence[str],
    stages: Sequence[Sequence[str]],
    *,
    size: tuple[int, int],
    environment: Mapping[str, str],
    patience: float,
) -> list[Moment]:
    """Start a program and wait, stage after stage, until all words of the stage stand on its screen at once.

    Gives the moment of each, counted from the start of the process, and ends the program. Raises `NotShown`.
    """
    start = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        os.execvpe(command[0], list(command), dict(environment))
    picture, moments = Picture(*size), list[Moment]()
    try:
        while len(moments) < len(stages):
            if time.monotonic() > start + patience or not _read(terminal, picture):
                raise NotShown("\n".join(picture.lines))
            while len(moments) < len(stages) and all(_stands(word, picture) for word in stages[len(moments)]):
                moments.append(Moment(time.monotonic() - start, _cpu(pid)))
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(terminal)
    return moments


def _read(terminal: int, picture: Picture) -> bool:
    """Take what was written, without waiting for long. False at its end."""
    ready, _, _ = select.select([terminal], [], [], 0.5)
    if not ready:
        return True
    try:
        written = os.read(terminal, 1 << 16)
    except OSError:  # how Linux tells that nobody holds the other end any more
        return False
    picture.write(written)
    return bool(written)


def _stands(word: str, picture: Picture) -> bool:
    return any(word in line for line in picture.lines)


def _cpu(pid: int) -> float:
    """CPU seconds of a process, of all its threads, as the kernel counts them in nanoseconds."""
    threads = (Path("/proc") / str(pid) / "task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
