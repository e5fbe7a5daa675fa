"""A trace file that is written while its events happen, so that it can be followed, and is whole up to a kill."""

from collections.abc import Callable
from pathlib import Path

from trunkline.core.errors import UsageError
from trunkline.core.events import Event, TraceHeader, base, encode_event, trace
from trunkline.sim.wire.line_file import LineFile


class TraceFile:
    """Writes a trace. Raises `UsageError` if there can be no such file.

    What cannot be written any more, as on a full disk, is a `problem`, and `broken` is called.
    """

    def __init__(self, path: Path, broken: Callable[[], None]) -> None:
        self.path = path
        self._broken = broken
        #: what happened before the header was known
        self._waiting: list[Event] | None = []
        self._last: Event | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = LineFile(path, "the trace")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror or error}: the trace cannot be written") from error

    @property
    def problem(self) -> str:
        """Why the file has ended too early."""
        return self._file.problem

    def begin(self, header: TraceHeader) -> None:
        self._line(trace.encode_header(header))
        waiting, self._waiting = self._waiting or [], None
        for event in waiting:
            self.write(event)

    def write(self, event: Event) -> None:
        if self._waiting is not None:
            self._waiting.append(event)
            return
        self._last = event
        self._line(encode_event(event))

    def end(self, cut: str) -> None:
        """Close the file. A trace without an end gets an end with the reason of the cut."""
        last = self._last
        if last is not None and not isinstance(last.body, base.RunEnded):
            ended = base.RunEnded(at_rest=False, cut=cut)
            self._line(encode_event(Event(seq=last.seq + 1, at=last.at, node="sim", body=ended)))
        self._file.close()

    def _line(self, line: bytes) -> None:
        broken = self.problem
        self._file.write(line)
        if self.problem and not broken:
            self._broken()
