"""What each line of the fault palette is made from: the spot with all that is known of it, and moments in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from trunkline.app.view.faults.cursor_context import CursorContext
from trunkline.app.view.faults.palette import AFTER, FaultTime
from trunkline.app.view.faults.upcoming import Upcoming
from trunkline.sim.run.runner import LINGER
from trunkline.sim.scenario import ScenarioFile

#: seconds that things take which the palette places
DOWN = 1.0
WAIT = 5.0
FROZEN = 90.0
TOKEN_NOTICE = 2.0
SHORT = 0.1


class PaletteContext(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the palette asks about: the spot, what comes after it, the scenario, and its defects."""

    spot: CursorContext
    ahead: Upcoming
    file: ScenarioFile
    #: the defects that are on
    on: tuple[str, ...] = ()
    #: the defects that the scenario declares
    declared: tuple[str, ...] = ()

    @property
    def at(self) -> float:
        """When a step comes that comes now: after all that happens at the instant of the cursor."""
        return round(self.spot.at + AFTER, 6) if self.spot.seq else 0.0

    @property
    def armed(self) -> float:
        """When a fault is there that waits for something after the cursor, maybe in the same instant."""
        return round(self.spot.at - AFTER, 6) if self.spot.early else self.at

    @property
    def until(self) -> float:
        """When faults end that wait for something: a while after the last step of the script."""
        return max(self.file.times[-1], self.at) + LINGER

    @property
    def there(self) -> str:
        """Where sends go that are meant."""
        return f" to {self.spot.place}" if self.spot.place else ""


#: moments, or the sentence that says why there are none
FaultTimes = tuple[FaultTime, ...] | str
Maker = Callable[[PaletteContext], FaultTimes]
NO_PROCESS = "not here: no gateway process runs at this moment"
STANDS_BY = "not here: operators speak to the first process, and the second one works the store"
NOWHERE = "not here: the cursor is in no conversation; put it on a message"


def fault_times(site: PaletteContext, what: str, step: dict[str, Any]) -> tuple[FaultTime, ...]:
    """Now, or right after one of the next messages."""
    return tuple(_times(site, what, step))


def _times(site: PaletteContext, what: str, step: dict[str, Any]) -> Iterator[FaultTime]:
    yield FaultTime(label="now", told=what, brief=what, at=site.at, step=step)
    for number, message in enumerate(site.ahead.messages, 1):
        told = f"after {message.text} ({message.where}): {what}"
        yield FaultTime(label=f"after {number}", told=told, brief=what, at=round(message.at + AFTER, 6), step=step)


def named(process: str) -> str:
    """A process, in a sentence."""
    return "the gateway" if process == "gateway" else f"the process {process}"


def which(process: str) -> dict[str, Any]:
    """The field of a step that names a process; the first one needs none."""
    return {} if process == "gateway" else {"process": process}


def ordered(fault: dict[str, Any]) -> dict[str, Any]:
    """The fields in the order in which files have them."""
    return {name: fault[name] for name in ("on", "do", "in", "nth", "for") if name in fault}
