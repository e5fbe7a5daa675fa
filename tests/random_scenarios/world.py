"""The world of a random scenario: people, platforms with accounts, rooms and threads."""

from dataclasses import dataclass, field
from typing import Any

from tests.random_scenarios.draws import Draws

PEOPLE = ("ana", "ben", "cleo")
#: platform -> form of a person's id, with the person's number
IDS = {
    "discord": "90000000000000000{}",
    "telegram": "70000000{}",
    "slack": "U0000000{}",
    "matrix": "@{name}:example.org",
    "whatsapp": "+1555000{}1",
    "signal": "+1559000{}1",
    "bluebubbles": "+1557000{}1",
    "imessage": "+1556000{}1",
    "msteams": "29:0000000{}",
}
THREADLESS = ("whatsapp", "signal", "bluebubbles", "imessage")
KEYED = ("discord", "matrix")


@dataclass(slots=True, kw_only=True)
class Ground:
    """What other areas refer to."""

    world: dict[str, Any]
    people: list[str]
    #: messages have secrets, so no agent may repeat elsewhere what it heard
    secrets: bool
    platforms: list[str]
    #: platform -> its accounts
    accounts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    #: rooms, threads and direct conversations, in full
    rooms: list[str] = field(default_factory=list[str])
    threads: list[str] = field(default_factory=list[str])
    direct: list[str] = field(default_factory=list[str])
    #: person -> platform -> id
    ids: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])

    @property
    def places(self) -> list[str]:
        return [*self.rooms, *self.threads, *self.direct]


def platform_of(place: str) -> str:
    """The platform of a place in full form."""
    return place.partition(":")[0]


def make_world(seed: int) -> Ground:
    draws = Draws(seed, "world")
    people: list[str] = list(draws.some(PEOPLE, 3, 1))
    platforms = draws.some(tuple(IDS), 3, 1)
    ground = Ground(world={}, people=people, platforms=platforms, secrets=draws.chance(0.3))
    known = draws.chance(0.6)
    for number, name in enumerate(people):
        ground.ids[name] = {of: IDS[of].format(number, name=name) for of in platforms} if known else {}
    ground.world["people"] = {
        name: {
            "ids": ground.ids[name],
            **draws.fields(
                roles=(0.3, lambda: draws.some(("dev", "ops"), 2, 1)),
                name=(0.1, lambda: draws.pick(("Ana", "B. \u202e RTL", "x" * 200))),
            ),
        }
        for name in people
    }
    for platform in platforms:
        ground.world[platform] = _platform(draws, platform, ground)
    return ground


def _platform(draws: Draws, platform: str, ground: Ground) -> dict[str, Any]:
    accounts = ["default"] if draws.chance(0.7) else draws.pick((["default", "relay"], ["a1", "a2"]))
    ground.accounts[platform] = accounts
    made: dict[str, Any] = {"rooms": {}}
    if len(accounts) > 1 or draws.chance(0.1):
        made["accounts"] = {
            name: draws.fields(
                idempotency=(0.1, lambda: draws.pick(("key", "lookup", "none"))),
                mode=(0.1, lambda: draws.pick(("direct", "gateway", "hybrid"))),
            )
            for name in accounts
        }
    made |= draws.fields(
        guild=(0.5 if platform == "discord" else 0.0, lambda: "acme"),
        idempotency=(0.3, lambda: draws.pick(("key", "lookup", "none"))),
        mode=(0.15, lambda: draws.pick(("direct", "gateway", "hybrid"))),
        cannot=(0.1, lambda: [draws.pick(("media", "message-ids", "threads", "edit", "reactions", "poll"))]),
        stable_ids=(0.1, lambda: False),
        misplaces=(0.2, lambda: True),
        echoes=(0.3 if platform == "discord" else 0.0, lambda: True),
        latency=(0.2, lambda: draws.pick(("1ms", "300ms", "1s"))),
    )
    if draws.chance(0.15) and (made.get("idempotency") or ("key" if platform in KEYED else "none")) == "key":
        made["key_seconds"] = draws.pick(("40s", "2m", "1h"))
    for room in draws.some(("ops", "lab"), 2, 1):
        members = accounts if draws.chance(0.8) else accounts[:1]
        threads = {} if platform in THREADLESS else {name: {} for name in draws.some(("t1", "t2"), 2)}
        made["rooms"][room] = {"threads": threads} if threads else {}
        if members != accounts:
            made["rooms"][room]["accounts"] = members
        for account in members:
            ground.rooms.append(f"{platform}:{account}/{room}")
            ground.threads.extend(f"{platform}:{account}/{room}/{thread}" for thread in threads)
    ground.direct.extend(f"{platform}:{account}/@{person}" for account in accounts for person in ground.people)
    return made
