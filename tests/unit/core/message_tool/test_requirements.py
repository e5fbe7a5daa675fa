"""What each action needs on each channel, in the words of upstream where upstream has the rule."""

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action, TargetMode
from trunkline.core.channels import known_channels, rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext
from trunkline.core.message_tool.parsing.params import PARAMS, ParamType
from trunkline.core.message_tool.planning.plan import check_call, plan_call
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability

CHANNELS = [channel for channel in known_channels() if not rules_for(channel).without_table]
ENTRIES = [(channel, action) for channel in CHANNELS for action in rules_for(channel).actions]
#: a channel's gates, all open
OPEN = GatewayConfig.model_validate(
    {"channels": {channel: {"actions": dict.fromkeys(rules_for(channel).gates, True)} for channel in CHANNELS}}
)
UPSTREAM = GatewayConfig(profile=Profile.OPENCLAW)


def check(
    channel: str, action: str, config: GatewayConfig = OPEN, can: Capabilities | None = None, **params: Any
) -> None:
    mode = Action(action).spec.target
    target = {"target": "T"} if mode is not TargetMode.NONE and "target" not in params else {}
    planned = plan_call({"action": action, **target, **params}, CallContext(), config, [channel])
    check_call(planned, config, can)


def error(channel: str, action: str, **params: Any) -> InvalidAction:
    with pytest.raises(InvalidAction) as raised:
        check(channel, action, **params)
    return raised.value


def complete(channel: str, action: Action) -> dict[str, Any]:
    """Parameters with everything that a channel requires of an action."""
    entry = rules_for(channel).actions[action]
    values: dict[ParamType, Any] = {ParamType.INTEGER: 5, ParamType.TEXTS: ["a", "b"]}
    needs: Iterable[str] = entry.needs
    if action is Action.POLL:
        needs = ("pollQuestion", "pollOption")
    elif action is Action.SEND:
        needs = ("message",)
    names = [need.split("|")[0] for need in needs if need not in ("to", "channelId")]
    return {name: values.get(PARAMS[name].type, "x") for name in names}


# -------------------------------------------------------------------- every entry of every table


@for_each(("channel", "action"), ENTRIES)
def test_a_complete_call_passes(channel: str, action: Action) -> None:
    check(channel, action, **complete(channel, action))
    check(channel, action, **complete(channel, action), dryRun=True)


@for_each(("channel", "action"), ENTRIES)
def test_each_required_parameter_is_missed(channel: str, action: Action) -> None:
    whole = complete(channel, action)
    for name in whole:
        left = {other: value for other, value in whole.items() if other != name}
        for params in (left, {**left, name: "  "}, {**left, name: None}):
            found = error(channel, action, **params)
            assert found.reason in (Reason.BAD_ACTION, Reason.BAD_POLL, Reason.NOTHING_TO_SEND)
            assert "requir" in found.sentence


@for_each(("channel", "action"), ENTRIES)
def test_a_closed_gate_is_named_with_its_place(channel: str, action: Action) -> None:
    entry = rules_for(channel).actions[action]
    if entry.gate is None:
        check(channel, action, GatewayConfig(), **complete(channel, action))
        return
    closed = GatewayConfig.model_validate({"channels": {channel: {"actions": {entry.gate: False}}}})
    found = error(channel, action, config=closed, **complete(channel, action))
    assert (found.sentence, found.reason) == (f"Action {action} is disabled on {channel}.", Reason.ACTION_DISABLED)
    assert f"Set channels.{channel}.actions.{entry.gate} to true." in found.facts


def test_the_gates_that_are_off_unless_opened() -> None:
    off = {(channel, action) for channel, action in ENTRIES if not rules_for(channel).actions[action].on}
    moderation = ("timeout", "kick", "ban", "role-add", "role-remove", "set-presence")
    stickers = ("sticker", "sticker-search")
    assert off == {*(("discord", Action(one)) for one in moderation), *(("telegram", Action(one)) for one in stickers)}
    for channel, action in off:
        assert (
            error(channel, action, config=GatewayConfig(), **complete(channel, action)).reason is Reason.ACTION_DISABLED
        )


# -------------------------------------------------------------------- sentences


@for_each("config", [OPEN, UPSTREAM])
@for_each("channel", [*known_channels(), "own"])
@for_each(
    ("action", "params", "sentence"),
    [
        ("send", {}, "message required"),
        ("send", {"message": " \n "}, "message required"),
        ("send", {"message": "<think>x</think>"}, "message required"),
        ("poll", {"pollOption": ["a", "b"]}, "pollQuestion required"),
        ("poll", {"pollQuestion": " ", "pollOption": ["a"]}, "pollQuestion required"),
        ("poll", {"pollQuestion": "q"}, "pollOption required"),
        ("poll", {"pollQuestion": "q", "pollOption": ["", " "]}, "pollOption required"),
        ("poll", {"pollQuestion": "q", "pollOption": ["a", " "]}, "pollOption requires at least two values"),
        ("poll", {"pollQuestion": "q", "pollOption": "a"}, "pollOption requires at least two values"),
    ],
)
def test_what_the_core_requires_on_every_channel(
    channel: str, action: str, params: dict[str, Any], sentence: str, config: GatewayConfig
) -> None:
    assert error(channel, action, config=config, **params).sentence == sentence
    assert error(channel, action, config=config, dryRun=True, **params).sentence == sentence


@for_each("params", [{"media": "./a"}, {"path": "./a"}, {"filePath": "./a"}, {"card": {"a": 1}}])
@for_each("config", [OPEN, UPSTREAM])
def test_a_send_needs_a_text_a_file_or_a_card(params: dict[str, Any], config: GatewayConfig) -> None:
    check("discord", "send", config, **params)


@pytest.mark.parametrize("params", [{"buffer": "aGk="}, {"components": [{"type": 1}]}, {"message": "MEDIA:./a.png"}])
def test_a_send_may_also_have_a_buffer_or_components(params: dict[str, Any]) -> None:
    check("discord", "send", **params)


@for_each(
    ("channel", "action", "params", "sentence"),
    [
        ("discord", "react", {"emoji": "x"}, "messageId required"),
        ("discord", "react", {"messageId": "5"}, "emoji required"),
        ("discord", "react", {"messageId": "5", "remove": True}, "Emoji is required to remove a Discord reaction."),
        ("telegram", "react", {"messageId": "5", "remove": True}, "Emoji is required to remove a Telegram reaction."),
        ("matrix", "react", {"messageId": "5", "remove": True}, "emoji required"),
        ("signal", "react", {"emoji": "x"}, "messageId (timestamp) required"),
        ("signal", "react", {"messageId": "5"}, "Emoji required to add reaction."),
        ("signal", "react", {"messageId": "5", "remove": True}, "Emoji required to remove reaction."),
        ("discord", "sticker", {}, "sticker-id required"),
        ("telegram", "sticker", {}, "fileId required"),
        ("discord", "member-info", {}, "userId required"),
        ("discord", "member-info", {"userId": 5}, "guildId required"),
        ("discord", "channel-move", {}, "guildId required"),
        ("discord", "timeout", {"guildId": 1, "userId": 2}, "durationMin required"),
        ("discord", "set-presence", {}, "status required"),
        ("slack", "kick", {}, "Action kick is not supported for provider slack."),
        ("signal", "kick", {}, "Action kick not supported for signal."),
        ("bluebubbles", "kick", {}, "Action kick is not supported for provider bluebubbles."),
        ("msteams", "react", {}, "Message action react not supported for channel msteams."),
        ("slack", "poll", {"pollQuestion": "q", "pollOption": ["a", "b"]}, "Unsupported poll channel: slack"),
        ("bluebubbles", "renameGroup", {}, "BlueBubbles renameGroup requires displayName or name parameter."),
        ("bluebubbles", "addParticipant", {}, "BlueBubbles addParticipant requires address or participant parameter."),
        (
            "bluebubbles",
            "edit",
            {},
            "BlueBubbles edit requires: messageId (the message ID to edit), text (the new message content). "
            "Use action=edit with messageId=<message_id>, text=<new_content>.",
        ),
        (
            "bluebubbles",
            "reply",
            {"messageId": "5"},
            "BlueBubbles reply requires: text or message (the reply message content). "
            "Use action=reply with messageId=<message_id>, message=<your reply>, target=<chat_target>.",
        ),
        (
            "bluebubbles",
            "react",
            {"messageId": "5", "remove": True},
            "Emoji is required to remove a BlueBubbles reaction.",
        ),
    ],
)
def test_the_sentences_of_channels(channel: str, action: str, params: dict[str, Any], sentence: str) -> None:
    assert error(channel, action, **params).sentence == sentence


@for_each(
    ("channel", "params", "sentence"),
    [
        ("discord", {"pollDurationSeconds": 60}, "durationSeconds is not supported for discord polls"),
        ("discord", {"pollAnonymous": False}, "isAnonymous is not supported for discord polls"),
        ("telegram", {"pollDurationHours": 1}, "durationHours is not supported for telegram polls"),
        ("discord", {"pollDurationHours": 0}, "durationHours must be at least 1"),
        ("telegram", {"pollDurationSeconds": 0}, "durationSeconds must be at least 1"),
        (
            "telegram",
            {"pollDurationSeconds": 60, "pollDurationHours": 1},
            "durationHours and durationSeconds are mutually exclusive",
        ),
    ],
)
def test_a_poll_is_held_as_asked_or_refused(channel: str, params: dict[str, Any], sentence: str) -> None:
    poll = {"pollQuestion": "q", "pollOption": ["a", "b"]}
    found = error(channel, "poll", **poll, **params)
    assert (found.sentence, found.reason) == (sentence, Reason.BAD_POLL)
    check("discord", "poll", **poll, pollDurationHours=1)
    check("telegram", "poll", **poll, pollDurationSeconds=60, pollAnonymous=False)


# -------------------------------------------------------------------- adapters


def test_an_adapter_that_cannot_do_it_is_reported() -> None:
    whole = complete("discord", Action.PIN)
    found = error("discord", "pin", can=Capabilities(), **whole)
    assert found.sentence == "Message action pin not supported for channel discord."
    assert found.reason is Reason.UNSUPPORTED
    check("discord", "pin", can=Capabilities(actions=frozenset({Action.PIN})), **whole)
    check("discord", "send", can=Capabilities(), message="x")
    check("discord", "reply", can=Capabilities(), message="x", messageId="5")


def test_polls_files_and_threads_are_capabilities_of_messages() -> None:
    bare = Capabilities(can=frozenset({Capability.TEXT}))
    for action, capability in (
        (Action.POLL, Capability.POLL),
        (Action.UPLOAD_FILE, Capability.MEDIA),
        (Action.THREAD_REPLY, Capability.THREADS),
    ):
        whole = complete("discord", action)
        assert error("discord", action, can=bare, **whole).reason is Reason.UNSUPPORTED
        check("discord", action, can=Capabilities(can=frozenset({Capability.TEXT, capability})), **whole)


def test_of_a_platform_without_a_table_its_adapter_decides() -> None:
    able = Capabilities(actions=frozenset({Action.EDIT, Action.SEND_WITH_EFFECT}))
    check("own", "edit", can=able, messageId="5", message="x")
    assert error("own", "edit", can=able, messageId="5").sentence == "message required"
    assert error("own", "sendWithEffect", can=able, message="x").sentence == "effectId required"
    assert error("own", "pin", can=able, messageId="5").reason is Reason.UNSUPPORTED


# -------------------------------------------------------------------- broadcasts, upstream


def test_a_broadcast_without_a_message_is_refused_once_and_by_upstream_for_each_send() -> None:
    empty = {"action": "broadcast", "targets": ["a", "b"]}
    with pytest.raises(InvalidAction) as raised:
        plan_call(empty, CallContext(), OPEN, ["slack"])
    assert raised.value.sentence == "message required"
    planned = plan_call(empty, CallContext(), UPSTREAM, ["slack"])
    with pytest.raises(InvalidAction) as raised:
        check_call(planned, UPSTREAM)
    assert raised.value.sentence == "message required"


def test_upstream_checks_what_a_channel_requires_only_when_it_acts() -> None:
    check("discord", "react", UPSTREAM, dryRun=True)
    assert error("discord", "react", config=UPSTREAM).sentence == "messageId required"
    # Upstream's handlers do not know the other names of the text.
    assert error("discord", "edit", config=UPSTREAM, messageId="5", content="x").sentence == "message required"
    check("discord", "edit", messageId="5", content="x")
    assert error("slack", "reply", config=UPSTREAM, messageId="5", message="x").reason is Reason.UNSUPPORTED
    check("slack", "reply", messageId="5", message="x")


def test_a_requirement_is_named_by_the_parameter_that_has_to_be_given() -> None:
    for channel, action in ENTRIES:
        entry = rules_for(channel).actions[action]
        for need in entry.needs:
            for name in need.partition(">=")[0].split("|"):
                param = PARAMS[name]
                assert name in ("to", "channelId") or action in param.actions, f"{channel} {action} cannot take {name}"


def test_an_error_says_what_to_give() -> None:
    send = error("slack", "send")
    assert send.facts == "message required. Give one of `message`, `media`, `path`, `filePath`, `card`."
    assert error("discord", "pin").facts == "messageId required. Give `messageId`."
    kick = error("slack", "kick", userId="5", can=Capabilities())
    assert kick.sentence == "Action kick is not supported for provider slack."
    poll = error("discord", "poll", can=Capabilities(), pollQuestion="q", pollOption=["a", "b"])
    assert poll.sentence == "Unsupported poll channel: discord"
