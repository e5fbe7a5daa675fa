"""The events that the steps of a script wait for."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.sim.scenario.model.steps import ScriptStep, When


def awaited_by(script: Iterable[ScriptStep]) -> list[When]:
    """The events that the steps of a script wait for."""
    inner = [step.crash or step.freeze or step.restart for step in script]
    return [when for when in (*(inside.when for inside in inner if inside), *(step.when for step in script)) if when]
