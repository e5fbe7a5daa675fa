"""Virtual time: an event loop that jumps to the next timer, with one order of callbacks per seed.

    async def main(loop: SimLoop) -> float:
        await anyio.sleep(3600)
        return loop.time()

    run(main, seed=7)  # 3600.0, at once

Programs are ordinary anyio code; nothing is patched. Simulated processes are Nodes: everything scheduled while NODE
holds one belongs to it, and stops permanently when it is killed. Importing this package raises UnsupportedRuntime if
the order of callbacks cannot be guaranteed.

`run_real_time` runs the same programs by the machine's clock and with sockets, for what is on the wire (`sim.wire`).
"""

from trunkline.sim.loop._errors import Deadlock, ForeignThread, SimulationError, StepLimit, UnsupportedRuntime
from trunkline.sim.loop._loop import Order, SimLoop
from trunkline.sim.loop._nodes import NODE, Node
from trunkline.sim.loop._real_time import RealTimeLoop
from trunkline.sim.loop._run import run, run_real_time
from trunkline.sim.loop._tasks import SimTask

__all__ = ["NODE", "Deadlock", "ForeignThread", "Node", "Order", "RealTimeLoop", "SimLoop", "SimTask"]
__all__ += ["SimulationError", "StepLimit", "UnsupportedRuntime", "run", "run_real_time"]
