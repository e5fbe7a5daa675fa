"""Gateway processes, started by a zygote and watched; in the end none of them is left."""

import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.streams.stapled import StapledByteStream

from tests.kill.child import Life
from tests.kill.wire import Ended, Start, Started, Watch, Wire, encode
from tests.kill.worker import WorkerLife
from tests.support.paths import ROOT


class Starter:
    """Starts and watches gateway processes, one at a time, by a zygote."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        #: the process that runs; its number is its own until the next message to the zygote
        self._pid: int | None = None

    async def start(self, life: Life | WorkerLife) -> None:
        """Start a process."""
        await self._wire.tell(Start(life=encode(life).decode()))
        started = await self._wire.hear()
        assert isinstance(started, Started)
        self._pid = started.pid

    async def ended(self) -> int:
        """Wait until the process has ended; how it did."""
        await self._wire.tell(Watch())
        ended = await self._wire.hear()
        assert isinstance(ended, Ended)
        self._pid = None
        return ended.status

    def strike(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send the process a signal, if it has not ended."""
        if self._pid is not None:
            os.kill(self._pid, number)


@asynccontextmanager
async def starter(folder: Path) -> AsyncGenerator[Starter, None]:
    """A zygote, and in the end nothing of it is left."""
    with (folder / "zygote.log").open("ab") as log:
        command = [sys.executable, "-m", "tests.kill.zygote"]
        process = await anyio.open_process(command, cwd=ROOT, stderr=log, start_new_session=True)
    assert process.stdin is not None
    assert process.stdout is not None
    async with process:
        one = Starter(Wire(StapledByteStream(process.stdin, process.stdout)))
        try:
            yield one
        finally:
            if process.returncode is None:
                one.strike()
            with anyio.CancelScope(shield=True):
                await process.stdin.aclose()
                with anyio.move_on_after(10):
                    await process.wait()
            if process.returncode is None:
                process.kill()
