"""A file that takes lines while things happen, so that it is whole up to the moment of a kill."""

from pathlib import Path


class LineFile:
    """Writes lines, each at once. `end`: what ends when a line cannot be written any more, as on a full disk.

    Raises `OSError` if there can be no such file; what goes wrong later is a `problem`, and nothing more is written.
    """

    def __init__(self, path: Path, end: str) -> None:
        self._path, self._end = path, end
        #: why the file has ended too early
        self.problem = ""
        self._file = path.open("wb")

    def write(self, line: bytes) -> None:
        if self.problem:
            return
        try:
            self._file.write(line + b"\n")
            self._file.flush()
        except OSError as error:
            self.problem = f"{self._path}: {error.strerror or error}: {self._end} ends there"

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:
            self.problem = self.problem or f"{self._path}: {error.strerror or error}"
