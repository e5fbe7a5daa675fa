"""Makes a scenario smaller, and keeps its finding.

What a pass must have
=====================

Shrinking is a search: take something away, play what is left, keep it if the same thing is still wrong. A pass is one
way to take something away. It is small, and there will be more of them; each must have the five properties below. A
pass that lacks one does not fail loudly: the search goes on for ever, or ends somewhere else, or ends too early.

1. *A measure that it makes smaller.* What a pass accepts must be less than what it was given, by one measure that all
   passes share (`measure`): first steps, then parts, then places, then characters, then seconds. A pass that replaces
   something, say one place by another, may not be undone by the next: with a measure of its own for each pass, two of
   them exchange the same two places for ever. The search compares the measures itself and trusts no pass, so it ends
   whatever a pass does.

2. *Results that are valid by construction.* A candidate that the loader refuses costs time and teaches nothing. So who
   takes away a room takes away the steps in that room, the rules for it, the faults at it (`_without_name`); who takes
   away the last action of a rule takes away the rule. What is refused all the same counts as another finding, never as
   an error, and never as success. "It cannot be loaded" must not be mistaken for "it fails".

3. *The same finding.* A smaller scenario that breaks another promise is another scenario. The search keeps the kind of
   finding and its culprit, the kind of event where the run went wrong, and not its sentence, which has times, names and
   numbers that shrinking changes. Less than that, and a lost message becomes a refused one on the way; more, and
   nothing can be taken away. This needs runs whose random draws are keyed by what they are for, and not by their
   position: otherwise a step less is another run, and the finding comes and goes.

4. *A fixpoint.* Passes make room for each other: a hand can go when its last task has gone, and a person when the
   hand has. So all of them run again, in their order, until none of them has found anything: the result is
   then minimal for all of them together. Big parts come first (halves of the script, whole sections), since each
   of them saves the candidates for all of its parts, and a pass goes on where it is after a success instead of at the
   beginning, or the cost is the square of the size.

5. *A budget that does not depend on the machine.* The search stops after so many runs, never after so many seconds:
   the same scenario must give the same result on every machine, or nobody can say whether it has been made worse. What
   it has found until then is a result too, since every step of it was played.

What was not needed: randomness (the order of passes decides, which a person can read), and knowledge of the defect.
"""

import copy
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import msgspec

from trunkline.core.config import parse_duration
from trunkline.core.errors import TrunklineError
from trunkline.sim.fuzz.generator import Tree

Path = tuple[str | int, ...]
Measure = tuple[int, int, int, int, float]

#: runs after which a search ends
BUDGET = 500
#: what a scenario has to have
_NEEDED = {("scenario",), ("title",), ("world",), ("cast",), ("script",), ("world", "people")}
#: what says nothing about the run
_ABOUT = ("source", "tags", "bugs", "breaks", "story", "attach")
#: fields that hold texts of people, agents, hands and clients
_TEXTS = frozenset({"say", "reply", "text", "task", "result", "change", "fail", "fails", "message", "prompt", "name"})
#: fields of what goes as a whole: steps, rules, actions, rules of routes, hooks
_ITEMS = frozenset(
    {"at", "after", "as", "in", "do", "when", "to", "match", "channel", "hand", "text", "act", "target", "action"}
)
#: fields that hold times of the script
_TIMES = ("at", "after")


class Shrunk(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a search: a smaller scenario."""

    tree: Tree
    #: runs that it took
    runs: int
    #: nothing more can be taken away; else the budget was used up
    minimal: bool


class _UsedUpError(Exception):
    """The budget has been used up."""


class ShrinkSearch:
    """The search for a smaller scenario. `is_same` plays a candidate and says whether the same thing is wrong."""

    def __init__(self, tree: Tree, is_same: Callable[[Tree], bool], budget: int = BUDGET) -> None:
        self.tree = tree
        self.runs = 0
        self._is_same = is_same
        self._budget = budget
        self._tried = {json.dumps(tree)}

    def shrink(self) -> Shrunk:
        """Run all passes until no pass makes the scenario smaller."""
        minimal = True
        try:
            before = None
            while before != measure(self.tree):
                before = measure(self.tree)
                for candidates in PASSES:
                    self._run(candidates)
        except _UsedUpError:
            minimal = False
        return Shrunk(tree=self.tree, runs=self.runs, minimal=minimal)

    def _run(self, candidates: Callable[[Tree], Iterator[Tree]]) -> None:
        """Try the candidates of a pass; after a success go on at the same position."""
        position, found = 0, True
        while found:
            found = False
            for number, less in enumerate(candidates(self.tree)):
                if number < position:
                    continue
                if self._accept(less):
                    position, found = number, True
                    break

    def _accept(self, less: Tree) -> bool:
        text = json.dumps(less)
        if text in self._tried or measure(less) >= measure(self.tree):
            return False
        self._tried.add(text)
        if self.runs >= self._budget:
            raise _UsedUpError
        self.runs += 1
        try:
            same = self._is_same(less)
        except TrunklineError:
            # It cannot be loaded, or cannot be played.
            return False
        if same:
            self.tree = less
        return same


def measure(tree: Tree) -> Measure:
    """How large a scenario is: steps, parts, places, characters, seconds."""
    parts, texts = 0, 0
    places = set[str]()
    for path, value in _walk(tree):
        parts += 1
        if isinstance(value, str):
            texts += len(value)
            if path[-1] in ("in", "to") or (len(path) > 1 and path[-2] == "to"):
                places.add(value)
    # What is strict is less: nothing in it is idle.
    texts += 10 * (3 - int(tree.get("scenario", 1)))
    return len(tree["script"]), parts, len(places), texts, sum(_seconds(step) for step in tree["script"])


def _seconds(step: Tree) -> float:
    return sum(parse_duration(step[name]) for name in _TIMES if name in step)


def bare(tree: Tree) -> Tree:
    """A scenario without its source, story, tags and declared defects."""
    return {name: value for name, value in tree.items() if name not in _ABOUT}


def _half_the_script(tree: Tree) -> Iterator[Tree]:
    """Without halves, quarters, eighths ... of the script."""
    script, size = tree["script"], len(tree["script"]) // 2
    while size > 1:
        for start in range(0, len(script), size):
            if size < len(script):
                yield {**tree, "script": script[:start] + script[start + size :]}
        size //= 2


def _single_steps(tree: Tree) -> Iterator[Tree]:
    script = tree["script"]
    for index in range(len(script) if len(script) > 1 else 0):
        yield {**tree, "script": script[:index] + script[index + 1 :]}


def _remarks(tree: Tree) -> Iterator[Tree]:
    yield bare(tree)


def _names(tree: Tree) -> Iterator[Tree]:
    """Without a platform, an account, a room, a thread, a person, an agent or a hand, and all mentions."""
    for path in _named_parts(tree):
        yield _without_name(tree, path)


def _other_names(tree: Tree) -> Iterator[Tree]:
    """With two people, rooms, threads or accounts as a single person, room, thread or account."""
    for path in _named_parts(tree):
        parent = _at(tree, path[:-1])
        for other in cast("Tree", parent) if isinstance(parent, dict) else ():
            if other != path[-1] and path[-2] in ("people", "rooms", "threads", "accounts"):
                yield _renamed(_without(tree, path), str(path[-1]), str(other))


def _other_places(tree: Tree) -> Iterator[Tree]:
    """With the events of two places at a single place."""
    places = [value for path, value in _walk(tree["script"]) if path[-1] == "in"]
    for place in dict.fromkeys(places):
        for other in dict.fromkeys(places):
            if place != other:
                text = json.dumps(tree["script"])
                yield {**tree, "script": json.loads(text.replace(json.dumps(place), json.dumps(other)))}


def _parts(tree: Tree) -> Iterator[Tree]:
    """Without a section, a rule, an action or a field, big parts first."""
    for path, value in _walk(tree):
        if path in _NEEDED or path[0] == "scenario" or (len(path) == 2 and path[0] == "script"):
            continue
        if path[-1] == "do" or (path[0] == "script" and len(path) == 3 and path[-1] in ("in", "as")):
            continue
        parent = _at(tree, path[:-1])
        if len(parent) == 1 and len(path) > 2 and (value or value == 0):
            # Its parent would be empty, which mostly means something else; without its parent was tried before.
            continue
        yield _without(tree, path)


def _shorter_texts(tree: Tree) -> Iterator[Tree]:
    """With fewer words in a text."""
    for path, value in _walk(tree):
        if path[-1] in _TEXTS and isinstance(value, str) and path != ("title",):
            words = value.split(" ")
            for less in dict.fromkeys((" ".join(words[:1]), " ".join(words[:2]), " ".join(words[:-1]))):
                if less and less != value:
                    yield _with(tree, path, less)


def _shorter_times(tree: Tree) -> Iterator[Tree]:
    """Steps follow at once, or after whole seconds."""
    script: list[Tree] = tree["script"]
    before = 0.0
    for index, step in enumerate(script):
        now = parse_duration(step["at"]) if "at" in step else before
        for gap in (0.0, 1.0, 5.0, float(int(now - before))):
            if now - before > gap:
                yield {**tree, "script": [*script[:index], *(_earlier(s, now - before - gap) for s in script[index:])]}
        before = now


def _earlier(step: Tree, seconds: float) -> Tree:
    if "at" not in step:
        return step
    return {**step, "at": round(parse_duration(step["at"]) - seconds, 6)}


def _strict(tree: Tree) -> Iterator[Tree]:
    """As a strict scenario."""
    if tree["scenario"] == 1:
        yield {**tree, "scenario": 2}


#: every pass, in order
PASSES: Sequence[Callable[[Tree], Iterator[Tree]]] = (
    *(_remarks, _half_the_script, _single_steps, _names, _parts, _other_names, _other_places, _shorter_texts),
    *(_shorter_times, _strict),
)


def _walk(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The parts of a tree with their paths, parents before children."""
    if path:
        yield path, node
    if isinstance(node, dict):
        for name, value in cast("Tree", node).items():
            yield from _walk(value, (*path, name))
    elif isinstance(node, list):
        for index, value in enumerate(cast("list[Any]", node)):
            yield from _walk(value, (*path, index))


def _at(tree: Any, path: Path) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _without(tree: Tree, path: Path) -> Tree:
    less = copy.deepcopy(tree)
    del _at(less, path[:-1])[path[-1]]
    return less


def _with(tree: Tree, path: Path, value: Any) -> Tree:
    other = copy.deepcopy(tree)
    _at(other, path[:-1])[path[-1]] = value
    return other


def _named_parts(tree: Tree) -> list[Path]:
    """Where people, platforms, rooms, threads, accounts, agents, hands and workers are given their names."""
    parents: list[Path] = [("world",), ("world", "people"), ("cast", "hands"), ("cast", "workers"), ("cast", "agents")]
    for path, _ in _walk(tree["world"], ("world",)):
        if path[-1] in ("rooms", "threads", "accounts") and path[1] != "people":
            parents.append(path)
    found = list[Path]()
    for parent in parents:
        try:
            names = _at(tree, parent)
        except KeyError:
            continue
        items: list[Any] = list(cast("list[Any]", names)) if isinstance(names, list) else list(names)
        keys = range(len(items)) if isinstance(names, list) else items
        found += [(*parent, key) for key in keys if (*parent, key) not in _NEEDED]
    return found


def _without_name(tree: Tree, path: Path) -> Tree:
    """Without the part with this name, and without steps, rules and actions with a mention of the name."""
    value = _at(tree, path)
    name = value if isinstance(path[-1], int) else str(path[-1])
    less = _without(tree, path)
    if path[:2] == ("cast", "agents"):
        agents: list[Tree] = less.get("gateway", {}).get("agents", [])
        agents[:] = [agent for agent in agents if agent.get("id") != name]
    return {**less, **{part: kept for part in less if (kept := _pruned(less[part], str(name))) is not None}}


def _mentions(text: str, name: str) -> bool:
    return text == name or (("/" in text or ":" in text) and name in re.split(r"[:/@]", text))


def _pruned(node: Any, name: str) -> Any:
    """A tree without the items of lists with a mention of a name; none for an empty rest."""
    if isinstance(node, str):
        return None if _mentions(node, name) else node
    if isinstance(node, list):
        items = [kept for item in cast("list[Any]", node) if (kept := _pruned(item, name)) is not None]
        return items if items or not node else None
    if isinstance(node, dict):
        kept = {key: _pruned(value, name) for key, value in cast("Tree", node).items()}
        given = cast("Tree", node)
        if not kept.keys() & _ITEMS:
            # A section: what is left of it stays.
            rest = {key: value for key, value in kept.items() if value is not None or given[key] is None}
            return rest if rest or not given else None
        return None if any(kept[key] is None and given[key] is not None for key in kept) else kept
    return node


def _renamed(node: Any, name: str, other: str) -> Any:
    """A tree with another name in place of a name."""
    if isinstance(node, str) and _mentions(node, name):
        return re.sub(rf"(?<![^:/@]){re.escape(name)}(?![^:/@])", other, node)
    if isinstance(node, list):
        return [_renamed(item, name, other) for item in cast("list[Any]", node)]
    if isinstance(node, dict):
        return {key: _renamed(value, name, other) for key, value in cast("Tree", node).items()}
    return node
