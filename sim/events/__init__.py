"""Events that only the simulator records. Importing this package registers all of them, so their traces can be read."""

from trunkline.sim.events import processes, script, wire, world

__all__ = ["processes", "script", "wire", "world"]
