"""The public seams of the simulator, for plug-ins (docs/plugins.md).

    from trunkline.sim.plugins import SEAM, Bug, Plugin, deciding

    PLUGIN = Plugin(name="acme", seam=1, bugs=[Bug(name="acme.shouts", ...)])

`trunkline run FILE --plugin MODULE` loads it, and so does an entry point of the group ``trunkline.plugins``.
"""

from trunkline.sim.bugs.base import Bug, changing_write, deciding, gateway_part, making, replacing_read, replacing_write
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, each_turn
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, HearingWrapper, swallowing, wrapping
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker, cited
from trunkline.sim.platforms import FakePlatform
from trunkline.sim.plugins.plugin import SEAM, FaultRequest, Hand, HookCall, Plugin, Strike
from trunkline.sim.plugins.toolbox import OURS, Toolbox, load_toolbox, toolbox
from trunkline.sim.scenario.names import PluginError

__all__ = ["OURS", "SEAM", "AdapterWrapper", "Bug", "Checker", "FakePlatform", "FaultRequest", "Hand"]
__all__ += ["HearingWrapper", "HookCall", "Plugin", "PluginError", "RunFacts", "Strike", "Toolbox", "TurnWrapper"]
__all__ += ["Wiring", "changing_write", "cited", "deciding", "each_turn", "gateway_part", "load_toolbox", "making"]
__all__ += ["on", "replacing_read", "replacing_write", "swallowing", "toolbox", "wrapping"]
