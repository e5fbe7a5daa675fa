"""The output of a gateway: a file with an end, and the last lines."""

import re
from pathlib import Path

from trunkline.core.errors import UsageError

#: bytes of the file, and of the end that is kept beyond them
MOST, KEPT = 16_000_000, 64_000
#: colours, titles, cursor movements; then what is left of control characters
_SEQUENCES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_LONGEST_LINE = 500


class GatewayLog:
    """Takes what the processes of a gateway write, start after start. What is beyond `most` bytes is not stored.

    Raises `UsageError` if the file cannot be written.
    """

    def __init__(self, path: Path, most: int = MOST) -> None:
        self.path = path
        #: bytes that were written by the gateway
        self.bytes = 0
        #: why the file is not whole
        self.problem = ""
        self._most = most
        self._wanted: re.Pattern[str] | None = None
        self._dreaded: re.Pattern[str] | None = None
        self._line = b""
        #: whether a line fits what was looked for
        self.found = False
        #: the line that fits what must not come; empty: none has come
        self.dreaded = ""
        self._end = bytearray()
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}: the gateway's log cannot be written") from error

    def look_for(self, line: str, dreaded: str = "") -> None:
        """Look for lines that fit regular expressions in the output from now on; also beyond the end of the file."""
        self._wanted, self._line, self.found = re.compile(line) if line else None, b"", False
        self._dreaded, self.dreaded = re.compile(dreaded) if dreaded else None, ""

    def _look(self, data: bytes) -> None:
        *lines, rest = (self._line + data).split(b"\n")
        # A line that does not end yet may be all that there will be.
        for line in (found.rstrip(b"\r").decode(errors="replace") for found in (*lines, rest)):
            self.found = self.found or (self._wanted is not None and self._wanted.search(line) is not None)
            if not self.dreaded and self._dreaded is not None and self._dreaded.search(line):
                self.dreaded = line.strip()[:_LONGEST_LINE]
        self._line = rest[-KEPT:]

    def feed(self, data: bytes) -> None:
        if (self._wanted is not None and not self.found) or (self._dreaded is not None and not self.dreaded):
            self._look(data)
        room = max(0, self._most - self.bytes)
        self.bytes += len(data)
        self._end += data
        del self._end[: -2 * KEPT if len(self._end) > 2 * KEPT else 0]
        if room:
            self._write(data[:room])
        if len(data) > room and not self.problem:
            self._write(f"\n[the log ends here, after {self._most:,} bytes]\n".encode())
            self.problem = f"the gateway wrote more than {self._most:,} bytes to its log; {self.path.name} ends there"

    def _write(self, data: bytes) -> None:
        if self.problem:
            return
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            self.problem = f"{self.path}: {error.strerror or error}: the gateway's log ends there"

    def last_lines(self, count: int = 20) -> tuple[str, ...]:
        """The last lines, without what would command a terminal."""
        return last_lines(bytes(self._end[-KEPT:]), count)

    def __enter__(self) -> "GatewayLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self.problem = self.problem or f"{self.path}: {error.strerror or error}"


def last_lines(output: bytes, count: int = 20) -> tuple[str, ...]:
    """The last lines of some output that are not empty, each bounded, without what would command a terminal."""
    text = _CONTROLS.sub("", _SEQUENCES.sub("", output.decode(errors="replace").replace("\r", "\n")))
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    return tuple(line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…" for line in lines[-count:])
