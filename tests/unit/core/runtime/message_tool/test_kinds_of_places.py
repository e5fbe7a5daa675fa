"""An action on a channel or a group does not take a person."""

import pytest

from trunkline.core.action_catalogue import Action
from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, PlannedCall
from trunkline.core.message_tool.planning.plan import plan_call
from trunkline.core.reasons import Reason
from trunkline.core.runtime.message_tool.message_tool import check_kind
from trunkline.core.values import Address, ChatKind

GROUP_ACTIONS = [which for which, entry in rules_for("bluebubbles").actions.items() if entry.group_only]


def place(channel: str, kind: ChatKind) -> Address:
    return Address(channel=channel, account="default", kind=kind, conversation="x")


def planned(channel: str, action: Action) -> PlannedCall:
    return plan_call({"action": action, "target": "x"}, CallContext(), GatewayConfig(), [channel])


@pytest.mark.parametrize("action", GROUP_ACTIONS)
def test_a_person_is_no_group(action: Action) -> None:
    with pytest.raises(InvalidAction) as raised:
        check_kind(planned("bluebubbles", action), place("bluebubbles", ChatKind.DIRECT))
    assert raised.value.sentence == f'Action {action} needs a group, and "x" is a person.'
    assert raised.value.reason is Reason.BAD_TARGET
    check_kind(planned("bluebubbles", action), place("bluebubbles", ChatKind.GROUP))


def test_other_actions_take_both() -> None:
    assert {Action.RENAME_GROUP, Action.LEAVE_GROUP} <= set(GROUP_ACTIONS)
    for kind in ChatKind:
        check_kind(planned("bluebubbles", Action.REACT), place("bluebubbles", kind))


def test_a_thread_of_discord_needs_a_channel() -> None:
    call = plan_call(
        {"action": "thread-create", "target": "x", "threadName": "deploy"}, CallContext(), GatewayConfig(), ["discord"]
    )
    with pytest.raises(InvalidAction, match="needs a group") as raised:
        check_kind(call, place("discord", ChatKind.DIRECT))
    assert raised.value.reason is Reason.BAD_TARGET
    check_kind(call, place("discord", ChatKind.CHANNEL))
