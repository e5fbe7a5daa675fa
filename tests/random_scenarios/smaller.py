"""Makes a failing scenario smaller: removes parts for as long as the same kind of fault remains."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from trunkline.sim import ScenarioError

Tree = dict[str, Any]
#: parts that are removed one by one
_LISTS = (("script",), ("gateway", "bindings"), ("gateway", "agents"))
_MAPPINGS = (
    ("gateway",),
    ("gateway", "session"),
    ("gateway", "delivery"),
    ("gateway", "hands"),
    ("gateway", "channels"),
    ("gateway", "channels", "*"),
    ("gateway", "channels", "*", "thread_bindings"),
    ("cast", "hooks"),
    ("cast", "hands"),
    ("cast", "agents"),
    ("cast",),
    ("stored",),
    (),
    ("world",),
    ("world", "*"),
    ("world", "*", "accounts"),
    ("world", "*", "accounts", "*"),
    ("world", "*", "rooms"),
    ("world", "*", "rooms", "*"),
    ("world", "people"),
    ("world", "people", "*"),
)


def smaller(tree: Tree, fails: Callable[[Tree], bool]) -> Tree:
    """The smallest scenario found that still `fails`; what cannot be read does not count as failing."""
    changed = True
    while changed:
        changed = False
        for less in _candidates(tree):
            try:
                found = fails(less)
            except ScenarioError:
                found = False
            if found:
                tree, changed = less, True
                break
    return tree


def _candidates(tree: Tree) -> Iterator[Tree]:
    """The scenario without one part: halves of the script first, then single parts."""
    script = tree["script"]
    size = len(script) // 2
    while size > 1:
        for start in range(0, len(script), size):
            yield tree | {"script": script[:start] + script[start + size :]}
        size //= 2
    for path in _LISTS:
        for index in range(len(_at(tree, path) or ())):
            yield _without(tree, (*path, index))
    for path in _rules(tree):
        yield _without(tree, path)
    for pattern in _MAPPINGS:
        for path in _paths(tree, pattern):
            for name in tuple(_at(tree, path) or ()):
                yield _without(tree, (*path, name))
    for index, step in enumerate(script):
        for action, settings in step.items():
            for name in settings if isinstance(settings, dict) else ():
                yield _without(tree, ("script", index, action, name))


def _rules(tree: Tree) -> Iterator[tuple[Any, ...]]:
    """The rules of all agents, and the actions of rules."""
    for agent, rules in tree["cast"].get("agents", {}).items():
        for index, rule in enumerate(rules):
            yield ("cast", "agents", agent, index)
            if len(rule["do"]) > 1:
                yield from (("cast", "agents", agent, index, "do", action) for action in range(len(rule["do"])))


def _paths(tree: Any, pattern: tuple[str, ...], path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    found = _at(tree, path)
    if len(path) == len(pattern):
        if isinstance(found, dict):
            yield path
    elif isinstance(found, dict):
        name = pattern[len(path)]
        for own in found if name == "*" else (name,):
            if own in found:
                yield from _paths(tree, pattern, (*path, own))


def _at(tree: Any, path: tuple[Any, ...]) -> Any:
    for part in path:
        if isinstance(tree, dict) and part not in tree:
            return None
        tree = tree[part]
    return tree


def _without(tree: Tree, path: tuple[Any, ...]) -> Tree:
    less = copy.deepcopy(tree)
    parent = _at(less, path[:-1])
    del parent[path[-1]]
    return less
