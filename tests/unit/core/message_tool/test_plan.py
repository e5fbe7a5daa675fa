"""The order of steps of a call, the choice of its channel, and broadcasts."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, PlannedCall, TargetSource
from trunkline.core.message_tool.planning.plan import check_call, plan_call
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason

CONFIG = GatewayConfig()
MOST = CONFIG.tools.message.broadcast.max_sends
UPSTREAM = GatewayConfig(profile=Profile.OPENCLAW)
HERE = CallContext(target="channel:C1", channel="slack", message_id="m7")


def planned(
    *served: str, context: CallContext = HERE, config: GatewayConfig = CONFIG, action: str = "send", **params: Any
) -> PlannedCall:
    return plan_call({"action": action, **params}, context, config, served)


def error(*served: str, **call: Any) -> InvalidAction:
    with pytest.raises(InvalidAction) as raised:
        planned(*served, **call)
    return raised.value


# -------------------------------------------------------------------- channel


@pytest.mark.parametrize("config", [CONFIG, UPSTREAM])
def test_the_channel_is_the_named_one_else_the_current_one_else_the_only_one(config: GatewayConfig) -> None:
    assert planned("slack", "telegram", channel=" Telegram ", target="1", config=config).channel == "telegram"
    assert planned("telegram", "slack", config=config).channel == "slack"
    assert planned("telegram", target="1", context=CallContext(), config=config).channel == "telegram"


@for_each("current", [None, "", "webchat", "cron", "heartbeat"])
@for_each("config", [CONFIG, UPSTREAM])
def test_a_turn_without_a_channel_takes_the_only_one(current: str | None, config: GatewayConfig) -> None:
    context = CallContext(target="1", channel=current)
    assert planned("telegram", context=context, config=config).channel == "telegram"
    if current != "webchat" or config.profile is not Profile.TRUNKLINE:
        assert planned("telegram", "webchat", context=context, config=config).channel == "telegram"


def test_a_web_chat_that_is_served_is_a_channel() -> None:
    """Upstream cannot send to its own; here it has people who read it."""
    here = CallContext(target="1", channel="webchat")
    assert planned("telegram", "webchat", context=here).channel == "webchat"
    assert planned("webchat", context=CallContext(), target="1").channel == "webchat"
    assert planned("telegram", "webchat", channel="webchat", target="1").channel == "webchat"
    sentence = "Channel is required (no configured channels detected)."
    assert error("webchat", context=CallContext(), target="1", config=UPSTREAM).sentence == sentence


@for_each(
    ("served", "channel", "sentence"),
    [
        ((), None, "Channel is required (no configured channels detected)."),
        (("slack", "telegram"), None, "Channel is required when multiple channels are configured: slack, telegram"),
        (("slack",), "pigeon", "Unknown channel: pigeon"),
        (("slack",), "webchat", "Unknown channel: webchat"),
        (("slack",), "telegram", "Channel is unavailable: telegram"),
        ((), "slack", "Channel is unavailable: slack"),
    ],
)
def test_a_channel_that_is_missing_or_wrong_is_refused(
    served: tuple[str, ...], channel: str | None, sentence: str
) -> None:
    found = error(*served, context=CallContext(), target="1", channel=channel)
    assert (found.sentence, found.reason) == (sentence, Reason.UNKNOWN_CHANNEL)


def test_upstream_accepts_a_channel_that_nothing_serves() -> None:
    assert planned("slack", channel="telegram", target="1", config=UPSTREAM).channel == "telegram"
    assert planned("telegram", "discord", config=UPSTREAM).channel == "slack"
    assert error("slack", channel="pigeon", target="1", config=UPSTREAM).sentence == "Unknown channel: pigeon"


# -------------------------------------------------------------------- order


def test_the_order_of_steps_decides_which_mistake_is_reported() -> None:
    params: dict[str, Any] = {"buttons": "{", "action": "sned", "to": "a", "target": "b", "channel": "pigeon"}
    said: list[str] = []
    for repair in ({"buttons": None}, {"action": "send"}, {"to": None}, {"channel": "slack"}, {}):
        with pytest.raises(InvalidAction) as raised:
            check_call(plan_call(params, CallContext(), CONFIG, ["slack"]), CONFIG)
        said.append(raised.value.sentence)
        params |= repair
    assert said == [
        "--buttons must be valid JSON",
        "Unknown action: sned",
        "Use `target` instead of `to`/`channelId`.",
        "Unknown channel: pigeon",
        "message required",
    ]


def test_a_missing_target_is_reported_before_a_missing_channel() -> None:
    assert error(context=CallContext()).sentence == "Action send requires a target."


def test_a_broadcast_is_planned_before_targets_are_looked_at() -> None:
    assert error("slack", action="broadcast", target="a").sentence == "targets required"
    found = error("slack", action="broadcast", target="a", targets=["b"])
    assert found.sentence == "Action broadcast does not accept a target."


def test_a_reply_to_the_current_message() -> None:
    assert planned("slack", message="[[reply_to_current]] yes").call.reply_to == "m7"
    assert planned("slack", message="[[reply_to_current]] yes", context=CallContext(target="1")).call.reply_to is None


def test_a_dry_run_is_planned_like_any_other() -> None:
    assert planned("slack", message="x", dryRun="true").dry_run
    assert not planned("slack", message="x").dry_run


# -------------------------------------------------------------------- broadcasts


def test_a_broadcast_goes_to_every_target_on_every_channel() -> None:
    plan = planned("slack", "telegram", action="broadcast", targets=["a", "b"], message="x", silent=True)
    assert (plan.channel, plan.channels) == ("slack", ("slack", "telegram"))
    sends = [(one.channel, one.target.text) for one in plan.sends]
    assert sends == [("slack", "a"), ("slack", "b"), ("telegram", "a"), ("telegram", "b")]
    assert {one.action for one in plan.sends} == {Action.SEND}
    assert all(one.call.message == "x" and one.call.parts == plan.call.parts for one in plan.sends)
    assert all(one.target.source is TargetSource.EXPLICIT and not one.sends for one in plan.sends)


@pytest.mark.parametrize(("channel", "channels"), [("telegram", ("telegram",)), ("ALL", ("slack", "telegram"))])
def test_a_broadcast_may_name_one_channel_or_all(channel: str, channels: tuple[str, ...]) -> None:
    plan = planned("slack", "telegram", action="broadcast", targets=["a"], message="x", channel=channel)
    assert plan.channels == channels


@for_each("config", [CONFIG, UPSTREAM])
@for_each(
    ("served", "params", "sentence"),
    [
        ((), {}, "targets required"),
        (("slack",), {"targets": [" ", ""]}, "targets required"),
        ((), {"targets": ["a"]}, "Broadcast requires at least one configured channel."),
        (("slack",), {"targets": ["a"], "channel": "pigeon"}, "Unknown channel: pigeon"),
    ],
)
def test_a_broadcast_that_cannot_be_is_refused_with_a_sentence(
    served: tuple[str, ...], params: dict[str, Any], sentence: str, config: GatewayConfig
) -> None:
    assert error(*served, action="broadcast", message="x", config=config, **params).sentence == sentence


def test_a_broadcast_has_limits_that_upstream_has_not() -> None:
    many = [str(number) for number in range(MOST)]
    assert len(planned("slack", action="broadcast", targets=many, message="x").sends) == MOST
    too_many = error("slack", action="broadcast", targets=[*many, "x"], message="x")
    assert too_many.sentence == "Broadcast makes at most 100 sends, and this one would make 101."
    raised = GatewayConfig.model_validate({"tools": {"message": {"broadcast": {"max_sends": 101}}}})
    assert len(planned("slack", action="broadcast", targets=[*many, "x"], message="x", config=raised).sends) == 101
    assert "101" not in error("slack", "telegram", action="broadcast", targets=many, message="x").sentence
    assert error("slack", action="broadcast", targets=["a", "b", "a"]).sentence == "targets: named twice: a"
    assert len(planned("slack", action="broadcast", targets=["a", "a"], config=UPSTREAM).sends) == 2


def test_broadcasts_may_be_switched_off_for_an_agent() -> None:
    off = {"tools": {"message": {"broadcast": {"enabled": False}}}}
    config = GatewayConfig.model_validate({"agents": [{"id": "main"}, {"id": "ops", **off}]})
    found = error("slack", action="broadcast", config=config, context=CallContext(agent="ops"))
    assert found.sentence == "Broadcast is disabled. Set tools.message.broadcast.enabled to true."
    assert found.reason is Reason.ACTION_DISABLED
    main = CallContext(agent="main")
    assert planned("slack", action="broadcast", targets=["a"], message="x", config=config, context=main)
