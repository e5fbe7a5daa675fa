"""R4: what the gateway changes in an id is its fault; what an agent or a client makes up is not."""

import msgspec
import pytest

from tests.support.event_stories import Story
from tests.support.factories import direct, room
from trunkline.core.events.delivery import TargetResolved
from trunkline.core.values import Address
from trunkline.sim.events.actions import AgentActs
from trunkline.sim.events.script import HookRedirected
from trunkline.sim.events.world import WorldPlace
from trunkline.sim.invariants import Status

KNOWN = room("AbC", channel="telegram")
FOLDED = room("abc", channel="telegram")
NOWHERE = room("999", channel="telegram")
MADE_UP = room("AbC", channel="telegram", thread="t1")


def r4() -> Story:
    story = Story("R4")
    story.world()
    story.tell(WorldPlace(address=KNOWN, name="ops"), node="telegram")
    return story


def named(story: Story, target: str, place: Address) -> int:
    """A send to a target that an agent named, as far as its refusal; the seq of its preparation."""
    body = TargetResolved(channel="telegram", target=target, address=place, session_key="k", steps=())
    resolved = story.tell(body)
    prepared = story.prepared(place=place, targeted=True, cause=resolved)
    story.started(place=place)
    story.refused(address=place)
    return prepared


@pytest.mark.parametrize(
    ("target", "place"),
    [("999", NOWHERE), ("group:999", NOWHERE), ("@nobody", NOWHERE), ("group:AbC", MADE_UP), ("abc", FOLDED)],
)
def test_a_place_that_the_agent_made_up_is_not_blamed_on_the_gateway(target: str, place: Address) -> None:
    story = r4()
    named(story, target, place)
    assert story.end().verdict.status is Status.OK


def test_a_made_up_thread_of_a_channel_is_the_agents() -> None:
    story = r4()
    named(story, "channel:AbC", msgspec.structs.replace(NOWHERE, parent="AbC"))
    assert story.end().wrong == []


@pytest.mark.parametrize(("answered", "wrong"), [("17.5", 0), ("17.4", 1)])
def test_an_agent_may_answer_in_a_thread_that_is_not_there_yet(answered: str, wrong: int) -> None:
    story = r4()
    story.tell(AgentActs(action="reply", call=1, place=KNOWN, message_id=answered), node="sim", turn="t1")
    thread = msgspec.structs.replace(KNOWN, thread="17.5")
    story.prepared(place=thread, turn="t1")
    story.started(place=thread)
    story.refused(address=thread)
    assert len(story.end().wrong) == wrong


def test_an_id_that_was_folded_on_its_way_from_the_target_is() -> None:
    story = r4()
    prepared = named(story, "group:AbC", FOLDED)
    assert [violation.first_wrong for violation in story.end().verdict.violations] == [prepared]


def test_an_id_is_spelled_only_as_a_whole() -> None:
    story = r4()
    named(story, "group:xAbC", NOWHERE)
    assert story.end().wrong == []


@pytest.mark.parametrize(
    ("target", "place", "wrong"), [("999", NOWHERE, 0), ("@nobody", NOWHERE, 0), ("group:AbC", FOLDED, 1)]
)
def test_a_place_that_a_hook_made_up_is_the_hooks(target: str, place: Address, wrong: int) -> None:
    story = r4()
    story.tell(HookRedirected(by="hook h", target=target), node="sim", intent="i1")
    story.prepared(place=place)
    story.started(place=place)
    story.refused(address=place)
    assert len(story.end().wrong) == wrong


def test_an_answer_to_a_place_that_is_none_is_the_gateways_own() -> None:
    story = r4()
    prepared = story.prepared(place=NOWHERE)
    story.started(place=NOWHERE)
    story.refused(address=NOWHERE)
    assert [violation.first_wrong for violation in story.end().verdict.violations] == [prepared]


def test_what_only_the_wire_has_wrong_is_blamed_on_the_request() -> None:
    story = r4()
    story.prepared(place=KNOWN)
    story.started(place=KNOWN)
    refused = story.refused(address=FOLDED)
    assert [violation.first_wrong for violation in story.end().verdict.violations] == [refused]


def test_an_account_that_is_none_is_wrong_before_anything_is_sent() -> None:
    story = r4()
    prepared = story.prepared(place=direct("100", channel="telegram", account="other"), targeted=True)
    assert [violation.first_wrong for violation in story.end().verdict.violations] == [prepared]
