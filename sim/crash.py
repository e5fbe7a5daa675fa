"""A crash at an exact point of a run: after the n-th commit, or after the n-th step of the loop.

The commit is durable, and whoever asked for it never learns; the step is any callback of any task.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from sim.process import GatewayProcess
from sim.world import World


class CrashAt(msgspec.Struct, frozen=True, kw_only=True):
    """Where the gateway dies. `n` counts from 1 over the whole run."""

    what: Literal["commit", "step"]
    n: int
    restart_after: float = 1.0


def arm(world: World, process: GatewayProcess, crash: CrashAt) -> None:
    """Have the process die there."""
    why = f"crash at {crash.what} {crash.n}"
    if crash.what == "commit":

        def on_commit(count: int) -> None:
            if count == crash.n:
                process.kill_soon(why, None, crash.restart_after)

        world.on_commit = on_commit
        return

    def on_step(count: int) -> None:
        if count >= crash.n:
            world.loop.on_step = None
            process.kill(why, None, crash.restart_after)

    world.loop.on_step = on_step
