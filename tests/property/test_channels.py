"""One session key for a conversation in every direction (invariant S1), on every platform; and targets of any text."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.property.channel_places import GENERIC, STRATEGIES
from tests.support.scale import scaled
from trunkline.core.channels import Hints, known_channels, rules_for
from trunkline.core.config import DmScope, GatewayConfig
from trunkline.core.errors import TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address, ChatKind

SCOPES = {scope: GatewayConfig.model_validate({"session": {"dm_scope": scope}}) for scope in DmScope}
#: many patterns are compiled at the first draw, which takes its time on a busy machine
BUSY = settings(suppress_health_check=[HealthCheck.too_slow])
CHANNELS = [*sorted(STRATEGIES), "customchat"]
#: platforms whose ids have several spellings, of which one is written: phone numbers, UUIDs, names with a mark
SPELLED = frozenset({"bluebubbles", "googlechat", "imessage", "signal", "tlon", "voice", "whatsapp"})
#: platforms whose From does not tell a person from a room
MUTE_FROM = frozenset({"nextcloud-talk"})


def route_to(place: Address, target: str, thread: str | None, config: GatewayConfig) -> OutboundRoute:
    question = OutboundQuestion(
        agent="main", channel=place.channel, target=target, thread=thread, account=place.account
    )
    return resolve_outbound_route(question, config)


def test_every_platform_has_its_places() -> None:
    assert sorted(STRATEGIES) == list(known_channels())


@pytest.mark.parametrize("channel", CHANNELS)
@settings(BUSY, max_examples=scaled(50, 15))
@given(st.data())
def test_what_is_written_for_a_place_leads_back_to_it_and_to_its_session(channel: str, data: st.DataObject) -> None:
    place = data.draw(STRATEGIES.get(channel, GENERIC))
    written = rules_for(channel).write(place)
    for config in SCOPES.values():
        route = route_to(place, written.target, written.thread, config)
        assert route.address == place
        assert (route.address.lane, route.kind) == (place.lane, place.kind)
        assert route.key == place_key("main", place, config)


@pytest.mark.parametrize("channel", CHANNELS)
@settings(BUSY, max_examples=scaled(25, 8))
@given(st.data())
def test_to_and_from_lead_back_too_with_the_thread_beside_them(channel: str, data: st.DataObject) -> None:
    place = data.draw(STRATEGIES.get(channel, GENERIC))
    config, written = SCOPES[DmScope.PER_ACCOUNT_CHANNEL_PEER], rules_for(channel).write(place)
    route = route_to(place, written.target, written.thread, config)
    thread = None if route.thread_id is None else str(route.thread_id)
    for told in (route.to,) if channel in MUTE_FROM else (route.to, route.sender):
        again = route_to(place, told, thread, config)
        assert (again.key, again.address.lane) == (route.key, place.lane), told


channels = st.sampled_from(CHANNELS)
_PIECES = (
    *("user:", "Group:", "channel:", "dm:", "topic:", "room:", "@", "#", "<@", ">", "!", "$", ":", "/", " ", "-"),
    *("1", "42", "-100", "+1555", "0", "abc", "U1", "D1", "G1", "oc_x", "ou_x", "19:x@thread.v2", "é", "\x00"),
)
#: any text, and what targets are made of in any order
texts = st.text(max_size=30) | st.lists(st.sampled_from(_PIECES) | st.text(max_size=9), max_size=6).map("".join)
hints = st.builds(Hints, kind=st.none() | st.sampled_from(ChatKind))


@settings(max_examples=scaled(1000, 100))
@given(channels, texts, hints, st.booleans())
def test_any_text_is_a_target_with_an_id_or_an_error(channel: str, text: str, hint: Hints, named: bool) -> None:
    text = f"{channel}:{text}" if named else text
    try:
        target = rules_for(channel).read(text, hint)
    except TargetError:
        return
    assert target.id.strip() == target.id != ""
    if channel == "slack":
        # Slack's ids are written in capitals, whatever they came in.
        assert target.id.lower() in text.lower()
    elif channel not in SPELLED:
        assert target.id in text


@settings(max_examples=scaled(1000, 100))
@given(channels, texts, texts, texts, st.sampled_from(Profile))
def test_any_send_has_a_route_or_an_error(
    channel: str, target: str, thread: str, reply_to: str, profile: Profile
) -> None:
    config = GatewayConfig(profile=profile)
    question = OutboundQuestion(agent="main", channel=channel, target=target, thread=thread, reply_to=reply_to)
    try:
        route = resolve_outbound_route(question, config)
    except TargetError:
        return
    assert route.steps
    assert profile is not Profile.TRUNKLINE or route.key == place_key("main", route.address, config)
