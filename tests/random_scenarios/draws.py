"""Random draws, one stream per seed and area."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """The random choices of one area of one scenario."""

    def __init__(self, seed: int, area: str) -> None:
        self._random = random.Random(f"{seed}/{area}")

    def chance(self, share: float) -> bool:
        """True in this share of the cases."""
        return self._random.random() < share

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def weighted(self, options: Mapping[T, float]) -> T:
        """One of the options, each with its weight."""
        return self._random.choices(tuple(options), tuple(options.values()))[0]

    def some(self, options: Sequence[T], most: int, least: int = 0) -> list[T]:
        """Distinct options in their order: between `least` and `most` of them."""
        count = self.number(min(least, len(options)), min(most, len(options)))
        chosen = set(self._random.sample(range(len(options)), count))
        return [option for index, option in enumerate(options) if index in chosen]

    def number(self, least: int, most: int) -> int:
        return self._random.randint(least, most)

    def fields(self, **made: tuple[float, Callable[[], object]]) -> dict[str, object]:
        """A mapping in which each field is present with its share."""
        return {name: make() for name, (share, make) in made.items() if self.chance(share)}
