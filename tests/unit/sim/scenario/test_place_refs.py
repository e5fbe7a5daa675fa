"""Places: every way to write one, and what is said where none or several are meant."""

import pytest

from tests.support.for_each import for_each
from trunkline.sim.scenario.model.world import WorldSpec
from trunkline.sim.scenario.place_refs import PlaceError, PlaceRef, all_places, is_person, resolve_place, with_threads

WORLD = WorldSpec.model_validate(
    {
        "people": ["mina", "otto"],
        "crowd": 2,
        "discord": {
            "accounts": {"default": {}, "relay": {}},
            "rooms": {
                "ops": {"threads": ["deploy"]},
                "hall": {},
                "back": {"accounts": ["relay"]},
                "shut": {"accounts": []},
            },
        },
        "telegram": {"accounts": {"north": {}, "south": {}}, "rooms": {"hall": {}, "crew": {"accounts": ["south"]}}},
    }
)
SMALL = WorldSpec.model_validate({"people": ["mina"], "telegram": {"rooms": {"crew": {"threads": ["lamps"]}}}})


@for_each(
    ("text", "key"),
    [
        ("discord/ops", "discord:default/ops"),
        ("discord/ops/deploy", "discord:default/ops/deploy"),
        ("discord:relay/ops/deploy", "discord:relay/ops/deploy"),
        ("discord/back", "discord:relay/back"),
        ("discord/@mina", "discord:default/@mina"),
        ("discord:relay/@p2", "discord:relay/@p2"),
        ("telegram/crew", "telegram:south/crew"),
        ("ops", "discord:default/ops"),
        ("ops/deploy", "discord:default/ops/deploy"),
        ("crew", "telegram:south/crew"),
    ],
)
def test_a_place_is_found(text: str, key: str) -> None:
    found = resolve_place(text, WORLD)
    assert found.key == str(found) == key
    assert resolve_place(found.key, WORLD) == found


def test_one_platform_needs_no_name() -> None:
    assert resolve_place("@mina", SMALL) == PlaceRef(platform="telegram", account="default", person="mina")
    assert resolve_place("crew/lamps", SMALL).key == "telegram:default/crew/lamps"


@for_each(
    ("text", "message"),
    [
        ("hall", "'hall' is ambiguous (write discord/hall or telegram/hall)"),
        ("@mina", "'@mina' is ambiguous (write discord/@mina or telegram/@mina)"),
        (
            "telegram/hall",
            "is ambiguous: several accounts can see it (write telegram:north/hall or telegram:south/hall)",
        ),
        ("discord/shut", "no account of discord is a member of 'shut'"),
        ("discord:default/back", "the account 'default' is not a member of the room 'back' (its members: relay)"),
        ("discord:rely/ops", "expected an account of discord, found 'rely' (there are: default, relay)"),
        ("slack:default/ops", "expected a platform of the world, found 'slack' (there are: discord, telegram)"),
        ("discord/opps", "no room 'opps' there (nearest: discord/ops)"),
        ("dicord/ops", "found 'dicord/ops' (nearest: discord/ops"),
        ("OPS/Deploy", "found 'OPS/Deploy' (nearest: discord/ops/deploy"),
        ("discord/@otta", "no person 'otta' there (nearest: discord/@otto)"),
        ("discord/@p3", "no person 'p3' there"),
        *(
            (text, "expected platform/room, platform/room/thread or platform/@person")
            for text in ("", "/", "ops/", "@")
        ),
        *(
            (text, "expected platform/room, platform/room/thread or platform/@person")
            for text in ("a/b/c", "@mina/ops")
        ),
    ],
)
def test_what_is_no_place_is_reported(text: str, message: str) -> None:
    with pytest.raises(PlaceError) as caught:
        resolve_place(text, WORLD)
    assert message in str(caught.value)


def test_a_known_platform_that_the_world_lacks_is_reported() -> None:
    with pytest.raises(PlaceError, match=r"expected a platform of the world, found 'discord' \(there are: telegram\)"):
        resolve_place("discord/crew", SMALL)


def test_few_places_are_listed_where_none_is_near() -> None:
    with pytest.raises(PlaceError, match=r"\(there are: telegram/crew, telegram/crew/lamps, telegram/@mina\)"):
        resolve_place("zzz", SMALL)


def test_all_places_can_be_resolved_or_need_an_account() -> None:
    assert list(all_places(SMALL)) == ["telegram/crew", "telegram/crew/lamps", "telegram/@mina"]
    assert all(resolve_place(place, SMALL).key for place in all_places(SMALL))


@pytest.mark.parametrize(("name", "known"), [("mina", True), ("p1", True), ("p2", True), ("p3", False), ("p01", False)])
def test_the_crowd_are_people(name: str, known: bool) -> None:
    assert is_person(name, WORLD) is known


def test_threads_can_be_added_without_changing_the_world() -> None:
    more = with_threads(WORLD, [(resolve_place("ops", WORLD), "m1"), (resolve_place("ops", WORLD), "m2")])
    assert resolve_place("ops/m2", more).key == "discord:default/ops/m2"
    assert list(WORLD.platforms["discord"].rooms["ops"].threads) == ["deploy"]
