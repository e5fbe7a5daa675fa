"""Display names of people, and a crowd of made-up people who may talk by themselves."""

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from trunkline.sim.scenario.model.world import WorldSpec

if TYPE_CHECKING:
    from faker import Faker


def display_names(world: WorldSpec, seed: int) -> dict[str, str]:
    """The display name of every person, by key: given, of the crowd, or the key. Faker makes up those of a crowd."""
    names = {key: person.name or key for key, person in world.people.items()}
    return {**_crowd(world.crowd.count, seed), **names} if world.crowd.count else names


class ChatterMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message that one of the crowd writes by itself."""

    at: float
    name: str
    person: str
    place: str
    text: str


def chatter(world: WorldSpec, seed: int) -> tuple[ChatterMessage, ...]:
    """The messages of the crowd in a run, in order of time. They depend on the seed only."""
    spec, count = world.crowd.chatter, world.crowd.count
    if spec is None or not count:
        return ()
    faker = _faker(f"{seed}/chatter")
    said: list[ChatterMessage] = []
    spoken: Counter[str] = Counter()
    for number in range(1, spec.messages + 1):
        person = f"p{faker.random_int(1, count)}"
        spoken[person] += 1
        place = faker.random_element(spec.places)
        gap = faker.random_int(0, 1000) / 1000 * spec.every
        said.append(
            ChatterMessage(
                at=spec.start + (number - 1) * spec.every + gap,
                name=f"{person}.{spoken[person]}",
                person=person,
                place=f"{place}{person}" if place.endswith("@") else place,
                text=faker.sentence(),
            )
        )
    return tuple(said)


@lru_cache(maxsize=8)
def _crowd(size: int, seed: int) -> dict[str, str]:
    faker = _faker(seed)
    return {f"p{number}": faker.name() for number in range(1, size + 1)}


def _faker(seed: int | str) -> "Faker":
    # Imported here: Faker scans its locales at import, and most scenarios have no crowd.
    from faker import Faker

    faker = Faker("en_US")
    faker.seed_instance(seed)
    return faker
