"""Each action with each form of target: named, by a former name, by another parameter, current, and none."""

from collections.abc import Mapping

import pytest

from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action, TargetMode
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, ChosenTarget, TargetSource
from trunkline.core.message_tool.planning.plan import plan_call
from trunkline.core.message_tool.planning.target_rules import choose_target, has_target
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.reasons import Reason

HERE = CallContext(target="channel:C1", channel="slack")
NOWHERE = CallContext()
LEGACY = "Use `target` instead of `to`/`channelId`."
WITH = [action for action in Action if action.spec.requires_target]
WITHOUT = [action for action in Action if not action.spec.requires_target]
ALIASED = [(action, alias) for action in Action for alias in action.spec.aliases]
PROFILES = list(Profile)


def chosen(
    action: Action, params: Mapping[str, object], context: CallContext = HERE, profile: Profile = Profile.TRUNKLINE
) -> ChosenTarget:
    return choose_target(action, params, context, profile_rules(profile))


def sentence(
    action: Action, params: Mapping[str, object], context: CallContext = HERE, profile: Profile = Profile.TRUNKLINE
) -> str:
    with pytest.raises(InvalidAction) as raised:
        choose_target(action, params, context, profile_rules(profile))
    assert raised.value.reason in (Reason.BAD_TARGET, Reason.NO_TARGET)
    return raised.value.sentence


def named(text: str) -> ChosenTarget:
    return ChosenTarget(text=text, source=TargetSource.EXPLICIT)


@for_each("profile", PROFILES)
@for_each("action", WITH)
def test_an_action_with_a_target_takes_the_one_that_is_named(action: Action, profile: Profile) -> None:
    assert chosen(action, {"target": " #ops "}, profile=profile) == named("#ops")
    assert chosen(action, {"target": 123}, profile=profile) == named("123")
    assert chosen(action, {"to": "#ops"}, profile=profile) == named("#ops")
    assert chosen(action, {"channelId": "C9"}, profile=profile) == named("C9")


@for_each("profile", PROFILES)
@for_each("action", WITH)
def test_without_one_it_is_the_current_conversation(action: Action, profile: Profile) -> None:
    assert chosen(action, {}, profile=profile) == ChosenTarget(text="channel:C1", source=TargetSource.CURRENT)
    assert chosen(action, {"target": "  "}, profile=profile).source is TargetSource.CURRENT


@for_each("profile", PROFILES)
@for_each("action", WITH)
@for_each("target", [None, " ", "heartbeat"])
def test_without_a_current_conversation_it_is_required(action: Action, target: str | None, profile: Profile) -> None:
    nowhere = CallContext(target=target)
    assert sentence(action, {}, nowhere, profile=profile) == f"Action {action} requires a target."


@for_each("profile", PROFILES)
@for_each("action", WITHOUT)
def test_an_action_without_a_target_accepts_none(action: Action, profile: Profile) -> None:
    assert chosen(action, {}, profile=profile) == ChosenTarget()
    assert sentence(action, {"target": "#ops"}, profile=profile) == f"Action {action} does not accept a target."
    legacy = "Use `target` for actions that accept a destination."
    assert sentence(action, {"to": "#ops"}, profile=profile) == legacy
    # It may be a filter.
    assert chosen(action, {"channelId": "C9"}, profile=profile) == ChosenTarget()
    assert sentence(action, {"target": "a", "to": "b"}, profile=profile) == f"Action {action} does not accept a target."


@for_each("action", WITH)
@for_each("former", ["to", "channelId"])
def test_a_target_and_a_former_name_of_it_are_one_too_many(action: Action, former: str) -> None:
    both = {"target": "#ops", former: "#other"}
    assert sentence(action, both) == LEGACY
    assert chosen(action, both, profile=Profile.OPENCLAW) == named("#ops")
    assert sentence(action, {"to": "#a", "channelId": "#b"}) == LEGACY
    assert chosen(action, {"to": "#a", "channelId": "#b"}, profile=Profile.OPENCLAW) == named("#a")
    assert chosen(action, {"to": "#a", "channelId": "#a"}) == named("#a")


@for_each("action", WITH)
@for_each("former", ["to", "channelId"])
def test_a_blank_former_name_is_an_error_in_march_only(action: Action, former: str) -> None:
    for params in ({former: "  "}, {"target": "#ops", former: ""}):
        assert sentence(action, params, profile=Profile.OPENCLAW) == LEGACY
        assert chosen(action, params, profile=Profile.OPENCLAW_2026_08).text
        assert chosen(action, params).text


@for_each("action", WITHOUT)
def test_a_blank_destination_is_an_error_in_march_only(action: Action) -> None:
    legacy = "Use `target` for actions that accept a destination."
    assert sentence(action, {"to": ""}, profile=Profile.OPENCLAW) == legacy
    assert chosen(action, {"to": ""}) == chosen(action, {"to": ""}, profile=Profile.OPENCLAW_2026_08) == ChosenTarget()


# -------------------------------------------------------------------- other parameters


@for_each("profile", PROFILES)
@for_each(("action", "alias"), ALIASED)
def test_another_parameter_may_stand_for_the_target(action: Action, alias: str, profile: Profile) -> None:
    for context in (HERE, NOWHERE):
        found = chosen(action, {alias: " 5 "}, context, profile=profile)
        assert (found.source, found.alias) == (TargetSource.ALIAS, alias)
        assert found.text == (None if alias == "messageId" else "5")
    assert chosen(action, {alias: 5, "target": "#ops"}, profile=profile) == named("#ops")
    assert chosen(action, {alias: " "}, profile=profile).source is TargetSource.CURRENT


@for_each("action", list(Action))
def test_whether_there_is_a_target(action: Action) -> None:
    aliases = action.spec.aliases
    assert has_target(action, {"to": "a"})
    assert has_target(action, {"channelId": "a"})
    assert not has_target(action, {"to": " ", "channelId": "", "target": "a"})
    for name in ("messageId", "chatGuid", "chatIdentifier", "chatId"):
        assert has_target(action, {name: "x"}) is (name in aliases)
        assert has_target(action, {name: 5}) is (name in aliases)
        assert not has_target(action, {name: float("nan")})
        assert not has_target(action, {name: True})


@pytest.mark.parametrize(
    ("params", "channel", "text"),
    [
        ({"chatGuid": "iMessage;+;chat1"}, "bluebubbles", "chat_guid:iMessage;+;chat1"),
        ({"chatIdentifier": "chat1"}, "bluebubbles", "chat_identifier:chat1"),
        ({"chatId": 42}, "imessage", "chat_id:42"),
        ({"chatId": -100}, "telegram", "-100"),
    ],
)
def test_the_target_by_another_parameter_is_one_of_the_channel(
    params: dict[str, object], channel: str, text: str
) -> None:
    call = {"action": "react", "messageId": "m", "emoji": "x", **params}
    planned = plan_call(call, NOWHERE, GatewayConfig(), [channel])
    assert planned.target.text == text


def test_the_current_conversation_is_not_taken_to_another_channel() -> None:
    params = {"channel": "telegram", "message": "x"}
    assert sentence(Action.SEND, params) == "Action send requires a target."
    assert chosen(Action.SEND, params, profile=Profile.OPENCLAW).text == "channel:C1"
    assert chosen(Action.SEND, {**params, "channel": " Slack"}).text == "channel:C1"


def test_the_modes_of_the_catalogue() -> None:
    modes = {mode: {action for action in Action if action.spec.target is mode} for mode in TargetMode}
    assert modes[TargetMode.CHANNEL_ID] == {
        *(Action.CHANNEL_INFO, Action.CHANNEL_EDIT, Action.CHANNEL_DELETE, Action.CHANNEL_MOVE)
    }
    assert {Action.BROADCAST, Action.THREAD_LIST, Action.SEARCH, Action.KICK, Action.SET_PRESENCE} <= modes[
        TargetMode.NONE
    ]
    assert {Action.SEND, Action.LIST_PINS, Action.PERMISSIONS, Action.STICKER} <= modes[TargetMode.TO]
