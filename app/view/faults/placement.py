"""The inputs of each line of the fault palette: the cursor with its context, and the moments to place a fault at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from trunkline.app.view.faults.cursor_context import CursorContext
from trunkline.app.view.faults.palette import AFTER, FaultTime
from trunkline.app.view.faults.upcoming import Upcoming
from trunkline.sim.run.runner import LINGER
from trunkline.sim.scenario import ScenarioFile

#: durations of placed faults, seconds
DOWN = 1.0
WAIT = 5.0
FROZEN = 90.0
TOKEN_NOTICE = 2.0
SHORT = 0.1


class PaletteContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of the palette: the cursor, what comes after it, the scenario, and its bug switches."""

    cursor: CursorContext
    upcoming: Upcoming
    file: ScenarioFile
    #: the bug switches that are on
    active: tuple[str, ...] = ()
    #: the bug switches that the scenario declares
    declared: tuple[str, ...] = ()

    @property
    def at(self) -> float:
        """The time of a step placed now: after all events at the instant of the cursor."""
        return round(self.cursor.at + AFTER, 6) if self.cursor.seq else 0.0

    @property
    def armed(self) -> float:
        """The time from which a fault waits for its trigger, which may come in the same instant as the cursor."""
        return round(self.cursor.at - AFTER, 6) if self.cursor.early else self.at

    @property
    def until(self) -> float:
        """When a waiting fault expires: a while after the last step of the script."""
        return max(self.file.times[-1], self.at) + LINGER

    @property
    def destination(self) -> str:
        """The destination of the sends in question, as part of a sentence."""
        return f" to {self.cursor.place}" if self.cursor.place else ""


#: moments, or the reason why there are none
FaultTimes = tuple[FaultTime, ...] | str
Maker = Callable[[PaletteContext], FaultTimes]
NO_PROCESS = "not here: no gateway process runs at this moment"
STANDS_BY = "not here: operators reach the first process, but the second one holds the store"
NOWHERE = "not here: the cursor is in no conversation; put it on a message"


def fault_times(context: PaletteContext, what: str, step: dict[str, Any]) -> tuple[FaultTime, ...]:
    """Moments for a step: now, or right after one of the next messages."""
    now = FaultTime(label="now", sentence=what, brief=what, at=context.at, step=step)
    later = (
        FaultTime(
            label=f"after {number}",
            sentence=f"after {message.text} ({message.where}): {what}",
            brief=what,
            at=round(message.at + AFTER, 6),
            step=step,
        )
        for number, message in enumerate(context.upcoming.messages, 1)
    )
    return (now, *later)


def named(process: str) -> str:
    """A process as the subject of a sentence."""
    return "the gateway" if process == "gateway" else f"the process {process}"


def which(process: str) -> dict[str, Any]:
    """The field of a step that names a process; the first process needs none."""
    return {} if process == "gateway" else {"process": process}


def ordered(fault: dict[str, Any]) -> dict[str, Any]:
    """The fields in the order of scenario files."""
    return {name: fault[name] for name in ("on", "do", "in", "nth", "for") if name in fault}
