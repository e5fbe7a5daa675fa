"""Starts and kills the processes of ``trunkline serve``, at once and without waiting for an event loop.

    python -m tests.kill.platforms.servers CONFIG

has everything imported that the configuration needs, and forks servers; see `tests.kill.http.servers`.
"""

import os
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from tests.kill.http.servers import fork_until_input_ends
from tests.kill.platforms.defects import DEFECT, plant
from tests.support.paths import ROOT


class PromptServers:
    """One process at a time."""

    def __init__(self, config: Path, defect: str = "") -> None:
        self._log = (config.parent / "servers.log").open("ab")
        self._forks = subprocess.Popen(
            [sys.executable, "-m", "tests.kill.platforms.servers", str(config)],
            cwd=ROOT,
            env={**os.environ, DEFECT: defect},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
            text=True,
            bufsize=1,
        )
        #: of the process that lives; 0: none does
        self.pid = 0

    def start(self) -> None:
        """Start a server; it is not connected yet."""
        self.pid = int(self._ask("start"))

    def strike(self) -> None:
        """Kill the server; it is gone when `reap` returns."""
        os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> None:
        """Wait until the killed server has ended."""
        status = self.wait()
        assert status == -signal.SIGKILL, f"the server ended by itself: {status}"

    def wait(self) -> int:
        """Wait until the server has ended; how it did."""
        self.pid, status = 0, int(self._ask("wait"))
        return status

    def close(self) -> None:
        """End the forking process, and with it the server."""
        assert self._forks.stdin is not None
        self._forks.stdin.close()
        try:
            self._forks.wait(10)
        except subprocess.TimeoutExpired:
            self._forks.kill()
            self._forks.wait()
        assert self._forks.stdout is not None
        self._forks.stdout.close()
        self._log.close()

    def _ask(self, line: str) -> str:
        assert self._forks.stdin is not None
        assert self._forks.stdout is not None
        self._forks.stdin.write(f"{line}\n")
        answer = self._forks.stdout.readline().strip()
        assert answer, "the process that forks servers has ended; servers.log says why"
        return answer


def _import_platforms(config: Path) -> None:
    """Import once what each server would."""
    from trunkline.app.serve.settings import load_settings

    for account in load_settings(config).config.accounts:
        if account.platform is not None:
            import_module(f"trunkline.core.adapters.{account.on}.adapter")


if __name__ == "__main__":
    _import_platforms(Path(sys.argv[1]))
    if os.environ.get(DEFECT):
        plant(os.environ[DEFECT])
    fork_until_input_ends(Path(sys.argv[1]))
