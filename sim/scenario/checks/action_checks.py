"""Checks of what agents do with their message tool."""

from __future__ import annotations

from trunkline.core.config.files.problems import ProblemReport
from trunkline.sim.scenario.model.world import WorldSpec
from trunkline.sim.scenario.place_refs import place_if_known
from trunkline.sim.scenario.step_rules import listed
from trunkline.sim.scenario.tree_paths import select, steps_of


def check_acts(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Report calls whose places are not all of one account: the tool takes one channel and one account."""
    for path, act in select(tree, steps_of("cast.agents.*[].do[].act")):
        places = [place_if_known(text, world) for text in listed(act, "to")]
        accounts = {
            f"{place.platform}:{place.account}": number for number, place in enumerate(places) if place is not None
        }
        if len(accounts) > 1:
            facts = f"`to` expects places of one account, found those of {', '.join(accounts)}"
            number = list(accounts.values())[1]
            report.add((*path, "to", number), facts, "make one call for each")
