"""What the tests of routing share."""

from typing import Any

from tests.support.factories import binding, config, envelope, group, room
from trunkline.core.config import RouteRuleConfig
from trunkline.core.reasons import Reason
from trunkline.core.routing import resolve_route
from trunkline.core.values import Envelope

#: a thread of a guild channel, said by somebody with roles: every tier can match it
THREAD = room("777", parent="500")


SAID = envelope(THREAD, guild="acme", team="t1", roles=("admin", "dev"))


#: one binding for each tier that matches SAID
BY_TIER: dict[str, dict[str, Any]] = {
    "binding.peer": {"peer": {"kind": "channel", "id": "777"}},
    "binding.peer.parent": {"peer": {"kind": "channel", "id": "500"}},
    "binding.peer.wildcard": {"peer": {"kind": "channel", "id": "*"}},
    "binding.guild+roles": {"guild": "acme", "roles": ["dev"]},
    "binding.guild": {"guild": "acme"},
    "binding.team": {"team": "t1"},
    "binding.account": {"account": "default"},
    "binding.channel": {"account": "*"},
}


def reasons(said: Envelope, *bindings: RouteRuleConfig) -> list[Reason]:
    return [candidate.reason for candidate in resolve_route(said, config(*bindings)).candidates]


CONSTRAINTS = {
    "channel": ({"channel": "discord"}, {"channel": "telegram"}, Reason.OTHER_CHANNEL),
    "account": ({"account": "default"}, {"account": "second"}, Reason.OTHER_ACCOUNT),
    "peer": ({"peer": {"kind": "channel", "id": "777"}}, {"peer": {"kind": "channel", "id": "1"}}, Reason.OTHER_PEER),
    "guild": ({"guild": "acme"}, {"guild": "other"}, Reason.OTHER_GUILD),
    "team": ({"team": "t1"}, {"team": "t2"}, Reason.OTHER_TEAM),
    "roles": ({"roles": ["dev", "qa"]}, {"roles": ["qa"]}, Reason.ROLE_MISSING),
}


def everything(**instead: Any) -> RouteRuleConfig:
    match = {name: value for fits, _, _ in CONSTRAINTS.values() for name, value in fits.items()}
    return binding("ops", **{**match, **instead})


TOPIC = envelope(group("-1007", thread="10"))
