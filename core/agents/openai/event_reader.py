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
        self._pending = b""
        self._data: list[str] = []
        self._size = 0
        self._is_first = True

    def feed(self, data: bytes) -> list[str]:
        """The data of each event that these bytes complete, in order."""
        data = self._pending + data
        # A carriage return at the end may be the first half of a line end.
        held = b"\r" if data.endswith(b"\r") else b""
        *lines, rest = _LINE_END.split(data[: len(data) - len(held)])
        self._pending = rest + held
        done: list[str] = []
        for line in lines:
            if line:
                self._take(line)
            elif self._data:
                done.append("\n".join(self._data))
                self._data, self._size = [], 0
        if self._size + len(self._pending) > self._most:
            raise EventTooLong
        return done

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
