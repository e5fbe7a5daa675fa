"""The fault palette: faults that can be placed at the cursor, as steps of the scenario, each with a preview.

Nothing runs here: an option is a step of a script and a sentence. `sim.scenario.edit` adds the step to the scenario.
The options are listed in `trunkline.app.view.faults.catalog`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.app.text.cells import seconds
from trunkline.app.view.faults.cursor_context import GRAIN
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.edit import step_text, with_step

#: delay of a step after the events that it follows: the resolution of the clock
AFTER = GRAIN


class PlacedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A placed fault: its name, and its step."""

    word: str
    at: float
    #: none: it changes the bug switches of the gateway, not the script
    step: dict[str, Any] | None = None
    #: the bug switches that were on before it was placed
    before: tuple[str, ...] | None = None


class FaultTime(msgspec.Struct, frozen=True, kw_only=True):
    """A time at which a fault can happen, and what exactly will happen."""

    #: ``now``, ``next``, ``after 2``
    label: str
    #: the preview
    sentence: str
    #: the preview without its subject
    brief: str
    at: float
    step: dict[str, Any] | None = None
    #: the bug switches from this time on; none: unchanged
    bugs: tuple[str, ...] | None = None

    @property
    def written(self) -> str:
        """The step as a scenario file has it."""
        return "" if self.step is None else step_text(self.step, self.at)


class FaultOption(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the palette. Without moments it cannot be placed here, and `why` says why."""

    id: str
    word: str
    moments: tuple[FaultTime, ...] = ()
    why: str = ""

    def moment(self, number: int) -> FaultTime | None:
        """The Nth moment from 0, or the last one; none if the fault cannot be placed here."""
        return self.moments[min(number, len(self.moments) - 1)] if self.moments else None

    def placed(self, number: int = 0) -> PlacedFault:
        moment = self.moment(number)
        assert moment is not None
        return PlacedFault(word=self.word, at=moment.at, step=moment.step)


def with_faults(file: ScenarioFile, faults: Sequence[PlacedFault]) -> ScenarioFile:
    """The scenario with all placed faults, in the order of placement. Raises `ScenarioError`."""
    for fault in faults:
        if fault.step is not None:
            file = with_step(file, fault.step, fault.at)
    return file


def fault_label(fault: PlacedFault) -> str:
    """A placed fault in a few words."""
    return fault.word if fault.step is None else f"{fault.word} at {seconds(fault.at)} s"
