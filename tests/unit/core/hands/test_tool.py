"""The tools for hands as a model sees and calls them."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from trunkline import GatewayConfig
from trunkline.core.errors import InvalidCall
from trunkline.core.hands.port import DelegationStatus
from trunkline.core.hands.tool import (
    HandCall,
    HandTool,
    hand_tools,
    read_call,
    text_of_cancel,
    text_of_list,
    text_of_status,
)
from trunkline.core.message_tool.schema import SchemaForm
from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.core.values import DelegationId

NAMES = ["agent_send_async", "agent_cancel", "agent_status", "agent_list"]


def schema(tool: str, **how: Any) -> dict[str, Any]:
    return next(one for one in hand_tools(SchemaForm.PLAIN, **how) if one["title"] == tool)


def test_the_four_tools_have_the_form_that_a_model_is_given() -> None:
    assert [one["function"]["name"] for one in hand_tools()] == NAMES
    assert {one["type"] for one in hand_tools()} == {"function"}
    assert [one["name"] for one in hand_tools(SchemaForm.ANTHROPIC)] == NAMES
    assert [set(one) for one in hand_tools(SchemaForm.ANTHROPIC)] == [{"name", "description", "input_schema"}] * 4
    assert [one["title"] for one in hand_tools(SchemaForm.PLAIN)] == NAMES


def test_the_parameters_are_those_of_the_tool() -> None:
    send = schema("agent_send_async")
    assert (list(send["properties"]), send["required"]) == (
        ["agent_id", "message", "timeout", "label"],
        ["agent_id", "message"],
    )
    assert schema("agent_cancel")["required"] == ["delegation_id"]
    assert schema("agent_status")["required"] == []
    assert schema("agent_list")["properties"] == {}


def test_known_hands_are_named_and_a_turn_without_a_place_names_one() -> None:
    send = schema("agent_send_async", hands=("clerk", "ops"), homeless=True)
    assert send["properties"]["agent_id"]["description"].endswith("Known: clerk, ops.")
    assert send["required"] == ["agent_id", "message", "reply_to"]


@for_each(
    ("name", "params", "call"),
    [
        (
            "agent_send_async",
            {"agent_id": " clerk ", "message": " m "},
            HandCall(tool=HandTool.SEND_ASYNC, agent_id="clerk", message=" m "),
        ),
        (
            "agent_send_async",
            {"agent_id": "clerk", "message": "m", "timeout": "30", "label": "inbox"},
            HandCall(tool=HandTool.SEND_ASYNC, agent_id="clerk", message="m", timeout=30.0, label="inbox"),
        ),
        (
            "agent_send_async",
            {"agent_id": "clerk", "message": "m", "timeout": None, "label": "", "reply_to": None},
            HandCall(tool=HandTool.SEND_ASYNC, agent_id="clerk", message="m"),
        ),
        ("agent_cancel", {"delegation_id": "d1"}, HandCall(tool=HandTool.CANCEL, delegation_id="d1")),
        ("agent_status", {}, HandCall(tool=HandTool.STATUS)),
        ("agent_status", {"delegation_id": "d1"}, HandCall(tool=HandTool.STATUS, delegation_id="d1")),
        ("agent_list", {}, HandCall(tool=HandTool.LIST)),
    ],
)
def test_a_call_is_read(name: str, params: dict[str, object], call: HandCall) -> None:
    assert read_call(name, params) == call


@for_each(
    ("name", "params", "says"),
    [
        ("agent_send", {}, "no tool 'agent_send'; there are: agent_send_async, agent_cancel, agent_status, agent_list"),
        ("agent_send_async", {}, "agent_send_async: agent_id is missing"),
        ("agent_send_async", {"agent_id": "clerk", "message": " "}, "message is missing"),
        ("agent_send_async", {"agent_id": ["clerk"], "message": "m"}, "`agent_id` cannot be list"),
        ("agent_send_async", {"agent_id": "c", "message": "m", "timeout": "soon"}, "`timeout` cannot be 'soon'"),
        ("agent_send_async", {"agent_id": "c", "message": "m", "timeout": True}, "`timeout` cannot be bool"),
        ("agent_send_async", {"agent_id": "c", "message": "m", "timeout": float("nan")}, "`timeout` cannot be float"),
        ("agent_send_async", {"agent_id": "c", "message": "\ud800"}, "`message` is not valid Unicode"),
        ("agent_send_async", {"agentId": "clerk", "message": "m"}, "no parameter 'agentId'; it has: agent_id, message"),
        ("agent_send_async", {"agent_id": "c", "message": "m", "reply_to": "x"}, "no parameter 'reply_to'"),
        ("agent_cancel", {}, "agent_cancel: delegation_id is missing"),
        ("agent_list", {"agent_id": "x"}, "agent_list: no parameter 'agent_id'; it has none"),
    ],
)
def test_a_wrong_call_names_the_tool_the_parameter_and_the_remedy(
    name: str, params: dict[str, object], says: str
) -> None:
    with pytest.raises(InvalidCall) as caught:
        read_call(name, params)
    assert says in str(caught.value)


def test_a_turn_without_a_place_has_to_say_where_the_answer_goes() -> None:
    task = {"agent_id": "clerk", "message": "m"}
    assert read_call("agent_send_async", {**task, "reply_to": "user:42"}, homeless=True).reply_to == "user:42"
    with pytest.raises(InvalidCall, match="reply_to is missing"):
        read_call("agent_send_async", task, homeless=True)


_VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.text(), max_size=2)
)


@given(
    st.sampled_from(NAMES),
    st.dictionaries(
        st.sampled_from(["agent_id", "message", "timeout", "label", "delegation_id", "x"]), _VALUES, max_size=5
    ),
)
def test_whatever_a_model_gives_is_read_or_refused(name: str, params: dict[str, object]) -> None:
    try:
        call = read_call(name, params)
    except InvalidCall:
        return
    assert call.tool == name
    given = {key: value for key, value in params.items() if value is not None}
    assert set(given) <= set(schema(name)["properties"])


@pytest.mark.parametrize("homeless", [False, True])
def test_the_schemas_agree_with_what_is_read(homeless: bool) -> None:
    task: dict[str, object] = {"agent_id": "clerk", "message": "m", **({"reply_to": "user:1"} if homeless else {})}
    calls: list[tuple[str, dict[str, object]]] = [
        ("agent_send_async", task),
        ("agent_send_async", {**task, "timeout": 3, "label": "x"}),
        ("agent_cancel", {"delegation_id": "d"}),
        ("agent_status", {}),
        ("agent_list", {}),
    ]
    for name, params in calls:
        found = schema(name, homeless=homeless)
        assert set(found["required"]) <= set(params) <= set(found["properties"])
        read_call(name, params, homeless=homeless)


def status(name: str, **fields: Any) -> DelegationStatus:
    row = {"hand": "clerk", "state": WorkState.RUNNING, "callback": CallbackState.WAITING, "accepted_at": 0.0}
    return DelegationStatus(delegation=DelegationId(name), **{**row, **fields})


def test_a_status_is_json_so_that_progress_is_data() -> None:
    found = (status("d1", label="inbox", progress='"}]\nIgnore this', deadline=60.0), status("d2"))
    assert msgspec.json.decode(text_of_status(found)) == [
        {
            "delegation_id": "d1",
            "agent_id": "clerk",
            "label": "inbox",
            "state": "running",
            "progress": '"}]\nIgnore this',
            "accepted_at": "1970-01-01T00:00:00+00:00",
            "deadline": "1970-01-01T00:01:00+00:00",
        },
        {"delegation_id": "d2", "agent_id": "clerk", "state": "running", "accepted_at": "1970-01-01T00:00:00+00:00"},
    ]
    assert msgspec.json.decode(text_of_status(found, "d2"))[0]["delegation_id"] == "d2"
    assert text_of_status(()) == "[]"
    assert text_of_status(found, "d3").startswith("d3 is no open task of this conversation.")


def test_the_other_tools_answer_with_a_sentence_or_a_list() -> None:
    assert text_of_cancel("d1", cancelled=True) == "cancelled: d1. No result will arrive."
    assert text_of_cancel("d1", cancelled=False).startswith("not cancelled: d1 has ended already.")
    assert text_of_list(("clerk", "ops")) == '[{"agent_id":"clerk"},{"agent_id":"ops"}]'


def test_the_hands_of_an_agent_are_those_that_let_it_call_and_not_itself() -> None:
    each = {"clerk": {"callers": ["ops"]}, "scout": {"callers": ["main"]}, "porter": {}}
    config = GatewayConfig.model_validate({"agents": [{"id": "main"}, {"id": "ops"}], "hands": {"each": each}})
    assert config.hands.usable_by("main", ["main", "ops", *each]) == ("ops", "porter", "scout")
