"""Servers of ``trunkline serve``: a process that has everything imported forks them, one at a time.

    python -m tests.kill.http.servers CONFIG

reads lines of its input: ``start`` forks a server and answers its process id, ``wait`` answers when it has ended. When
the input ends, the server that is left is killed.
"""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.abc
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.support.paths import ROOT

_LONGEST_LINE = 100


class Servers:
    """Starts servers, kills them, and waits for their end."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._out = process.stdin
        self._in = BufferedByteReceiveStream(process.stdout)
        self.pid = 0

    async def start(self) -> None:
        """Start a server; it does not listen yet."""
        self.pid = int(await self._ask("start"))

    async def kill(self) -> None:
        """Kill the server, and wait until it has ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        status = await self._ask("wait")
        assert status == str(-signal.SIGKILL), f"the server ended by itself: {status}"

    async def _ask(self, line: str) -> str:
        await self._out.send(f"{line}\n".encode())
        return (await self._in.receive_until(b"\n", _LONGEST_LINE)).decode()


@asynccontextmanager
async def servers(config: Path) -> AsyncGenerator[Servers]:
    """The forking process; in the end nothing of it is left."""
    with (config.parent / "servers.log").open("ab") as log:
        command = [sys.executable, "-m", "tests.kill.http.servers", str(config)]
        process = await anyio.open_process(command, cwd=ROOT, stderr=log, start_new_session=True)
    async with process:
        try:
            yield Servers(process)
        finally:
            assert process.stdin is not None
            with anyio.CancelScope(shield=True):
                await process.stdin.aclose()
                with anyio.move_on_after(10):
                    await process.wait()
            if process.returncode is None:
                process.kill()


def _serve(config: Path) -> None:
    """Be a server, in a forked process."""
    from trunkline.app.serve.process import run_server
    from trunkline.app.serve.settings import load_settings

    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    code = 1
    try:
        code = run_server(load_settings(config))
    finally:
        sys.stderr.flush()
        os._exit(code)


def fork_until_input_ends(config: Path) -> None:
    """Fork servers as the lines of the input say."""
    import trunkline.app.serve.process
    import trunkline.app.serve.settings

    pid = 0
    assert trunkline.app.serve.process, trunkline.app.serve.settings
    try:
        for line in iter(sys.stdin.readline, ""):
            if line == "start\n":
                pid = os.fork()
                if pid == 0:
                    _serve(config)
                answer = pid
            else:
                _, status = os.waitpid(pid, 0)
                pid, answer = 0, os.waitstatus_to_exitcode(status)
            print(answer, flush=True)
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    fork_until_input_ends(Path(sys.argv[1]))
