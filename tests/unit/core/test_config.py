"""The configuration: times, names, spellings, and what it refuses."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from tests.support.for_each import for_each
from trunkline.core.config import ChannelConfig, DeliveryConfig, DmScope, GatewayConfig, Model, parse_duration
from trunkline.core.config.gateway import AgentConfig
from trunkline.core.config.routing import RouteMatch
from trunkline.core.config.work import HandConfig


def read(**fields: Any) -> GatewayConfig:
    return GatewayConfig.model_validate(fields)


@for_each(
    ("text", "seconds"),
    [
        (0, 0.0),
        (5, 5.0),
        (2.5, 2.5),
        ("0s", 0.0),
        ("5s", 5.0),
        ("250ms", 0.25),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("1d2h3m4s5ms", 93784.005),
        ("1.5m", 90.0),
        ("1m 30s", 90.0),
        ("30s1m", 90.0),
    ],
)
def test_a_time_is_a_number_or_a_text_with_units(text: object, seconds: float) -> None:
    assert parse_duration(text) == seconds


@for_each("text", ["", "5", "s", "5 seconds", "-5s", "1e3s", "5S", "5s!", "1m30", ".5s", "5.s"])
def test_a_text_that_is_no_time_is_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time: write 5s, 250ms or 1m30s"):
        parse_duration(text)


@pytest.mark.parametrize("value", [True, None, [5], {"s": 5}, b"5s"])
def test_a_value_that_is_no_time_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="expected a time such as 5s, 250ms or 1m30s"):
        parse_duration(value)


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(ValueError, match="a time cannot be negative"):
        parse_duration(-0.001)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**400, "9" * 400 + "s"], ids=["nan", "inf", "int", "text"]
)
def test_a_time_without_end_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="the time is too long"):
        parse_duration(value)


def test_the_defaults_are_the_safe_choices() -> None:
    config = GatewayConfig()
    assert config.session.dm_scope is DmScope.PER_ACCOUNT_CHANNEL_PEER
    assert config.session.identity_links == {}
    assert config.hands.announce == "turn"
    assert config.hands.defaults.on_restart == "lost"
    assert not config.channel("discord").auto_thread


def test_a_configuration_of_nothing_has_one_agent() -> None:
    assert [agent.id for agent in GatewayConfig().agents] == ["main"]
    assert GatewayConfig().default_agent == "main"


@pytest.mark.parametrize(
    ("agents", "default"),
    [
        ([{"id": "one"}, {"id": "two"}], "one"),
        ([{"id": "one"}, {"id": "two", "default": True}], "two"),
        ([{"id": "one", "default": True}, {"id": "two", "default": True}], "one"),
    ],
)
def test_the_default_agent_is_the_flagged_one_else_the_first(agents: list[dict[str, Any]], default: str) -> None:
    assert read(agents=agents).default_agent == default


def test_no_agents_at_all_are_refused() -> None:
    with pytest.raises(ValidationError, match="agents"):
        read(agents=[])


def test_two_agents_with_one_id_are_refused() -> None:
    with pytest.raises(ValidationError, match="two agents share an id: one, one"):
        read(agents=[{"id": "one"}, {"id": "one"}])


def test_a_binding_to_an_agent_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(ValidationError, match=r"bindings\[1\]\.agent: no agent 'three'; there are: one, two"):
        read(
            agents=[{"id": "one"}, {"id": "two"}],
            bindings=[{"agent": agent, "match": {"channel": "discord"}} for agent in ("one", "three")],
        )


@for_each("agent", ["", "Main", "a b", "-a", "a:b", "ä", "a\n", "x" * 65])
def test_an_agent_id_that_could_not_stand_in_a_key_is_refused(agent: str) -> None:
    with pytest.raises(ValidationError, match="id"):
        AgentConfig(id=agent)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("sessions", {"sessions": {}}),
        ("delivery.retries", {"delivery": {"retries": 3}}),
        ("bindings.0.match.chanel", {"bindings": [{"agent": "main", "match": {"channel": "x", "chanel": "x"}}]}),
        ("hands.each.clerk.dead_line", {"hands": {"each": {"clerk": {"dead_line": 3}}}}),
    ],
)
def test_an_unknown_field_is_refused_wherever_it_stands(path: str, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refusal:
        read(**fields)
    [error] = refusal.value.errors()
    assert ".".join(map(str, error["loc"])) == path
    assert error["type"] == "extra_forbidden"


def test_the_upstream_spelling_of_a_field_means_the_same() -> None:
    camel = read(
        session={"dmScope": "per-peer", "identityLinks": {"ana": ["1"]}},
        delivery={"maxAttempts": 2, "requestTimeout": "3s", "maxAge": "1h"},
        channels={"discord": {"autoThread": True, "textLimit": 100}},
        hands={"each": {"clerk": {"onRestart": "rerun"}}},
    )
    snake = read(
        session={"dm_scope": "per-peer", "identity_links": {"ana": ["1"]}},
        delivery={"max_attempts": 2, "request_timeout": 3, "max_age": 3600},
        channels={"discord": {"auto_thread": True, "text_limit": 100}},
        hands={"each": {"clerk": {"on_restart": "rerun"}}},
    )
    assert camel == snake


def test_both_spellings_of_one_field_are_refused() -> None:
    with pytest.raises(ValidationError, match="dmScope"):
        read(session={"dm_scope": "main", "dmScope": "per-peer"})


@for_each(
    ("section", "field", "value"),
    [
        ("delivery", "max_attempts", 0),
        ("delivery", "lanes", 0),
        ("delivery", "backoff", []),
        ("delivery", "max_age", "soon"),
        ("session", "dm_scope", "everyone"),
        ("hands", "announce", "loudly"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_by_the_name_of_its_field(section: str, field: str, value: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        read(**{section: {field: value}})
    assert refusal.value.errors()[0]["loc"][:2] == (section, field)


def models() -> list[type[BaseModel]]:
    package = "trunkline.core.config."
    return sorted((model for model in Model.__subclasses__() if model.__module__.startswith(package)), key=str)


@for_each("model", models(), ids=lambda model: model.__name__)
def test_a_configuration_cannot_be_changed(model: type[Model]) -> None:
    needs: dict[str, dict[str, Any]] = {
        "ActiveHoursConfig": {"start": "08:00", "end": "20:00"},
        "AgentConfig": {"id": "a"},
        "CronConfig": {"id": "a", "every": "1h", "text": "x"},
        "PeerMatch": {"kind": "direct", "id": "1"},
        "RouteMatch": {"channel": "x"},
        "Secret": {"env": "NAME"},
    }
    needs["RouteRuleConfig"] = {"agent": "main", "match": needs["RouteMatch"]}
    value = model.model_validate(needs.get(model.__name__, {}))
    field = next(iter(model.model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(value, field, getattr(value, field))


def test_settings_of_a_channel_or_hand_that_is_not_named_are_the_defaults() -> None:
    config = read(hands={"defaults": {"deadline": "9s"}, "each": {"clerk": {"deadline": "1s"}}})
    assert config.channel("telegram") == ChannelConfig()
    assert config.hands.of("clerk") == HandConfig(deadline=1.0)
    assert config.hands.of("other") == HandConfig(deadline=9.0)


def test_gates_of_actions_are_read_in_both_spellings() -> None:
    config = read(channels={"discord": {"actions": {"emojiUploads": False, "moderation": True, "member_info": False}}})
    assert config.channel("discord").actions == {"emoji_uploads": False, "moderation": True, "member_info": False}


def test_a_gate_that_the_channel_has_not_is_an_error() -> None:
    with pytest.raises(ValidationError, match=r"channels\.slack\.actions: no gate 'moderation'; there are: emoji_list"):
        read(channels={"slack": {"actions": {"moderation": True}}})
    with pytest.raises(ValidationError, match="there are: none, since its actions are not known"):
        read(channels={"own": {"actions": {"pins": True}}})
    with pytest.raises(ValidationError, match="actions"):
        read(channels={"slack": {"actions": ["pins"]}})
    assert read(profile="openclaw", channels={"slack": {"actions": {"moderation": True}}})


def test_times_are_written_as_seconds() -> None:
    assert DeliveryConfig.model_validate({"max_age": "1h"}).model_dump(mode="json")["max_age"] == 3600.0


def test_ids_may_be_written_as_numbers() -> None:
    match = RouteMatch.model_validate(
        {"channel": "telegram", "peer": {"kind": "group", "id": -1001234567890}, "guild": 7, "roles": [1, "2"]}
    )
    assert match.peer is not None
    assert (match.peer.id, match.guild, match.roles) == ("-1001234567890", "7", ("1", "2"))
