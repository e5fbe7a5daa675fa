"""The random draws of the product, and mappings with fields that are there in a share of the cases."""

from collections.abc import Callable

from trunkline.sim.fuzz import draws


class Draws(draws.Draws):
    """The random choices of one area of one scenario."""

    def fields(self, **made: tuple[float, Callable[[], object]]) -> dict[str, object]:
        """A mapping in which each field is present with its share."""
        return {name: make() for name, (share, make) in made.items() if self.chance(share)}
