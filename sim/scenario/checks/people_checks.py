"""Checks of what people do to messages: the platform must have what they do it to."""

from __future__ import annotations

from trunkline.core.config.files.problems import ProblemReport
from trunkline.sim.scenario.model.world import BUTTONLESS, POLLLESS, WorldSpec
from trunkline.sim.scenario.place_refs import place_if_known
from trunkline.sim.scenario.step_rules import items, listed

#: action of a step -> the platforms without it, and what they lack
_LACK = {"vote": (POLLLESS, "polls"), "press": (BUTTONLESS, "buttons")}


def check_people(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Report votes on platforms without polls, and presses on platforms without buttons."""
    for index, step in enumerate(listed(tree, "script")):
        place = place_if_known(items(step, "in"), world)
        for action, (platforms, what) in _LACK.items():
            if items(step, action) is not None and place is not None and place.platform in platforms:
                report.add(("script", index, action), f"{place.platform} has no {what}", at_key=True)
