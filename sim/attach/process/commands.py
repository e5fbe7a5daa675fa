"""Commands of a profile that run to their end before the gateway is started."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

from trunkline.sim.attach.process.gateway_log import GatewayLog
from trunkline.sim.attach.process.process_tree import ProcessTree


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
