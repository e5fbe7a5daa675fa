"""The processes of a gateway that is not ours: one tree, which is started, killed, stopped and frozen as a whole."""

import asyncio
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anyio

from trunkline.sim.attach.process import guard
from trunkline.sim.attach.process.gateway_log import GatewayLog

#: seconds in which the guard answers, also on a machine with too much to do
_SLOW = 10.0
_AT_ONCE = 65_536


class ProcessTree:
    """The processes of one start of a gateway. All of them end with it, and with the process that holds this object.

    The gateway gets `environment` and nothing else. It has ended when its first process has: what that leaves behind
    is killed, as under an init system. To be used in a running event loop; nothing here waits but `wait`, and `kill`
    and `freeze` for some milliseconds, until it is done.
    """

    #: why there is no PID namespace on this machine; None: not known yet; empty: there is
    refused: ClassVar[str | None] = None

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        log: GatewayLog,
        *,
        namespace: bool = sys.platform == "linux",
    ) -> None:
        self.command = tuple(command)
        self._spec = {"command": self.command, "environment": dict(environment), "folder": str(folder)}
        self._log = log
        self._namespace = namespace and not ProcessTree.refused
        #: why there is no process of the command, e.g. ``command not found: hermes``
        self.failure = ""
        #: how many processes its first one left behind when that ended
        self.left = 0
        #: negative for a signal; None while a process of the gateway runs
        self.exit_code: int | None = None
        #: the code that the guard has reported; the others are still ending
        self._reported: int | None = None
        self._waiting: list[asyncio.Future[int]] = []
        self._done: list[str] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        #: the guard, by a number that is never used again
        self._held = -1
        self._init = 0
        self._buffer = b""
        self._control = self._status = self._output = -1

    def start(self) -> None:
        """Start the gateway. An unusable command ends with the code 127 and a `failure`."""
        taken, self._control = os.pipe()
        self._status, reports = os.pipe()
        self._output, written = os.pipe()
        program = [sys.executable, "-I", "-S", guard.__file__, str(taken), str(reports)]
        try:
            self._guard = subprocess.Popen(  # noqa: S603 -- the command of a profile that the user chose
                program,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
                pass_fds=(taken, reports),
                start_new_session=True,
            )
        finally:
            for descriptor in (taken, reports, written):
                os.close(descriptor)
        for descriptor in (self._status, self._output, self._control):
            os.set_blocking(descriptor, False)
        loop = self._loop = asyncio.get_running_loop()
        loop.add_reader(self._status, self._reported_something)
        loop.add_reader(self._output, self._drain, 1)
        self._order(json.dumps(self._spec | {"namespace": self._namespace}).encode() + b"\n")

    async def wait(self) -> int:
        """Wait for the end of the gateway; returns the exit code."""
        if self.exit_code is None:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future
        assert self.exit_code is not None
        return self.exit_code

    def pids(self) -> list[int]:
        if self._guard is None or self.exit_code is not None:
            return []
        return [pid for pid in guard.descendants(self._guard.pid) if pid != self._init]

    def last_lines(self, count: int = 20) -> tuple[str, ...]:
        self._drain(100)
        return self._log.last_lines(count)

    def kill(self) -> None:
        """SIGKILL to every process; none is left when this returns."""
        if self.exit_code is not None or self._guard is None:
            return
        self._listen_until(lambda: self._init > 0)
        if self.exit_code is not None:
            return
        if self._reported is None:
            self._reported = -signal.SIGKILL
        if self._namespace:
            self._kill_guard()
        else:
            self._order(guard.KILL)
            with contextlib.suppress(TimeoutError):
                self._listen_until(lambda: False)
        self._finish(self._reported)

    def freeze(self) -> None:
        """SIGSTOP to every process; all stand still when this returns."""
        if self.exit_code is None and self._guard is not None:
            self._signal_known(signal.SIGSTOP)
        self._do(guard.STOP)

    def thaw(self) -> None:
        self._do(guard.CONTINUE)

    def terminate(self) -> None:
        """SIGTERM to the first process, as an init system does."""
        self._order(guard.TERMINATE)

    def _do(self, order: bytes) -> None:
        if self.exit_code is not None:
            return
        self._done.clear()
        self._order(order)
        self._listen_until(lambda: order.decode() in self._done)

    def _signal_known(self, number: signal.Signals) -> None:
        """A signal to each process below the guard, while that one certainly lives."""
        if self._init and (self._held < 0 or not _readable(self._held, 0.0)):
            for pid in guard.descendants(self._init):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def _order(self, what: bytes) -> None:
        if self._control >= 0:
            # A guard that has just ended has reported why.
            with contextlib.suppress(BrokenPipeError):
                os.write(self._control, what)

    def _reported_something(self) -> None:
        while self._status >= 0:
            try:
                data = os.read(self._status, _AT_ONCE)
            except BlockingIOError:
                return
            if not data:
                self._finish(1 if self._reported is None else self._reported)
                return
            self._buffer += data
            *lines, self._buffer = self._buffer.split(b"\n")
            for line in lines:
                self._take(json.loads(line))

    def _take(self, fields: dict[str, Any]) -> None:
        match fields:
            case {"refused": str(why)}:
                ProcessTree.refused = why or "refused"
                self._close()
                self._namespace = False
                self._init, self._buffer = 0, b""
                self.start()
            case {"init": int(pid)}:
                self._init = pid
                if self._namespace and self._guard is not None:
                    ProcessTree.refused = ""
                    # Else it has ended already, or the system has no such numbers.
                    with contextlib.suppress(OSError):
                        self._held = os.pidfd_open(pid)
            case {"failed": str(why)}:
                self.failure = why
            case {"done": str(what)}:
                self._done.append(what)
            case {"exit": int(code), "left": int(left)}:
                self._reported, self.left = code, left
            case _:
                raise AssertionError(fields)

    def _listen_until(self, true: Callable[[], bool]) -> None:
        """Take reports until a condition is true, or the gateway has ended."""
        while not true() and self.exit_code is None:
            if not _readable(self._status, _SLOW):
                raise TimeoutError(f"the guard of the gateway's processes has not answered within {_SLOW:g} s")
            self._reported_something()

    def _kill_guard(self) -> None:
        """Kill the first process of the namespace: the kernel ends all others before it reports the end of that one.

        On a busy machine that one first has to get its turn. So those that are known get their signal before.
        """
        self._signal_known(signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            if self._held >= 0:
                signal.pidfd_send_signal(self._held, signal.SIGKILL)
            else:
                os.kill(self._init, signal.SIGKILL)

    def _finish(self, code: int) -> None:
        """Wait until no process is left, which takes milliseconds, and note the end."""
        if self.exit_code is not None:
            return
        if self._held >= 0:
            _readable(self._held, _SLOW)
        self._drain(1000)
        self._close()
        self.exit_code = code
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(code)

    def _close(self) -> None:
        loop = self._loop
        for descriptor in (self._status, self._output):
            if descriptor >= 0 and loop is not None:
                loop.remove_reader(descriptor)
        for descriptor in (self._control, self._status, self._output, self._held):
            if descriptor >= 0:
                os.close(descriptor)
        self._control = self._status = self._output = self._held = -1
        if self._guard is not None:
            # Without its pipe it ends, if it has not yet.
            try:
                self._guard.wait(_SLOW)
            except subprocess.TimeoutExpired:
                self._guard.kill()
                self._guard.wait()

    def _drain(self, times: int) -> None:
        """Take output. `times`: how often at most, so that a flood does not hold the loop."""
        for _ in range(times if self._output >= 0 else 0):
            try:
                data = os.read(self._output, _AT_ONCE)
            except BlockingIOError:
                return
            if not data and self._loop is not None:
                self._loop.remove_reader(self._output)
            if not data:
                return
            self._log.feed(data)


def _readable(descriptor: int, timeout: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(timeout * 1000))


async def run_to_end(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, log: GatewayLog, *, within: float
) -> str:
    """Run a command; why it failed, or nothing. Its output goes to `log`. No process of it is left in any case."""
    tree = ProcessTree(command, environment, folder, log)
    tree.start()
    code: int | None = None
    try:
        with anyio.move_on_after(within):
            code = await tree.wait()
    finally:
        tree.kill()
    said = " ".join(command)
    if code is None:
        return f"`{said}` did not end within {within:g} s"
    if tree.failure:
        return tree.failure
    if code < 0:
        return f"`{said}` was ended by {signal.Signals(-code).name}"
    return f"`{said}` ended with the code {code}" if code else ""
