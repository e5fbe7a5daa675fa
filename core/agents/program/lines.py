"""Cuts a stream of bytes into lines of a bounded length. Pure."""

import re
from collections.abc import Iterator

import msgspec

#: bytes that are kept of a line that is too long
_KEPT = 4096
_TURN = re.compile(rb'(?<!\\)"turn"\s*:\s*"([^"\\]{1,300})"')


class TooLong(msgspec.Struct, frozen=True, kw_only=True):
    """A line beyond the limit; only the start is kept."""

    start: bytes

    @property
    def turn(self) -> str | None:
        """The turn named near the start of the line, if any."""
        found = _TURN.search(self.start)
        return None if found is None else found[1].decode("utf-8", "replace")


class LineCutter:
    """Takes chunks, gives whole lines without line ends. A line beyond the limit is given once, as `TooLong`."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        #: what is kept of a line that was too long, while the rest of it is skipped
        self._skipping: bytes | None = None

    @property
    def is_skipping(self) -> bool:
        return self._skipping is not None

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """The lines with an end in a chunk."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._keep(chunk[start:end])
            yield from self.finish()
            start = end + 1
        self._keep(chunk[start:])

    def finish(self) -> Iterator[bytes | TooLong]:
        """The line so far, unless empty: at the end of the stream a line without an end."""
        skipped, line = self._skipping, b"".join(self._parts)
        self._skipping, self._parts, self._size = None, [], 0
        if skipped is not None:
            yield TooLong(start=skipped)
        elif line := line.removesuffix(b"\r"):
            yield line

    def _keep(self, part: bytes) -> None:
        if self._skipping is not None:
            # The same start is kept however the line arrives: it may name the turn.
            self._skipping += part[: _KEPT - len(self._skipping)]
            return
        if not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._longest:
            self._skipping = b"".join(self._parts)[:_KEPT]
            self._parts, self._size = [], 0
