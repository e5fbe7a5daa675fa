"""What a session says of its conversation is the same whether an inbound or an outbound message made it (seed 000)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factories import config
from tests.support.property.channel_places import GENERIC, STRATEGIES
from trunkline.core.channels import rules_for
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.routing.scopes import place_key
from trunkline.core.sessions.entries import entry_for
from trunkline.core.sessions.named_key import SessionRules
from trunkline.core.values import Address

_PLACES = {**STRATEGIES, "customchat": GENERIC}
_ours = config()


def routed(place: Address) -> OutboundRoute:
    """The route of a send to what is written for a place."""
    written = rules_for(place.channel).write(place)
    question = OutboundQuestion(
        agent="main", channel=place.channel, target=written.target, account=place.account, thread=written.thread
    )
    return resolve_outbound_route(question, _ours)


@pytest.mark.parametrize("channel", sorted(_PLACES))
@given(data=st.data())
def test_both_directions_make_the_same_entry_and_the_same_key(channel: str, data: st.DataObject) -> None:
    place = data.draw(_PLACES[channel])
    route = routed(place)
    assert _ours.rules[SessionRules].entry(route) == entry_for(place)
    assert route.key == place_key("main", place, _ours)


@pytest.mark.parametrize("channel", sorted(_PLACES))
@given(data=st.data())
def test_the_entry_names_its_own_place(channel: str, data: st.DataObject) -> None:
    """What an entry says of its place can be used as a target, and leads there."""
    place = data.draw(_PLACES[channel])
    entry = entry_for(place)
    thread = None if entry.thread is None else str(entry.thread)
    question = OutboundQuestion(
        agent="main",
        channel=entry.originating_channel,
        target=entry.originating_to,
        account=entry.account,
        thread=thread,
    )
    assert resolve_outbound_route(question, _ours).address.lane == place.lane


@pytest.mark.parametrize("channel", sorted(_PLACES))
@given(data=st.data())
def test_different_conversations_have_different_entries(channel: str, data: st.DataObject) -> None:
    one, other = data.draw(_PLACES[channel]), data.draw(_PLACES[channel])
    rules = rules_for(channel)
    same = rules.fold(one.kind, one.conversation) == rules.fold(other.kind, other.conversation)
    if one.account == other.account and one.thread == other.thread and not (same and one.kind is other.kind):
        assert entry_for(one) != entry_for(other)
