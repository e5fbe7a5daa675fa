"""The crowd: made-up people with names that agents see, who may talk by themselves."""

import pytest

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.core.events.gateway import InboundReceived
from trunkline.sim import ScenarioError, load_scenario, run_scenario
from trunkline.sim.cast.names import chatter, display_names
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.scenario.load import load_text
from trunkline.sim.scenario.model.world import WorldSpec

TALK = {"count": 4, "chatter": {"in": ["team", "@"], "messages": 40, "every": "2s", "start": "10s"}}


def world(**fields: object) -> WorldSpec:
    return WorldSpec.model_validate({"telegram": {"rooms": ["team"]}, **fields})


def file(crowd: str, people: str = "[]"):
    return load_text(
        f"""
scenario: 1
title: crowd
world: {{people: {people}, crowd: {crowd}, telegram: {{rooms: [team]}}}}
cast: {{agents: {{main: [{{do: [{{reply: "hi {{peer}}"}}]}}]}}}}
script: [{{at: 0s, as: p1, in: team, say: "hello"}}]
""",
        "crowd.yaml",
    )


def test_a_number_is_a_crowd_that_says_nothing() -> None:
    spec = world(crowd=3)
    assert sorted(display_names(spec, 1)) == ["p1", "p2", "p3"]
    assert chatter(spec, 1) == ()
    assert display_names(world(), 1) == {}


def test_names_and_sentences_follow_from_the_seed() -> None:
    spec = world(crowd=TALK)
    assert display_names(spec, 1) == display_names(spec, 1) != display_names(spec, 2)
    assert chatter(spec, 1) == chatter(spec, 1) != chatter(spec, 2)


def test_the_chatter_has_the_number_the_times_and_the_places_that_are_given() -> None:
    said = chatter(world(crowd=TALK), 1)
    assert len(said) == len({one.name for one in said}) == 40
    assert [one.at for one in said] == sorted(one.at for one in said)
    assert all(10 + 2 * number <= one.at <= 12 + 2 * number for number, one in enumerate(said))
    assert {one.person for one in said} == {"p1", "p2", "p3", "p4"}
    assert {one.place for one in said} == {"team", "@p1", "@p2", "@p3", "@p4"}
    assert all(one.place in ("team", f"@{one.person}") and one.text.strip() for one in said)
    assert [one.name for one in said if one.person == "p1"][:2] == ["p1.1", "p1.2"]


def test_the_gateway_and_the_agent_see_the_display_names() -> None:
    found = run_scenario(file(crowd='{count: 2, chatter: {in: "telegram/@", messages: 5}}'))
    assert not found.violated
    names = display_names(world(crowd=2), 1)
    said = [event.body for event in found.trace.events if isinstance(event.body, PeerSaid)]
    received = [event.body for event in found.trace.events if isinstance(event.body, InboundReceived)]
    seen = [event.body.text for event in found.trace.events if isinstance(event.body, WireAccepted)]
    assert len(said) == len(received) == len(seen) == 6
    assert {body.peer.name for body in received} == set(names.values())
    assert set(seen) == {f"hi {name}" for name in names.values()}


@for_each(
    ("crowd", "problem"),
    [
        ("{chatter: {in: team}}", "world.crowd.chatter: there is nobody to chatter"),
        ("{count: 1, chatter: {in: [lobby]}}", "world.crowd.chatter.in[0]: expected a place of the world"),
        ("{count: 1, chatter: {in: 'slack/@'}}", "world.crowd.chatter.in: expected a platform of the world"),
        ("{count: 1, chatter: {in: []}}", "world.crowd.chatter.in"),
        ("{count: 1, chatter: {in: team, messages: 0}}", "world.crowd.chatter.messages"),
        ("{count: 1, chatter: {in: team, every: 0s}}", "world.crowd.chatter.every"),
        ("{count: -1}", "world.crowd.count"),
        ("-1", "world.crowd"),
        ("many", "world.crowd"),
    ],
)
def test_a_bad_crowd_is_reported_at_its_place(crowd: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        file(crowd)
    assert problem in str(caught.value)


def test_a_person_of_the_file_is_not_one_of_the_crowd() -> None:
    with pytest.raises(ScenarioError, match="'p2' is one of the crowd of 3 already"):
        file("{count: 3}", "[p2]")


def test_shipped_crowds_hold_under_other_seeds() -> None:
    for name in ("crowd-chatters", "crowd-in-a-group"):
        shipped = load_scenario(ROOT / "scenarios" / "faults" / f"{name}.yaml")
        for seed in (7, 8):
            found = run_scenario(shipped, seed=seed)
            assert not found.violated and not found.unmet
