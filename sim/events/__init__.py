"""Events that only simulated runs have. Importing this package registers them, so that their traces can be read.

`BODIES` are then those of all events.
"""

from trunkline.core.events import BODIES
from trunkline.sim.events import actions, attach, hands, model, processes, script, wire, world

__all__ = ["BODIES", "actions", "attach", "hands", "model", "processes", "script", "wire", "world"]
