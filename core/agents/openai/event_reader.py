"""Reads server-sent events from bytes that come in pieces of any size."""

from __future__ import annotations

import re

_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = "\ufeff"


class EventTooLong(Exception):
    """One event is longer than the reader keeps."""


class EventReader:
    """Takes bytes, and returns the data of the events that are complete.

    `most`: bytes of one event; a longer one raises `EventTooLong`. Comments, names and ids of events are left out. An
    event that no blank line ends is not complete.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        #: the pieces of a line that has not ended, and their bytes
        self._pending: list[bytes] = []
        self._waiting = 0
        self._data: list[str] = []
        self._size = 0
        self._is_first = True
        #: the last byte was a carriage return
        self._after_return = False

    def feed(self, data: bytes) -> list[str]:
        """The data of each event that these bytes complete, in order."""
        if not data:
            return []
        if self._after_return:
            # It belongs to the line end before it, which has counted already.
            data = data.removeprefix(b"\n")
        self._after_return = data.endswith(b"\r")
        first, *rest = _LINE_END.split(data)
        done: list[str] = []
        # Joined once per line: a long line may come in as many pieces as it has bytes.
        self._keep(first)
        for following in rest:
            line = b"".join(self._pending)
            self._pending, self._waiting = [], 0
            if line:
                self._take(line)
            elif self._data:
                done.append("\n".join(self._data))
                self._data, self._size = [], 0
            self._keep(following)
        if self._size + self._waiting > self._most:
            raise EventTooLong
        return done

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._pending.append(piece)
            self._waiting += len(piece)

    def _take(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        if self._is_first:
            text, self._is_first = text.removeprefix(_MARK), False
        name, _, value = text.partition(":")
        if name != "data":
            return
        self._size += len(line)
        if self._size > self._most:
            raise EventTooLong
        self._data.append(value.removeprefix(" "))
