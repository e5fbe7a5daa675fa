"""Checks of a scenario's bindings: threads that the gateway will open for delegated work, webhooks, tokens.

A thread for delegated work is named after the delegation: ``ops/m1.hand1`` belongs to the first call of the turn that
answers `m1`. A file may name such threads as places if its gateway creates them.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, cast

from trunkline.core.config.files.problems import Path, ProblemReport, advice, shown
from trunkline.sim.scenario.model.world import PLATFORMS, WorldSpec
from trunkline.sim.scenario.place_refs import PlaceRef, place_if_known
from trunkline.sim.scenario.step_rules import items, listed

#: platforms with webhooks
_WEBHOOKS = ("discord",)
_CHILD = re.compile(r"(?P<work>.+)\.hand(?P<call>[1-9][0-9]{0,3})(?:\+[2-9])?")
_OFF = (None, False, "no", "off", "false")


def spawning(tree: object, configurations: Iterable[object]) -> tuple[str, ...]:
    """The platforms on which delegated work may get its own threads."""
    asked = any(items(action, "delegate", "thread") is True for rule in _rules(tree) for action in listed(rule, "do"))
    found: dict[str, None] = dict.fromkeys(PLATFORMS) if asked else {}
    for given in configurations:
        for name in PLATFORMS:
            channel = items(given, "channels", name)
            bindings = items(channel, "thread_bindings") or items(channel, "threadBindings")
            word = items(bindings, "spawn_subagent_sessions") or items(bindings, "spawnSubagentSessions")
            if word not in _OFF:
                found[name] = None
    return tuple(found)


def children(
    places: Iterable[str], platforms: Collection[str], said: Collection[str], tree: object, world: WorldSpec
) -> Iterator[tuple[PlaceRef, str]]:
    """The threads of delegated work among the places of a file: each its room and the thread's name."""
    calls = _calls(tree)
    for place in places:
        above, _, name = place.rpartition("/")
        child = _CHILD.fullmatch(name)
        if not above or child is None or int(child["call"]) > calls:
            continue
        if not any(child["work"] == own or child["work"].startswith(f"{own}.") for own in said):
            continue
        found = place_if_known(above, world)
        if found is not None and found.platform in platforms and found.room is not None and found.thread is None:
            yield found, name


def _calls(tree: object) -> int:
    """The maximum number of actions of an agent in one turn."""
    return max((len(listed(rule, "do")) for rule in _rules(tree)), default=0)


def _rules(tree: object) -> Iterator[Any]:
    """Every rule of every agent."""
    agents = items(tree, "cast", "agents")
    for rules in cast("dict[str, Any]", agents).values() if isinstance(agents, dict) else ():
        if isinstance(rules, list):
            yield from cast("list[Any]", rules)


def check_bound(tree: object, report: ProblemReport, world: WorldSpec) -> None:
    """Report webhooks where there can be none, and tokens of unknown accounts."""
    for index, step in enumerate(listed(tree, "script")):
        here: Path = ("script", index)
        _check_rotate(items(step, "rotate"), (*here, "rotate"), report, world)
        for field in ("via", "proxy"):
            if items(step, field) is not None and items(step, "say") is not None:
                _check_webhook(field, items(step, "in"), (*here, field), report, world)
        if items(step, "webhook") is not None:
            _check_webhook("webhook", items(step, "webhook", "in"), (*here, "webhook", "in"), report, world)


def _check_rotate(rotate: object, path: Path, report: ProblemReport, world: WorldSpec) -> None:
    platform, account = items(rotate, "platform"), items(rotate, "account")
    if not isinstance(platform, str):
        return
    spec = world.platforms.get(platform)
    if spec is None:
        facts = f"expected a platform of the world, found {shown(platform)}"
        report.add((*path, "platform"), facts, advice(platform, world.platforms))
    elif isinstance(account, str) and account not in spec.accounts:
        facts = f"expected an account of {platform}, found {shown(account)}"
        report.add((*path, "account"), facts, advice(account, spec.accounts))
    elif account is None and len(spec.accounts) > 1 and "default" not in spec.accounts:
        facts = f"`rotate` needs `account`: {platform} has several"
        report.add((*path, "platform"), facts, f"there are: {', '.join(spec.accounts)}", at_key=True)


def _check_webhook(field: str, place: object, path: Path, report: ProblemReport, world: WorldSpec) -> None:
    found = place_if_known(place, world)
    if found is None:
        return
    if found.platform not in _WEBHOOKS:
        facts = f"`{field}` expects a place on {' or '.join(_WEBHOOKS)}, found {shown(place)}"
        report.add(path, facts, f"there are no webhooks on {found.platform}")
    elif found.person is not None:
        facts = f"`{field}` expects a room or thread, found a direct conversation: {shown(place)}"
        report.add(path, facts)
