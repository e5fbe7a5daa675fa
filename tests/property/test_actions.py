"""Calls of the message tool with anything that JSON has: a plan or an `InvalidAction`, never anything else."""

from contextlib import suppress
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.action_catalogue import Action
from trunkline.core.channels import known_channels
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.calls import CallContext, PlannedCall
from trunkline.core.message_tool.parsing.params import PARAMS
from trunkline.core.message_tool.parsing.parse import parse_call
from trunkline.core.message_tool.planning.plan import check_call, plan_call
from trunkline.core.message_tool.schema import Surroundings, tool_schema
from trunkline.core.profile_rules import Profile
from trunkline.core.text.model_text import split_reply_tag, without_reasoning

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("\ud800")
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
NAMES = st.sampled_from([*PARAMS, "action"]) | st.text(max_size=10)
TEXTS = st.sampled_from(["true", "5", "[[", "{}", '[{"text":"x","value":"y"}]', "<think>x", "MEDIA:./a.png", "x" * 500])
CALLS = st.dictionaries(NAMES, JSON | TEXTS, max_size=8)
CHANNELS = st.lists(st.sampled_from([*known_channels(), "own"]), max_size=3, unique=True)


@given(CALLS, st.sampled_from(Action), CHANNELS, st.sampled_from(Profile), st.booleans())
def test_a_call_is_planned_or_refused(
    params: dict[str, Any], action: Action, served: list[str], profile: Profile, with_action: bool
) -> None:
    config = GatewayConfig(profile=profile)
    if with_action:
        params = {**params, "action": action.value}
    planned: PlannedCall | None = None
    refused: InvalidAction | None = None
    try:
        planned = plan_call(params, CallContext(target="T", channel="slack"), config, served)
        check_call(planned, config)
    except InvalidAction as error:
        refused = error
    if planned is None or refused is not None:
        assert refused is not None
        assert refused.sentence
        str(refused).encode()
        return
    # What passes can be stored.
    msgspec.json.encode((planned.call.message, planned.call.parts, planned.call.poll, planned.call.fields))
    assert planned.channel in served or profile is not Profile.TRUNKLINE


@given(CALLS)
def test_parsing_does_not_change_what_it_is_given(params: dict[str, Any]) -> None:
    before = repr(params)
    with suppress(InvalidAction):
        parse_call(params)
    assert repr(params) == before


@given(st.text(alphabet="<>/`think fal[]_reply:to5\n~", max_size=60))
def test_taking_marks_out_only_shortens_a_text(text: str) -> None:
    # Nothing is added.
    assert len(without_reasoning(text)) <= len(text)
    assert len(split_reply_tag(text)[0]) <= len(text)


@given(CHANNELS, st.sampled_from([*known_channels(), None]), st.booleans())
def test_a_schema_has_a_description_for_everything(served: list[str], current: str | None, direct: bool) -> None:
    around = Surroundings(channels=dict.fromkeys(served), current=current, direct=direct)
    parameters = tool_schema(GatewayConfig(), around).parameters
    assert parameters["required"] == ["action"]
    assert {"send", "broadcast"} <= set(parameters["properties"]["action"]["enum"])
    assert all(one["description"] and one["type"] for one in parameters["properties"].values())
    shown = set(parameters["properties"]) - {"action"}
    for action in parameters["properties"]["action"]["enum"]:
        assert all(name in shown or PARAMS[name].hidden or PARAMS[name].needs for name in taken_by(Action(action)))


def taken_by(action: Action) -> list[str]:
    return [param.name for param in PARAMS.values() if action in param.actions]
