"""Crashes at exact points of a run: after the Nth commit, or after the Nth step of the loop.

The commit is durable, but its caller never learns of it; a step is any callback of any task. The process is killed, or
asked to stop gracefully. A run may have several crashes: each is armed when the process has restarted after the
previous one, and counts from there.
"""

import re
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.events import Event, gateway
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.run.gateway_process import GatewayProcess
from trunkline.sim.run.world import World

#: the number of a point; no run has more of them
_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


class CrashAt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A crash point. `n` counts from 1: for the first crash from the start of the run, for others from the restart."""

    what: Literal["commit", "step"]
    n: int
    kind: Literal["kill", "stop"] = "kill"
    restart_after: float = 1.0

    @property
    def point(self) -> str:
        """The form of the command line: ``commit:17``."""
        return f"{self.what}:{self.n}"

    @property
    def name(self) -> str:
        """The form of a trace header: ``kill commit:17``."""
        return f"{self.kind} {self.point}"


def crash_at(text: str, *, kind: Literal["kill", "stop"] = "kill") -> CrashAt:
    """Parse a point such as ``commit:17`` or ``step:512``. Raises `UsageError`."""
    what, _, number = text.strip().partition(":")
    if what not in ("commit", "step") or not _NUMBER.fullmatch(number):
        raise UsageError(f"{text!r} is no point of a run: expected commit:N or step:N, with N from 1")
    return CrashAt(what="commit" if what == "commit" else "step", n=int(number), kind=kind)


class Crashes:
    """The crashes of one run: the first is armed at once, each later one when the process has restarted."""

    def __init__(self, world: World, process: GatewayProcess, crashes: Sequence[CrashAt]) -> None:
        self._world = world
        world.reached.forget()
        self._process = process
        self._left = deque(crashes)
        #: the crash that is armed or in progress, and its reason in the trace
        self._armed: CrashAt | None = None
        self._why = ""
        #: reasons of the crashes that happened, as seen in the trace
        self.whys: list[str] = []
        #: requested stops during which something else ended the process
        self.overtaken = 0
        self._asked = False
        world.log.subscribe(self._note_end, ProcessCrashed, ProcessStopped)
        world.log.subscribe(self._arm_first, gateway.ProcessStarted)
        self._arm()

    @property
    def over(self) -> int:
        """The number of crashes that ended a process, or found it ended."""
        return len(self.whys) + self.overtaken

    def _note_end(self, event: Event) -> None:
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

    def _arm_first(self, event: Event) -> None:
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
            # A restart is seen inside a step, which is the first of the new process.
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
                # The callback that commits runs to its end, and nothing runs after it.
                self._world.after_step(partial(self._end, crash))

        self._world.on_commit = on_commit

    def _end(self, crash: CrashAt) -> None:
        if crash.kind == "kill":
            self._process.kill(self._why, None, crash.restart_after)
        elif self._process.alive:
            self._asked = True
            self._process.stop(self._why, None, crash.restart_after)
