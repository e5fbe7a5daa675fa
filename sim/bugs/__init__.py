"""Bug switches: named defects, most from public reports, off by default, each caught by an invariant when on."""

from trunkline.core.errors import UnknownName
from trunkline.sim.bugs.adapters import ADAPTER_BUGS
from trunkline.sim.bugs.base import Bug
from trunkline.sim.bugs.bindings import BINDING_BUGS
from trunkline.sim.bugs.completions import COMPLETION_BUGS
from trunkline.sim.bugs.hands import HAND_BUGS
from trunkline.sim.bugs.inbound_and_loss import INBOUND_BUGS
from trunkline.sim.bugs.leases import LEASE_BUGS
from trunkline.sim.bugs.mirrors import MIRROR_BUGS
from trunkline.sim.bugs.queue import QUEUE_BUGS
from trunkline.sim.bugs.return_address import RETURN_ADDRESS_BUGS
from trunkline.sim.bugs.routing import ROUTING_BUGS
from trunkline.sim.bugs.send_paths import SEND_PATH_BUGS
from trunkline.sim.bugs.sessions import SESSION_BUGS
from trunkline.sim.bugs.turn_output import TURN_OUTPUT_BUGS
from trunkline.sim.bugs.webhook_identity import WEBHOOK_BUGS

#: every bug switch by name
BUGS: dict[str, Bug] = {
    bug.name: bug
    for bug in (
        *(*HAND_BUGS, *COMPLETION_BUGS, *RETURN_ADDRESS_BUGS, *ROUTING_BUGS, *SESSION_BUGS),
        *(*INBOUND_BUGS, *LEASE_BUGS, *SEND_PATH_BUGS),
        *(*ADAPTER_BUGS, *QUEUE_BUGS, *MIRROR_BUGS, *TURN_OUTPUT_BUGS, *WEBHOOK_BUGS),
        *BINDING_BUGS,
    )
}


def find_bugs(name: str) -> tuple[str, ...]:
    """The switch of a name, or the switches of a report such as ``B001``. Raises `UnknownName`."""
    if name in BUGS:
        return (name,)
    found = tuple(bug.name for bug in BUGS.values() if name.upper() in bug.reports)
    if not found:
        from difflib import get_close_matches

        near = get_close_matches(name, BUGS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UnknownName(f"no bug switch {name!r}{hint} (see `trunkline bugs`)")
    return found


__all__ = ["BUGS", "Bug", "find_bugs"]
