"""The configuration of heartbeats and of the schedule: what it means, and what it refuses with which words."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.for_each import for_each
from trunkline.core.config import GatewayConfig
from trunkline.core.config.gateway import deliverable_channels, heartbeat_agents
from trunkline.core.heartbeat.settings import agent_of, heartbeat_of, target_question, zones_of
from trunkline.core.heartbeat.targets import Route
from trunkline.core.profile_rules import Profile


def read(**fields: Any) -> GatewayConfig:
    return GatewayConfig.model_validate(fields)


def refusal(**fields: Any) -> str:
    with pytest.raises(ValidationError) as refused:
        read(**fields)
    return str(refused.value)


@for_each(
    ("value", "seconds"),
    [(30, 1800.0), ("45", 2700.0), (0.5, 30.0), ("90s", 90.0), ("1h30m", 5400.0), (0, 0.0), ("0", 0.0), ("0s", 0.0)],
)
def test_a_bare_number_is_minutes(value: object, seconds: float) -> None:
    config = read(heartbeat={"every": value})
    assert config.heartbeat is not None
    assert config.heartbeat.every == seconds


@for_each("value", [-1, "soon", True, "-5m", None, float("nan"), "30 minutes"])
def test_an_interval_that_is_none_is_refused(value: object) -> None:
    assert "heartbeat.every" in refusal(heartbeat={"every": value})


@for_each(
    ("fields", "says"),
    [
        ({"every": "20ms"}, "heartbeat.every: 0.02 s is too short; the least is 1s, and 0 means never"),
        (
            {"active_hours": {"start": "24:00", "end": "06:00"}},
            "heartbeat.active_hours.start: '24:00' is no time of day",
        ),
        ({"active_hours": {"start": "08:00", "end": "8pm"}}, "heartbeat.active_hours.end: '8pm' is no time of day"),
        ({"active_hours": {"start": "08:00", "end": "08:00"}}, "heartbeat.active_hours: they end when they start"),
        (
            {"active_hours": {"start": "08:00", "end": "20:00", "timezone": "Mars/Olympus"}},
            "heartbeat.active_hours.timezone: 'Mars/Olympus' is no time zone: write an IANA name such as Europe/Zurich",
        ),
        ({"session": "not a key"}, "heartbeat.session: "),
        ({"session": "other:main"}, "heartbeat.session: 'other:main' is a session of agent 'other'"),
        ({"user_timezone": "CET+1"}, "heartbeat.user_timezone: 'CET+1' is no time zone"),
        (
            {"target": "pigeon"},
            "heartbeat.target: unknown channel 'pigeon'; write `owner`, `last`, `none` or a channel",
        ),
        ({"target": "none", "to": "5"}, "heartbeat.to: the target 'none' has no recipient of its own"),
        ({"file": "HEARTBEAT.md", "text": "x"}, "heartbeat: `file` and `text` are both given; keep one of them"),
        ({"ack_max_chars": -1}, "greater than or equal to 0"),
        ({"direct_policy": "maybe"}, "heartbeat.direct_policy"),
    ],
)
def test_bad_input_names_the_place_and_the_remedy(fields: dict[str, Any], says: str) -> None:
    assert says in refusal(heartbeat=fields)


def test_the_web_chat_is_a_target() -> None:
    assert read(heartbeat={"target": "webchat", "to": "ana"}).heartbeat is not None


def test_the_place_of_an_agent_is_named() -> None:
    agents = [{"id": "a"}, {"id": "b", "heartbeat": {"target": "pigeon"}}]
    assert "agents[1].heartbeat.target: unknown channel" in refusal(agents=agents)


def test_a_session_may_be_named_in_any_form() -> None:
    for key in ("main:main", "agent:main:telegram:group:-100"):
        config = read(heartbeat={"session": key})
        assert config.heartbeat is not None
        assert config.heartbeat.session == key


def test_upstream_takes_unusable_values_as_none() -> None:
    heartbeat = {"active_hours": {"start": "x", "end": "y", "timezone": "z"}, "target": "pigeon", "user_timezone": "?"}
    assert read(profile="openclaw", heartbeat=heartbeat).heartbeat is not None
    assert "heartbeat" in refusal(heartbeat=heartbeat)


def test_an_end_before_the_start_is_the_next_day_also_without_quotes() -> None:
    # YAML reads 22:00 as 1320.
    config = read(heartbeat={"activeHours": {"start": 1320, "end": "06:00"}})
    assert config.heartbeat is not None
    assert config.heartbeat.active_hours is not None
    assert config.heartbeat.active_hours.hours.start == "22:00"


def test_upstream_spelling_is_read() -> None:
    config = read(
        heartbeat={
            "ackMaxChars": 0,
            "accountId": "ops",
            "userTimezone": "Asia/Tokyo",
            "directPolicy": "block",
            "includeReasoning": True,
            "responsePrefix": "[bot]",
            "skipWhenBusy": True,
        },
        channels={"telegram": {"recipients": [5, "*"]}},
    )
    assert config.heartbeat is not None
    assert (config.heartbeat.account_id, config.heartbeat.ack_max_chars) == ("ops", 0)
    assert config.channel("telegram").recipients == ("5", "*")
    # Upstream restricts inbound messages by this; we do not, so the name is not accepted.
    assert "allowFrom" in refusal(channels={"telegram": {"allowFrom": ["5"]}})


# -------------------------------------------------------------------- agents


def test_without_a_section_nobody_has_a_heartbeat() -> None:
    assert heartbeat_agents(GatewayConfig()) == ()
    assert heartbeat_of(GatewayConfig(), "main") is None


def test_the_default_agent_has_one_unless_an_agent_has_a_section_of_its_own() -> None:
    agents = [{"id": "a"}, {"id": "b", "default": True}]
    assert heartbeat_agents(read(agents=agents, heartbeat={})) == ("b",)
    agents[0]["heartbeat"] = {}
    assert heartbeat_agents(read(agents=agents, heartbeat={})) == ("a",)


def test_settings_of_an_agent_replace_the_shared_ones_one_by_one() -> None:
    config = read(
        agents=[{"id": "a", "heartbeat": {"every": "5m", "active_hours": {"start": "09:00", "end": "17:00"}}}],
        heartbeat={"every": "1h", "target": "last", "user_timezone": "Asia/Tokyo"},
    )
    found = heartbeat_of(config, "a")
    assert found is not None
    assert (found.every, found.target, found.user_timezone) == (300.0, "last", "Asia/Tokyo")
    assert zones_of(config, "a", "UTC").user == "Asia/Tokyo"
    assert zones_of(config, "other", "UTC").user == "Asia/Tokyo"
    assert zones_of(GatewayConfig(), "main", "Europe/Zurich").of("user").key == "Europe/Zurich"


def test_the_question_for_a_target_has_the_facts_of_the_configuration() -> None:
    config = read(
        heartbeat={"target": "telegram", "to": "5", "account_id": "ops", "direct_policy": "block"},
        channels={"telegram": {"recipients": ["5"]}, "custom": {}, "defaults": {"heartbeat": {"show_ok": True}}},
        control={"owners": ["telegram:5"]},
        cron=[{"id": "daily", "every": "1d", "text": "x"}],
    )
    found = target_question(config, "main", last=Route(), accounts={"extra": ("x",)})
    assert (found.target, found.to, found.account, found.direct_policy) == ("telegram", "5", "ops", "block")
    assert (found.default, found.owners, found.recipients["telegram"]) == ("owner", ("telegram:5",), ("5",))
    assert found.channels[:2] == ("telegram", "custom")
    assert found.channels[-1] == "extra"
    assert "defaults" not in deliverable_channels(config)
    cron = target_question(config, "main", last=Route(), accounts={}, entry=config.cron[0])
    assert (cron.target, cron.default, cron.direct_policy) == (None, "none", "allow")
    assert agent_of(config.cron[0], config) == "main"
    upstream = read(profile=Profile.OPENCLAW, heartbeat={})
    assert target_question(upstream, "main", last=Route(), accounts={}).default == "none"


# -------------------------------------------------------------------- schedule


@for_each(
    ("entry", "says"),
    [
        ({}, "cron[0]: it needs one of `at`, `every` and `cron`, and has none"),
        (
            {"every": "1h", "cron": "0 9 * * *"},
            "cron[0]: it needs one of `at`, `every` and `cron`, and has every and cron",
        ),
        ({"every": "1h", "text": " \n"}, "cron[0].text: it is blank; say what the agent is asked"),
        ({"cron": "0 0 30 2 *"}, "cron[0].cron: '0 0 30 2 *' never fires"),
        ({"cron": "0 9 * *"}, "cron[0].cron: '0 9 * *' has 4 fields, and needs 5"),
        ({"at": "soon"}, "cron[0].at: 'soon' is no time: write 2026-11-23T09:00"),
        ({"every": "10ms"}, "greater than or equal to 1"),
        ({"every": "1h", "timezone": "Mars/Olympus"}, "cron[0].timezone: 'Mars/Olympus' is no time zone"),
        ({"every": "1h", "agent": "nobody"}, "cron[0].agent: no agent 'nobody'; there are: main"),
        ({"every": "1h", "target": "pigeon"}, "cron[0].target: unknown channel 'pigeon'"),
        (
            {"every": "1h", "wake": "now"},
            "cron[0].wake: agent 'main' has no heartbeat; configure one, or remove `wake`",
        ),
        ({"every": "1h", "id": ""}, "cron.0.id"),
        ({"every": "1h", "text": ""}, "cron.0.text"),
    ],
)
def test_a_bad_entry_names_the_place_and_the_remedy(entry: dict[str, Any], says: str) -> None:
    assert says in refusal(cron=[{"id": "daily", "text": "x", **entry}])


def test_an_entry_that_wakes_the_heartbeat_has_no_target_of_its_own() -> None:
    entry = {"id": "daily", "text": "x", "every": "1h", "wake": "next-heartbeat"}
    assert read(heartbeat={}, cron=[entry]).cron[0].wake == "next-heartbeat"
    refused = refusal(heartbeat={}, cron=[{**entry, "target": "last"}])
    assert "cron[0].target: the heartbeat delivers to its own target; remove `target`, or remove `wake`" in refused


def test_two_entries_with_one_id_are_refused() -> None:
    entry = {"id": "daily", "text": "x", "every": "1h"}
    assert "cron[1].id: another entry is called 'daily'" in refusal(cron=[entry, entry])


def test_the_entry_for_all_channels_holds_visibility_only() -> None:
    assert read(channels={"defaults": {"heartbeat": {"showOk": True}}}).channel("defaults").heartbeat.show_ok
    refused = refusal(channels={"defaults": {"heartbeat": {}, "auto_thread": True}})
    assert "channels.defaults: only `heartbeat` holds for all channels, not auto_thread" in refused
