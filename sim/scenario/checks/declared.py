"""The declarations of a scenario file: its agents, hands and labels, read from its plain values."""

from __future__ import annotations

from typing import cast

from trunkline.sim.scenario.checks.references import ACTIONS
from trunkline.sim.scenario.step_rules import items
from trunkline.sim.scenario.tree_paths import select, steps_of

_DEFAULT_AGENTS = ("main",)
#: where agents are declared
AGENTS = ("gateway.agents[].id", "script[].reload.agents[].id")
_WORKERS = "cast.workers.*.hand"


def agents_of_tree(tree: object) -> tuple[str, ...]:
    """The agents of the gateway, also of later configurations."""
    found = [own for pattern in AGENTS for _, own in select(tree, steps_of(pattern)) if isinstance(own, str)]
    return tuple(dict.fromkeys((*(_DEFAULT_AGENTS if items(tree, "gateway", "agents") is None else ()), *found)))


def functions_of_tree(tree: object) -> tuple[str, ...]:
    """The hands that run in the gateway's process."""
    hands = items(tree, "cast", "hands")
    return tuple(cast("dict[str, object]", hands)) if isinstance(hands, dict) else ()


def worker_hands_of_tree(tree: object) -> tuple[str, ...]:
    """The hands that workers work for, or may work for as the gateway is configured."""
    named = [hand for _, hand in select(tree, steps_of(_WORKERS)) if isinstance(hand, str)]
    return tuple(dict.fromkeys((*configured_workers(tree), *named)))


def configured_workers(tree: object) -> tuple[str, ...]:
    """The hands with `worker: true`, also of later configurations."""
    found = dict[str, None]()
    for pattern in ("gateway.hands.each", "script[].reload.hands.each"):
        for _, each in select(tree, steps_of(pattern)):
            settings = cast("dict[str, object]", each) if isinstance(each, dict) else {}
            found |= {name: None for name, spec in settings.items() if items(spec, "worker") is True}
    return tuple(found)


def hands_of_tree(tree: object) -> tuple[str, ...]:
    """The hands that an agent can delegate to: functions, workers, and other agents."""
    return tuple(dict.fromkeys((*functions_of_tree(tree), *worker_hands_of_tree(tree), *agents_of_tree(tree))))


def labels_of_tree(tree: object) -> tuple[str, ...]:
    """The labels that agents give to what they delegate."""
    found = [own for _, own in select(tree, steps_of(f"{ACTIONS}.delegate.label")) if isinstance(own, str)]
    return tuple(dict.fromkeys(found))
