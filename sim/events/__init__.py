"""Events that only simulated runs have. Importing this package registers them, so that their traces can be read."""

from trunkline.sim.events import processes, script, wire, world

__all__ = ["processes", "script", "wire", "world"]
