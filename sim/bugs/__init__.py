"""Bug switches: named defects, most from public reports, off by default, each caught by an invariant when on."""

from trunkline.core.errors import UnknownName
from trunkline.sim.bugs import (
    acceptance,
    actions,
    adapters,
    bindings,
    callbacks,
    completions,
    doubt,
    heartbeat,
    inbound_and_loss,
    leases,
    mirrors,
    origins,
    policy,
    queue,
    reports,
    return_address,
    routing,
    runs,
    send_paths,
    sessions,
    turn_output,
    voice,
    webhook_identity,
    workers,
)
from trunkline.sim.bugs.base import DECLARED, Bug

_FAMILIES = (
    *(completions, return_address, routing, sessions, inbound_and_loss, leases, send_paths),
    *(actions, adapters, doubt, queue, mirrors, turn_output, webhook_identity, bindings, runs),
    *(policy, heartbeat, voice),
    *(origins, callbacks, acceptance, workers, reports),
)
#: every bug switch by name
BUGS: dict[str, Bug] = {bug.name: bug for family in _FAMILIES for bug in DECLARED[family.__name__]}


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
