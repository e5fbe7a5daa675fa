"""The log of a server: one line for each entry on standard error, as text or JSON.

Lines are written by a thread of their own, so that a slow reader, or a terminal that is paused, holds up nothing:
lines that find no room are counted, and the count is a line. Control characters are escaped, and secrets are left out.
"""

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from trunkline.app.serve.redaction import Redaction
from trunkline.core.agents.log import Ration, shown
from trunkline.core.well_formed import describe

#: the logger of everything that the server says about itself
LOGGER = logging.getLogger("trunkline")
#: lines that may wait to be written
ROOM = 10_000
#: characters of one value, and of one traceback
_LONGEST, _LONGEST_TRACEBACK = 2_000, 20_000
#: seconds that the last lines may take
_PATIENCE = 2.0
#: lines per second about entries that cannot be written
_UNWRITABLE = 1.0
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LineFormatter(logging.Formatter):
    def __init__(self, redaction: Redaction, *, as_json: bool) -> None:
        super().__init__()
        self.redaction = redaction
        self.as_json = as_json

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as a line; with a traceback, as several in text."""
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._safe(record.getMessage(), _LONGEST),
        }
        more = {
            name: self._safe(value, _LONGEST) if isinstance(value, str) else value
            for name, value in vars(record).items()
            if name not in _OWN and value not in (None, "", ())
        }
        trace = self._traceback(record)
        if self.as_json:
            return json.dumps({**entry, **more, **({"traceback": trace} if trace else {})}, default=str)
        fields = "".join(f" {name}={_word(value)}" for name, value in more.items())
        lines = [f"{entry['time']} {entry['level']:<7} {entry['logger']}: {entry['message']}{fields}", *trace]
        return "\n    ".join(lines)

    def _traceback(self, record: logging.LogRecord) -> list[str]:
        if not record.exc_info:
            return []
        text = self.redaction.of(self.formatException(record.exc_info))[-_LONGEST_TRACEBACK:]
        return [shown(line, _LONGEST) for line in text.split("\n")]

    def _safe(self, text: str, most: int) -> str:
        return shown(self.redaction.of(text), most)


def _word(value: object) -> str:
    text = str(value)
    return text if text and not set(text) & set(' "=\\') else json.dumps(text, ensure_ascii=False)


class LineHandler(logging.Handler):
    """Hands lines to a thread that writes them to a file descriptor."""

    def __init__(self, descriptor: int = 2, *, room: int = ROOM) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._room = room
        self._lines = deque[str]()
        self._lost = 0
        self._unwritable = Ration(_UNWRITABLE, _UNWRITABLE * 10, time.monotonic())
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one line; never waits and never raises."""
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 -- a bad argument of one entry must not end its caller
            if not self._unwritable.spend(1, time.monotonic()):
                self._lost += 1
                return
            # A traceback reads files: without descriptors it cannot be made.
            line = shown(f"log: an entry of {record.name} cannot be written ({describe(error)})", _LONGEST)
        if len(self._lines) >= self._room:
            self._lost += 1
        else:
            self._lines.append(line)
        self._wake.set()

    def close(self) -> None:
        """Write what is left, for a short time."""
        self._ending.set()
        self._wake.set()
        self._thread.join(_PATIENCE)
        super().close()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            ending = self._ending.is_set()
            lines = list[str]()
            while self._lines:
                lines.append(self._lines.popleft())
            lost, self._lost = self._lost, 0
            if lost:
                lines.append(f"log: {lost} lines were lost: there were too many, or nobody read them fast enough")
            self._write(lines)
            if ending and not self._lines:
                return

    def _write(self, lines: list[str]) -> None:
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
        # Without standard error, or with a full disk behind it, the gateway goes on.
        with suppress(OSError):
            while data:
                data = data[os.write(self._descriptor, data) :]


class Logs:
    def __init__(self, handler: LineHandler, formatter: LineFormatter) -> None:
        self.redaction = formatter.redaction
        self._formatter = formatter
        handler.setFormatter(formatter)
        #: called with each new level
        self.watch: Callable[[int], None] = lambda _level: None

    def set(self, level: str, form: str) -> None:
        """Change what is written, and how."""
        self._formatter.as_json = form == "json"
        LOGGER.setLevel(level.upper())
        self.watch(LOGGER.level)


@contextmanager
def logging_to_stderr(level: str, form: str, redaction: Redaction) -> Generator[Logs]:
    """Write the log while the block runs. Of libraries only warnings are written: they may log what is secret."""
    handler = LineHandler()
    root, before = logging.getLogger(), logging.getLogger().level
    logs = Logs(handler, LineFormatter(redaction, as_json=form == "json"))
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logs.set(level, form)
    try:
        yield logs
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        LOGGER.setLevel(logging.NOTSET)
        handler.close()
