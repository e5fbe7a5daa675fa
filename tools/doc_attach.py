"""The references of gateway profiles, from their model and the table of slots."""

from tests.support.attach.toy_defects import TOY_DEFECTS
from tools.doc_scenarios import reference
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.rendering import COMMON, OF_PLATFORM
from trunkline.sim.attach.toy.gateway import DEFECTS


def profile_reference() -> str:
    """The fields of a profile as Markdown."""
    return reference(GatewayProfile)


def slots_table() -> str:
    """The slots as a table."""
    rows = ["| slot | |", "|---|---|", *(f"| `${{{name}}}` | {what} |" for name, what in COMMON.items())]
    for platform, slots in OF_PLATFORM.items():
        rows += [f"| `${{{platform}.{name}}}` | {what} |" for name, what in slots.items()]
    return "\n".join(["", *rows, "", ""])


def toy_defects_table() -> str:
    """The defects of the toy gateway as a table."""
    rows = ["| defect | the mistake | breaks |", "|---|---|---|"]
    for one in TOY_DEFECTS:
        rows.append(f"| `{one.name}` | {DEFECTS[one.name]} | {', '.join([one.found_by, *one.also])} |")
    return "\n".join(["", *rows, "", ""])
