"""The fault palette: what can be made to go wrong at the cursor, as steps of the scenario, each told before it is done.

Nothing here runs anything: an option is a step of a script and a sentence. `sim.scenario.edit` adds the step to the
scenario.
What there is, is in `trunkline.app.view.faults.catalog`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from trunkline.app.view.faults.cursor_context import GRAIN
from trunkline.app.view.text.cells import seconds
from trunkline.sim.scenario import ScenarioFile
from trunkline.sim.scenario.edit import step_text, with_step

#: what a step is later than the events it comes after: the grain of the clock, so that they have all happened
AFTER = GRAIN


class PlacedFault(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was placed: what it is called, and the step that it is."""

    word: str
    at: float
    #: nothing: it changes no script, but the defects of the gateway
    step: dict[str, Any] | None = None
    #: the defects that were on before it was placed
    before: tuple[str, ...] | None = None


class FaultTime(msgspec.Struct, frozen=True, kw_only=True):
    """When a fault can happen, and what exactly will happen then."""

    #: ``now``, ``next``, ``after 2``
    label: str
    #: the whole sentence
    told: str
    #: what happens, without what it happens to
    brief: str
    at: float
    step: dict[str, Any] | None = None
    #: the defects of the gateway from then on; none: as they are
    bugs: tuple[str, ...] | None = None

    @property
    def written(self) -> str:
        """The step as the scenario file would have it."""
        return "" if self.step is None else step_text(self.step, self.at)


class FaultOption(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the palette. Without a moment it cannot be placed here, and `why` says why."""

    id: str
    word: str
    moments: tuple[FaultTime, ...] = ()
    why: str = ""

    def moment(self, number: int) -> FaultTime | None:
        """The so manyth moment, from 0, as far as there are; none when it cannot be placed here."""
        return self.moments[min(number, len(self.moments) - 1)] if self.moments else None

    def placed(self, number: int = 0) -> PlacedFault:
        """The fault, placed."""
        moment = self.moment(number)
        assert moment is not None
        return PlacedFault(word=self.word, at=moment.at, step=moment.step)


def with_faults(file: ScenarioFile, faults: Sequence[PlacedFault]) -> ScenarioFile:
    """The scenario with all faults that are placed, in the order in which they were. Raises `ScenarioError`."""
    for fault in faults:
        if fault.step is not None:
            file = with_step(file, fault.step, fault.at)
    return file


def placed_words(faults: Sequence[PlacedFault]) -> Iterator[str]:
    """The faults that are placed, one line each, the last one last."""
    for fault in faults:
        yield fault_label(fault)


def fault_label(fault: PlacedFault) -> str:
    """A fault that was placed, in a few words."""
    return fault.word if fault.step is None else f"{fault.word} at {seconds(fault.at)} s"
