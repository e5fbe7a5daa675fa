"""Display names of people: from the scenario, and made-up ones for a crowd."""

from __future__ import annotations

from functools import lru_cache

from trunkline.sim.scenario.model.scenario import WorldSpec


def display_names(world: WorldSpec, seed: int) -> dict[str, str]:
    """The display name of every person, by key. Names of a crowd come from Faker, seeded."""
    names = {key: person.name or key for key, person in world.people.items()}
    return {**_crowd(world.crowd, seed), **names} if world.crowd else names


@lru_cache(maxsize=8)
def _crowd(size: int, seed: int) -> dict[str, str]:
    # Imported here: Faker scans its locales at import, and most scenarios have no crowd.
    from faker import Faker

    faker = Faker("en_US")
    faker.seed_instance(seed)
    return {f"p{number}": faker.name() for number in range(1, size + 1)}
