"""An example of a plug-in for Trunkline: one object of each kind."""

from trunkline.sim.plugins import Plugin
from trunkline_acme.cast import Clerk, Polite, Search
from trunkline_acme.defects import BUGS
from trunkline_acme.promises import InTime, NoShouting, QuietOutside
from trunkline_acme.world import Pager, every_third

PLUGIN = Plugin(
    name="acme",
    version="0.1",
    seam=1,
    bugs=BUGS,
    invariants=[NoShouting, QuietOutside, InTime],
    agents={"acme.clerk": Clerk},
    hands={"acme.search": Search},
    hooks={"acme.polite": Polite},
    faults={"acme.third": every_third},
    fakes=[Pager],
)
