"""Random draws with hot words, and the grammar of random scenarios.

`grammar.yaml` says what there is and how often; this module only reads it. A mapping is a mapping whose fields are
there always or, as in ``max_attempts 0.3: ...``, in this share of the cases; a list is a choice. ``!all`` is a list of
all its items, ``!some [2, ...]`` of at most so many of them, ``!maybe [0.2, ...]`` an item that may be left out, and
``!weigh [[5, ...], [1, ...]]`` a choice with weights. A text ``$name`` is what the scenario has of this name, such as
a place, or else what the grammar has; inside a longer text it is filled in. ``!text`` is a text as it stands.
"""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, TypeVar, cast

import yaml

T = TypeVar("T")
#: a word that is hot is drawn so many times as often
HOT = 5.0
#: how often what the grammar names is drawn in one scenario, as against others: features come in groups
_TEMPERS = (0.0, 0.3, 1.0, 1.0, 3.0)
#: what means something without any settings
_BARE = ("replay", "marker")
_NAMED = re.compile(r"\$(\w+)")
_SHARE = re.compile(r"(\S+) (0?\.\d+)")


class MissingNameError(LookupError):
    """A name without a value in this scenario, such as a thread in a world without threads."""


class Draws:
    """The random choices of an area of a scenario, the same on every machine.

    `hot`: words of the grammar that are drawn more often. Each area has a stream of its own, so that a change of one
    leaves the others.
    """

    def __init__(self, seed: int, area: str, hot: frozenset[str] = frozenset()) -> None:
        self._seed = seed
        self._random = random.Random(f"{seed}/{area}")
        self._hot = hot

    def chance(self, share: float, word: str = "") -> bool:
        """True in this share of the cases, or more often if the word is hot."""
        return self._random.random() < (1 - (1 - share) ** HOT if word in self._hot else share)

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def weighted(self, options: Mapping[T, float]) -> T:
        """A choice of the options, each with its weight."""
        return self._random.choices(tuple(options), tuple(options.values()))[0]

    def some(self, options: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Distinct options in their order: between `least` and `most` of them."""
        count = self.number(min(least, len(options)), min(most, len(options)))
        chosen = set(self._random.sample(range(len(options)), count))
        return [option for index, option in enumerate(options) if index in chosen]

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def weight(self, option: object, given: float = 1.0) -> float:
        """The weight of an option of the grammar in this scenario."""
        words = set(_words(option))
        if self._hot & words:
            return given * HOT
        return given * (_temper(self._seed, option) if isinstance(option, str) else 1.0)


def _words(option: object) -> list[str]:
    """The words of an option: of its text, or its fields."""
    if isinstance(option, dict):
        return [str(name).partition(" ")[0] for name in cast("dict[object, object]", option)]
    return [option, *re.findall(r"\w+", option)] if isinstance(option, str) else []


@lru_cache(maxsize=1024)
def _temper(seed: int, word: str) -> float:
    return random.Random(f"{seed}/temper/{word}").choice(_TEMPERS)


class Tagged(tuple[str, Any]):
    """A value of the grammar with its tag."""

    __slots__ = ()


class _Reader(yaml.SafeLoader):
    """Reads the grammar, with its tags."""


def _tagged(reader: yaml.SafeLoader, tag: str, node: yaml.Node) -> Tagged:
    if isinstance(node, yaml.SequenceNode):
        return Tagged((tag, reader.construct_sequence(node, deep=True)))
    if isinstance(node, yaml.MappingNode):
        return Tagged((tag, reader.construct_mapping(node, deep=True)))
    return Tagged((tag, node.value))


# Plain `on`, `yes` and `no` are words here.
_Reader.yaml_implicit_resolvers = {
    first: found for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items() if first not in "oOyYnN"
}
_Reader.add_multi_constructor("!", _tagged)  # pyright: ignore[reportUnknownMemberType]


@lru_cache(maxsize=1)
def grammar() -> dict[str, Any]:
    """The grammar: nodes by name."""
    text = files("trunkline.sim.fuzz").joinpath("grammar.yaml").read_text("utf-8")
    return cast("dict[str, Any]", yaml.load(text, _Reader))  # noqa: S506 -- a safe loader with tags for plain values


class Drawer:
    """Draws values from the grammar. `named` gives what the scenario has of a name; None: the grammar's own."""

    def __init__(self, draws: Draws, named: Callable[[str], Any]) -> None:
        self.draws = draws
        self._named = named

    def draw(self, node: Any) -> Any:
        """A value. Raises `MissingNameError` for a name without a value in this scenario."""
        match node:
            case Tagged():
                return self._draw_tagged(*node)
            case str():
                return self._draw_text(node)
            case list():
                return self._choose([(1.0, option) for option in cast("list[Any]", node)])
            case dict():
                return self._draw_fields(cast("dict[str, Any]", node))
            case _:
                return node

    def name(self, name: str) -> Any:
        """A value by its name, of the scenario or else of the grammar."""
        found = self._named(name)
        return self.draw(grammar()[name]) if found is None else found

    def _draw_text(self, text: str) -> Any:
        whole = _NAMED.fullmatch(text)
        if whole:
            return self.name(whole[1])
        return _NAMED.sub(lambda found: str(self.name(found[1])), text)

    def _draw_fields(self, node: dict[str, Any]) -> dict[str, Any]:
        made = dict[str, Any]()
        for key, value in node.items():
            shared = _SHARE.fullmatch(key)
            name = shared[1] if shared else key
            name, merged = name.removeprefix("<"), name.startswith("<")
            if shared is not None and not self.draws.chance(float(shared[2]), name):
                continue
            try:
                drawn = self.draw(value)
            except MissingNameError:
                if shared is None:
                    raise
                continue
            if merged:
                made |= drawn
            elif drawn != {} or name in _BARE:
                made[name] = drawn
            elif name == "reload":
                raise MissingNameError("something to reload")
        return made

    def _choose(self, options: list[tuple[float, Any]]) -> Any:
        """An option; another one in place of an option with a missing name."""
        left = {index: self.draws.weight(option, weight) for index, (weight, option) in enumerate(options)}
        while left:
            # What this scenario never draws is better than nothing.
            index = self.draws.weighted(left if any(left.values()) else dict.fromkeys(left, 1.0))
            del left[index]
            try:
                return self.draw(options[index][1])
            except MissingNameError:
                continue
        raise MissingNameError("none of the options")

    def _draw_tagged(self, tag: str, given: Any) -> Any:
        match tag:
            case "text":
                return given
            case "all":
                return self._draw_items(given)
            case "some":
                return self._draw_items(self.draws.some(given[1:], given[0], 1))
            case "maybe":
                return self._draw_items(given[1:]) if self.draws.chance(given[0]) else []
            case "weigh":
                return self._choose([(weight, option) for weight, option in given])
            case _:
                raise ValueError(f"grammar.yaml: there is no tag !{tag}")

    def _draw_items(self, items: list[Any]) -> list[Any]:
        made = list[Any]()
        for item in items:
            value = self.draw(item)
            # What is a list of its own stays one only as a text.
            made += cast("list[Any]", value) if isinstance(value, list) else [value]
        return made
