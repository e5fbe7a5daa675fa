"""The record of the wire: a trace file for each world."""

from __future__ import annotations

from pathlib import Path

from trunkline.core.errors import UsageError
from trunkline.core.events import Event, TraceHeader, encode_event
from trunkline.core.events.base import RunEnded
from trunkline.core.events.trace import encode_header
from trunkline.sim.wire.line_file import LineFile


class WireRecord:
    """Writes each event as it happens, so that a file is whole up to the moment of a kill. Raises `UsageError`.

    What nobody can write any more, as on a full disk, ends the record with an error, and not the fakes.
    """

    def __init__(self, path: Path, scenario: str) -> None:
        self._path = path
        self._scenario = scenario
        self._seq = 0
        self._at = 0.0
        self.files: list[Path] = []
        #: why the record has ended too early
        self.problem = ""
        self._open()

    def _open(self) -> None:
        number = len(self.files)
        path = self._path if number == 0 else self._path.with_stem(f"{self._path.stem}-{number + 1}")
        header = TraceHeader(
            scenario=self._scenario, title="the wire of trunkline fakes", of_gateway=True, on_wire=True
        )
        try:
            self._file = LineFile(path, "the record")
        except OSError as error:
            raise UsageError(f"--record {path}: {error.strerror or error}") from error
        self.files.append(path)
        self._line(encode_header(header))

    def write(self, event: Event) -> None:
        """Write an event."""
        self._seq, self._at = event.seq, event.at
        self._line(encode_event(event))

    def _line(self, line: bytes) -> None:
        if not self.problem:
            self._file.write(line)
            self.problem = self._file.problem

    def begin_next(self) -> None:
        """Go on in the next file: the world begins again."""
        self.end()
        self.close()
        self._open()

    def end(self) -> None:
        """Write the last event. What only the end of a run can break is not judged."""
        body = RunEnded(at_rest=True, cut="when the fakes were stopped")
        self._line(encode_event(Event(seq=self._seq + 1, at=self._at, node="sim", body=body)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self.problem = self.problem or self._file.problem
