"""M1, R1, S3 and B2 where scopes, rooms, people and processes are more than one."""

from typing import Any

import pytest

from tests.support.event_stories import Story
from tests.support.factories import direct, room
from tests.support.for_each import for_each
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.events.gateway import (
    ConfigReloaded,
    InboundReceived,
    ProcessStarted,
    RouteDecided,
    RuleScopes,
    SessionShared,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentState, Peer, WorkKind
from trunkline.sim.events.actions import AgentActs
from trunkline.sim.events.world import ThreadOpened

PER_PEER = "per-account-channel-peer"
ANA, BO = direct("1", channel="signal"), direct("2", channel="signal")


def rule(**fields: Any) -> RuleScopes:
    return RuleScopes(**{"channel": "signal", "account": "*", "dm_scope": "main", "group_scope": "per-group", **fields})


def routed(story: Story, inbound: str, place: Address, *, scope: str = "main", revision: int = 1, by: str = "") -> int:
    """A message, as far as its route."""
    peer = Peer(id=by or place.conversation)
    received = InboundReceived(address=place, peer=peer, message_id=inbound, text="hi")
    story.tell(received, inbound=inbound)
    body = RouteDecided(
        agent="main",
        session_key="main:main",
        matched_by="default",
        binding=None,
        candidates=(),
        scope=scope,
        revision=revision,
        reply_to=place,
        reply_reason=Reason.REPLY_TO_ORIGIN,
    )
    return story.tell(body, inbound=inbound)


def turn(story: Story, inbound: str, place: Address, work: WorkKind = WorkKind.MESSAGE) -> int:
    body = TurnStarted(agent="main", session_id="s", session_key="main:main", work=work, origin=place)
    return story.tell(body, inbound=inbound, turn=f"t-{inbound}")


# ---------------------------------------------------------------- M1: scopes of route rules


@for_each(
    ("rules", "wrong"),
    [
        ((), 1),
        ((rule(),), 0),
        ((rule(peer="1", direct=True),), 0),
        ((rule(peer="2", direct=True),), 1),
        ((rule(direct=False),), 1),
        ((rule(account="other"),), 1),
        ((rule(channel="telegram"),), 1),
        ((rule(dm_scope="per-peer", group_scope="main"),), 1),
    ],
)
def test_a_rule_that_matches_may_put_a_place_into_the_main_session(rules: tuple[RuleScopes, ...], wrong: int) -> None:
    story = Story("M1")
    story.tell(ProcessStarted(dm_scope=PER_PEER, group_scope="per-group", rule_scopes=rules))
    story.prepared(place=ANA, mirror_key="main:main")
    story.accepted(place=ANA)
    story.tell(MirrorAppended(session_id="s", session_key="main:main", text="hello"), intent="i1")
    story.settled(IntentState.DELIVERED)
    assert len(story.end().wrong) == wrong


# ---------------------------------------------------------------- R1: ids of messages are those of a room


@pytest.mark.parametrize(("asked_in", "wrong"), [("lab", 0), ("ops", 1)])
def test_a_thread_on_a_message_is_that_of_the_messages_own_room(asked_in: str, wrong: int) -> None:
    story = Story("R1")
    place = room(asked_in, channel="slack")
    thread = room("lab", channel="slack", thread="17.5")
    story.tell(ThreadOpened(address=thread, name="t", on_message="17.5"), node="slack")
    story.tell(InboundReceived(address=place, peer=Peer(id="u"), message_id="17.5", text="hi"), inbound="m1")
    story.prepared(place=thread, inbound="m1")
    story.accepted(place=thread)
    assert len(story.end().wrong) == wrong


@pytest.mark.parametrize(("named", "wrong"), [("17.4", 0), ("17.3", 1)])
@pytest.mark.parametrize("own", [True, False], ids=["own", "of a person"])
def test_an_agent_may_answer_another_message_that_it_names(named: str, wrong: int, own: bool) -> None:
    story = Story("R1")
    place = room("lab", channel="slack")
    story.tell(InboundReceived(address=place, peer=Peer(id="u"), message_id="17.5", text="hi"), inbound="m1")
    story.prepared("i0", place=place, inbound="m1", turn="t1")
    story.accepted(intent="i0", place=place, provider_id=named)
    of, message = ("i0", None) if own else (None, named)
    acts = AgentActs(action="reply", call=1, of=of, place=None if own else place, message_id=message)
    story.tell(acts, node="sim", turn="t1")
    thread = room("lab", channel="slack", thread="17.4")
    for intent, at, quoted in (("i1", place, "17.4"), ("i2", thread, None)):
        story.prepared(intent, place=at, inbound="m1", turn="t1")
        story.accepted(intent=intent, place=at, reply_to=quoted)
    assert len(story.end().wrong) == wrong * 2


# ---------------------------------------------------------------- S3: who shares a session


def s3(links: dict[str, tuple[str, ...]] | None = None) -> Story:
    story = Story("S3")
    story.tell(ProcessStarted(dm_scope="main", group_scope="per-group", identity_links=links or {}))
    return story


def test_a_second_person_without_a_warning_is_missing_one_after_the_route() -> None:
    story = s3()
    routed(story, "m1", ANA)
    turn(story, "m1", ANA)
    route = routed(story, "m2", BO)
    turn(story, "m2", BO)
    (violation,) = story.end().verdict.violations
    assert (violation.first_wrong, violation.missing_after) == (None, route)


def test_a_warned_second_person_may_join() -> None:
    story = s3()
    routed(story, "m1", ANA)
    turn(story, "m1", ANA)
    routed(story, "m2", BO)
    warning = SessionShared(session_key="main:main", reason=Reason.SHARED_MAIN, peer=Peer(id="2"), people=2)
    story.tell(warning, inbound="m2")
    turn(story, "m2", BO)
    assert story.end().wrong == []


def test_a_link_that_is_added_later_makes_one_person_no_second_one() -> None:
    story = s3()
    routed(story, "m1", ANA)
    turn(story, "m1", ANA)
    links = {"ana": ("signal:1",)}
    body = ConfigReloaded(revision=2, changed=("session",), dm_scope="main", group_scope="", identity_links=links)
    story.tell(body)
    routed(story, "m2", ANA)
    turn(story, "m2", ANA)
    assert story.end().wrong == []


@pytest.mark.parametrize(("by", "wrong"), [("1", 0), ("2", 1)])
def test_who_shares_is_who_wrote(by: str, wrong: int) -> None:
    story = s3()
    routed(story, "m1", ANA)
    turn(story, "m1", ANA, WorkKind.CONTROL)
    routed(story, "m2", BO, by=by)
    turn(story, "m2", BO)
    assert len(story.end().wrong) == wrong


# ---------------------------------------------------------------- B2: each process has its own reload


@pytest.mark.parametrize(("process", "wrong"), [(1, 0), (2, 1)])
def test_a_route_follows_the_reload_of_its_own_process(process: int, wrong: int) -> None:
    story = Story("B2")
    for number, revision in ((1, 2), (2, 3)):
        story.process = number
        body = ConfigReloaded(revision=revision, changed=(), dm_scope=PER_PEER, group_scope="per-group")
        story.tell(body)
    story.process = process
    routed(story, "m1", ANA, scope=PER_PEER, revision=2)
    assert len(story.end().wrong) == wrong
