"""Sends to targets, for the tests of channels."""

from typing import Any

from tests.support.profiles import key_text, rules_under
from trunkline.core.channels import Hints, ParsedTarget
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import TargetError
from trunkline.core.profile_rules import Profile
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address

OURS, MARCH, AUGUST = Profile.TRUNKLINE, Profile.OPENCLAW, Profile.OPENCLAW_2026_08


def config_of(profile: Profile = OURS, **channels: dict[str, Any]) -> GatewayConfig:
    """A configuration in which every peer has a session, under all profiles."""
    session = {"dm_scope": "per-channel-peer" if profile is not OURS else "per-account-channel-peer"}
    return GatewayConfig.model_validate({"profile": profile, "session": session, "channels": channels})


def route(
    channel: str, target: str, profile: Profile = OURS, config: GatewayConfig | None = None, **fields: Any
) -> OutboundRoute:
    """The route of a send."""
    question = OutboundQuestion(agent="main", channel=channel, target=target, **fields)
    return resolve_outbound_route(question, config or config_of(profile))


def read(channel: str, text: str, profile: Profile = OURS, **hints: Any) -> ParsedTarget:
    """What a target names."""
    return rules_under(profile, channel).read(text, Hints(**hints))


def seen(channel: str, text: str, profile: Profile = OURS, **hints: Any) -> tuple[str, str]:
    """Kind and id of what a target names."""
    found = read(channel, text, profile, **hints)
    return found.kind.value, found.id


def seen_or_none(channel: str, text: str, profile: Profile = OURS) -> tuple[str, str] | None:
    """Kind and id of what a target names; none when it is no target."""
    try:
        return seen(channel, text, profile)
    except TargetError:
        return None


def key(channel: str, target: str, profile: Profile = OURS, **fields: Any) -> str:
    """The session key of a send."""
    return key_text(route(channel, target, profile, **fields).key, profile)


def inbound_key(address: Address, profile: Profile = OURS) -> str:
    """The session key of a message from a place."""
    return key_text(place_key("main", address, config_of(profile)), profile)
