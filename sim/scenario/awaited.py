"""The events that the steps of a script wait for."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.sim.scenario.model.steps import ScriptStep, When


def awaited_by(script: Iterable[ScriptStep]) -> list[When]:
    """Everything that the steps of a script wait for."""
    inner = [step.crash or step.freeze or step.restart for step in script]
    return [when for when in (*(one.when for one in inner if one), *(step.when for step in script)) if when]
