"""Checks of what people do with calls: on a platform with calls, by the person whose line it is, each with its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trunkline.core.config.files.problems import Path, ProblemReport, shown
from trunkline.sim.scenario.model.world import CALLS, WorldSpec
from trunkline.sim.scenario.place_refs import PlaceRef, place_if_known
from trunkline.sim.scenario.step_rules import CALL_ACTIONS, items, listed


def with_calls(tree: object, world: WorldSpec) -> WorldSpec:
    """The world plus the calls that the script makes, by name."""
    calls: dict[str, dict[str, tuple[str, ...]]] = {}
    for _, step in _calls(tree):
        place = place_if_known(step.get("in"), world)
        if place is not None and place.person is not None and place.thread is None and place.platform in CALLS:
            by_person = calls.setdefault(place.platform, {})
            by_person[place.person] = (*by_person.get(place.person, ()), str(step["call"]))
    more = {name: world.platforms[name].with_calls(found) for name, found in calls.items()}
    return world.model_copy(update=more) if more else world


def check_calls(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Report calls that cannot be made, and steps of other people in a call."""
    seen: dict[tuple[PlaceRef, str], Path] = {}
    spoken = ("say",) if any(name in CALLS for name in world.platforms) else ()
    for index, step in enumerate(listed(tree, "script")):
        path: Path = ("script", index)
        action = next((name for name in (*CALL_ACTIONS, *spoken) if items(step, name) is not None), None)
        place = None if action is None else place_if_known(items(step, "in"), world)
        if action is None or place is None:
            continue
        if place.platform not in CALLS:
            if action != "say":
                facts = f"`{action}` expects a platform with calls, found {shown(items(step, 'in'))}"
                report.add((*path, "in"), facts, f"platforms with calls: {', '.join(CALLS)}")
            continue
        if place.person is not None and place.person != (items(step, "as") or place.person):
            facts = f"the line of {place.person} is used by {shown(items(step, 'as'))}"
            report.add((*path, "as"), facts, f"write `as: {place.person}`")
        if action == "call":
            _check_name(str(step["call"]), place, path, report, seen)
    for name in CALLS:
        if items(tree, "world", name, "rooms"):
            report.add(("world", name, "rooms"), f"{name} has no rooms: people call", "remove it", at_key=True)


def _check_name(
    name: str, place: PlaceRef, path: Path, report: ProblemReport, seen: dict[tuple[PlaceRef, str], Path]
) -> None:
    if place.thread is not None:
        report.add((*path, "in"), f"`call` expects a person, found a call: {place}", "write it without the call's name")
        return
    if not name.strip() or name != name.strip() or "/" in name or ":" in name:
        report.add((*path, "call"), f"expected a name without `/` and `:`, found {shown(name)}")
    first = seen.setdefault((place, name), path)
    if first != path:
        line = report.positions.mark(first)[0]
        report.add(
            (*path, "call"), f"{place.person} has a call {shown(name)} already, in line {line}", "choose another name"
        )


def _calls(tree: object) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for index, step in enumerate(listed(tree, "script")):
        if isinstance(items(step, "call"), str):
            yield index, step
