"""The processes of a gateway that is not ours: one tree, which is started, killed, stopped and frozen as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path


class GatewayTree:
    """One start of a gateway. Its output goes to the end of a log file."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> None:
        self._log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(  # noqa: S603 -- the command of a profile that the user chose
                list(command),
                env={"PATH": os.environ.get("PATH", ""), **environment},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def pids(self) -> list[int]:
        """All processes of the tree, the first one first."""
        return [self._process.pid, *_descendants(self._process.pid)]

    def kill(self) -> None:
        """SIGKILL to every process."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def freeze(self) -> None:
        """SIGSTOP to every process."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT to every process."""
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        """SIGTERM to the first process, as an init system does."""
        self._process.send_signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        for pid in self.pids():
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def last_lines(self, count: int = 20) -> tuple[str, ...]:
        """The last lines of its log."""
        with self._log.open(encoding="utf-8", errors="replace") as file:
            return tuple(line.rstrip("\n") for line in deque(file, maxlen=count))


def _descendants(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        children.setdefault(int(stat.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found, todo = list[int](), [pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found
