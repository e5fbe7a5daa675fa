"""Bug switches: named defects, most from public reports, off by default, each caught by an invariant when on.

Each defect below `@bug` in a module here is one: there is no list to forget it in.
"""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from trunkline.core.errors import UnknownName
from trunkline.sim.bugs.base import DECLARED, Bug
from trunkline.sim.scenario.names import unknown_word

#: every bug switch by name, a module after another
BUGS: dict[str, Bug] = {
    bug.name: bug
    for found in iter_modules(__path__, f"{__name__}.")
    for bug in DECLARED[import_module(found.name).__name__]
}


def find_bugs(name: str, known: Mapping[str, Bug] = BUGS) -> tuple[str, ...]:
    """The switch of a name, or the switches of a report such as ``B001``. Raises `UnknownName`."""
    if name in known:
        return (name,)
    found = tuple(bug.name for bug in known.values() if name.upper() in bug.reports)
    if not found:
        _, hint = unknown_word("a bug switch", name, known) or ("", "")
        raise UnknownName(f"no bug switch {name!r}; {hint or 'there is none like it'} (see `trunkline bugs`)")
    return found


__all__ = ["BUGS", "Bug", "find_bugs"]
