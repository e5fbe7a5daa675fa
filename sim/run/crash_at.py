"""Crashes at exact points of a run: after the n-th commit, or after the n-th step of the loop.

The commit is durable, and whoever asked for it never learns; the step is any callback of any task. The process is
killed, or told to stop in order. A run may have several such crashes: each is armed when the process that the one
before it ended is back, and counts from there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Literal

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.events import Event
from trunkline.core.events.gateway import ProcessStarted
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.run.gateway_process import GatewayProcess
from trunkline.sim.run.world import World


class CrashAt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the gateway ends. `n` counts from 1: of the first crash over the whole run, of others from the restart."""

    what: Literal["commit", "step"]
    n: int
    kind: Literal["kill", "stop"] = "kill"
    restart_after: float = 1.0

    @property
    def point(self) -> str:
        """As a command line takes it: ``commit:17``."""
        return f"{self.what}:{self.n}"

    @property
    def name(self) -> str:
        """As the header of a trace has it: ``kill commit:17``."""
        return f"{self.kind} {self.point}"


def crash_at(text: str, *, kind: Literal["kill", "stop"] = "kill") -> CrashAt:
    """Read a point such as ``commit:17`` or ``step:512``. Raises `UsageError`."""
    what, _, number = text.strip().partition(":")
    if what not in ("commit", "step") or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise UsageError(f"{text!r} is no point of a run: expected commit:N or step:N, with N from 1")
    return CrashAt(what="commit" if what == "commit" else "step", n=int(number), kind=kind)


class Crashes:
    """The crashes of one run: the first is armed at once, each other when the process is back."""

    def __init__(self, world: World, process: GatewayProcess, crashes: Sequence[CrashAt]) -> None:
        self._world = world
        self._process = process
        self._left = deque(crashes)
        #: the crash that is armed or on its way, and what it is called in the trace
        self._armed: CrashAt | None = None
        self._why = ""
        #: what the crashes that happened are called in the trace: seen there, not concluded
        self.whys: list[str] = []
        #: stops that were asked for, and something else ended the process before it had stopped
        self.overtaken = 0
        self._asked = False
        world.log.subscribe(self._ended, ProcessCrashed, ProcessStopped)
        world.log.subscribe(self._started, ProcessStarted)
        self._arm()

    @property
    def over(self) -> int:
        """How many of them have ended a process, or found it ended."""
        return len(self.whys) + self.overtaken

    def _ended(self, event: Event) -> None:
        assert isinstance(event.body, ProcessCrashed | ProcessStopped)
        if self._armed is None:
            return
        if event.body.why == self._why:
            self.whys.append(self._why)
        elif self._asked and not self._process.stopping:
            self.overtaken += 1
        else:
            return
        self._armed, self._asked = None, False

    def _started(self, event: Event) -> None:
        if self._armed is None and event.node == self._process.name:
            self._arm()

    def _arm(self) -> None:
        if not self._left:
            return
        crash = self._armed = self._left.popleft()
        later = self.over > 0
        word = "crash" if crash.kind == "kill" else "stop"
        self._why = f"{word} at {crash.what} {crash.n}{' after the restart' if later else ''}"
        if crash.what == "commit":
            self._at_commit(crash, crash.n + (self._world.disk.commits if later else 0))
        else:
            # A restart is seen inside of a step, which is the first of the new process.
            self._at_step(crash, crash.n + (self._world.loop.steps - 1 if later else 0))

    def _at_step(self, crash: CrashAt, last: int) -> None:
        def on_step(count: int) -> bool:
            if count < last:
                return False
            self._end(crash)
            return True

        self._world.watch_steps(on_step)

    def _at_commit(self, crash: CrashAt, last: int) -> None:
        def on_commit(count: int) -> None:
            if count == last:
                # What the callback that commits does is done, and nothing comes after it.
                self._world.watch_steps(lambda _: self._end(crash) or True)

        self._world.on_commit = on_commit

    def _end(self, crash: CrashAt) -> None:
        if crash.kind == "kill":
            self._process.kill(self._why, None, crash.restart_after)
        elif self._process.alive:
            self._asked = True
            self._process.stop(self._why, None, crash.restart_after)
