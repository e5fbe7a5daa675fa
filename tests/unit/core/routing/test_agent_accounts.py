"""Which account an agent writes by, and which agent gets the answers from a place."""

from typing import Any

import pytest

from tests.support.factories import binding, direct, room
from tests.support.for_each import for_each
from trunkline import Address, GatewayConfig
from trunkline.core.config import RouteRuleConfig
from trunkline.core.routing.inbound import account_of_agent, other_agent_at

AGENTS: Any = ({"id": "main", "default": True}, {"id": "ops"}, {"id": "desk"})


def config(*rules: RouteRuleConfig) -> GatewayConfig:
    return GatewayConfig.model_validate({"agents": AGENTS, "bindings": rules})


PERSON = binding("desk", peer={"kind": "direct", "id": "100"})
CHANNEL = binding("desk", peer={"kind": "channel", "id": "500"})
NIGHT, DAY = binding("ops", account="Night"), binding("ops", account="day")
SERVED = ("day", "default", "night")


@for_each(
    ("rules", "source", "account"),
    [
        pytest.param((NIGHT, DAY), None, "night", id="the first rule that names one"),
        pytest.param((NIGHT, DAY), direct(account="day"), "day", id="that of the turn, if a rule names it"),
        pytest.param((NIGHT,), direct(account="day"), "night", id="not that of the turn, if no rule names it"),
        pytest.param((NIGHT, DAY), direct(channel="telegram", account="day"), "night", id="a turn on another channel"),
        pytest.param((binding("ops", account="gone"), DAY), None, "day", id="not one that nobody serves"),
        pytest.param((binding("ops", account="*"), binding("ops")), None, None, id="a rule for all, or the default"),
        pytest.param((binding("desk", account="day"),), None, None, id="rules of other agents"),
        pytest.param((binding("ops", channel="slack", account="day"),), None, None, id="rules of other channels"),
    ],
)
def test_the_account_of_an_agent(rules: Any, source: Address | None, account: str | None) -> None:
    assert account_of_agent("ops", "discord", source, SERVED, config(*rules)) == account


@for_each(
    ("rules", "place", "other"),
    [
        pytest.param((), direct(), None, id="no rules"),
        pytest.param((binding("desk", account="*"),), direct(), "desk", id="a rule for the channel"),
        pytest.param((PERSON,), direct(), "desk", id="a person's own rule"),
        pytest.param((PERSON,), direct("200"), None, id="another person"),
        pytest.param((binding("desk", guild="g"),), room(), None, id="nobody knows the guild of an answer yet"),
        pytest.param((CHANNEL,), room(), "desk", id="a channel's own rule"),
    ],
)
def test_who_gets_the_answers(rules: Any, place: Address, other: str | None) -> None:
    route = other_agent_at(place, "main", config(*rules))
    assert (None if route is None else route.agent) == other


def test_with_one_agent_there_is_no_other() -> None:
    assert other_agent_at(direct(), "main", GatewayConfig()) is None
