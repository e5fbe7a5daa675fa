"""What waits to be written to a program: whole lines, one at a time from each turn."""

from __future__ import annotations

from collections import deque

import anyio


class _Line:
    __slots__ = ("begun", "data", "done", "turn")

    def __init__(self, turn: str, data: bytes) -> None:
        self.turn = turn
        self.data = data
        #: the writer has it, so it is written whole
        self.begun = False
        self.done = anyio.Event()


class InputQueue:
    """Lines for the program's input, in order. A turn waits until its line is written, so memory stays bounded."""

    def __init__(self) -> None:
        self._lines: deque[_Line] = deque()
        self._new = anyio.Event()
        self._closed = False

    async def put(self, turn: str, data: bytes) -> None:
        """Queue a line of a turn; wait until it is written or the program has ended. Cancelled: it is not written."""
        if self._closed:
            return
        line = self._add(turn, data)
        try:
            await line.done.wait()
        finally:
            if not line.begun and not self._closed:
                self._lines.remove(line)

    def put_soon(self, turn: str, data: bytes) -> None:
        """Queue a line and do not wait."""
        if not self._closed:
            self._add(turn, data)

    async def next(self) -> bytes:
        """The next line for the writer. Call `written` before the next call."""
        while not self._lines:
            self._new = anyio.Event()
            await self._new.wait()
        self._lines[0].begun = True
        return self._lines[0].data

    def written(self) -> None:
        """The line is written."""
        if not self._closed:
            self._lines.popleft().done.set()

    def close(self) -> None:
        """The program reads no more: a turn that waits goes on, and learns it from what is said of its turn."""
        self._closed = True
        while self._lines:
            self._lines.popleft().done.set()

    def _add(self, turn: str, data: bytes) -> _Line:
        line = _Line(turn, data)
        self._lines.append(line)
        self._new.set()
        return line
