"""The tools for hands, for a model: schemas, parsing of calls, and results. Pure.

Four small tools instead of one: a model chooses among names more reliably than among the values of a parameter.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from trunkline.core.errors import InvalidAction, InvalidCall
from trunkline.core.hands.port import DelegationStatus
from trunkline.core.message_tool.parsing.param_values import read_value
from trunkline.core.message_tool.parsing.params import Param, ParamType
from trunkline.core.message_tool.schema import SchemaForm, ToolSchema


class HandTool(StrEnum):
    """The names of the tools."""

    SEND_ASYNC = "agent_send_async"
    CANCEL = "agent_cancel"
    STATUS = "agent_status"
    LIST = "agent_list"


class HandCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A checked call of a tool for hands; fields of other tools are empty."""

    tool: HandTool
    agent_id: str = ""
    message: str = ""
    timeout: float | None = None
    label: str = ""
    reply_to: str | None = None
    delegation_id: str = ""


class _Field(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a tool."""

    param: Param
    required: bool = False


def _field(name: str, type: ParamType, about: str, *, required: bool = False) -> _Field:  # noqa: A002 -- the word
    return _Field(param=Param(name=name, type=type, about=about), required=required)


_AGENT = _field("agent_id", ParamType.ID, "Who works on the task.", required=True)
_TASK = _field("message", ParamType.TEXT, "The task, with everything that is needed to do it.", required=True)
_TIMEOUT = _field("timeout", ParamType.NUMBER, "Seconds after which the task is ended. By default as configured.")
_LABEL = _field("label", ParamType.TEXT, "A short name of your own for the task. It comes back with the result.")
_REPLY_TO = _field(
    "reply_to", ParamType.ID, "Where your answer to the result goes, as a target such as user:42.", required=True
)
_DELEGATION = _field("delegation_id", ParamType.ID, "The id that agent_send_async returned.", required=True)
_ANY_DELEGATION = _field("delegation_id", ParamType.ID, "One task only. By default all that have not ended.")

_ABOUT = {
    HandTool.SEND_ASYNC: (
        "Give a task to another agent without waiting for it. Returns at once with an id. The result arrives later, in"
        " a message of that agent: do not wait for it, and do not guess it."
    ),
    HandTool.CANCEL: "End a task that you gave with agent_send_async. No result will arrive.",
    HandTool.STATUS: "The tasks of this conversation that have not ended, with what their agents report of them.",
    HandTool.LIST: "The agents that you can give tasks to.",
}
_FIELDS: dict[HandTool, tuple[_Field, ...]] = {
    HandTool.SEND_ASYNC: (_AGENT, _TASK, _TIMEOUT, _LABEL),
    HandTool.CANCEL: (_DELEGATION,),
    HandTool.STATUS: (_ANY_DELEGATION,),
    HandTool.LIST: (),
}
_COMES = "If there is a result, it arrives, or has arrived, in a message of its own."
_TYPES = {ParamType.NUMBER: "number"}


def hand_tools(
    form: SchemaForm = SchemaForm.OPENAI, *, hands: Sequence[str] = (), homeless: bool = False
) -> list[dict[str, Any]]:
    """The tools in the form of a family of models.

    `hands`: those that the agent may use, as far as they are known. `homeless`: the turn has no place, so the call has
    to name where the answer goes.
    """
    return [_schema(tool, hands, homeless).form(form) for tool in HandTool]


def _schema(tool: HandTool, hands: Sequence[str], homeless: bool) -> ToolSchema:
    fields = _fields(tool, homeless)
    properties: dict[str, Any] = {}
    for field in fields:
        kind = _TYPES.get(field.param.type, "string")
        properties[field.param.name] = {"type": kind, "description": field.param.about}
    if tool is HandTool.SEND_ASYNC:
        properties["timeout"]["exclusiveMinimum"] = 0
        if hands:
            # Known, and not closed: a runner need not list its hands.
            properties["agent_id"]["description"] += f" Known: {', '.join(hands)}."
    parameters = {
        # Names the tool where a form has the parameters alone.
        "title": tool.value,
        "type": "object",
        "properties": properties,
        "required": [field.param.name for field in fields if field.required],
        "additionalProperties": False,
    }
    return ToolSchema(name=tool.value, description=_ABOUT[tool], parameters=parameters)


def _fields(tool: HandTool, homeless: bool) -> tuple[_Field, ...]:
    own = _FIELDS[tool]
    return (*own, _REPLY_TO) if homeless and tool is HandTool.SEND_ASYNC else own


def read_call(name: str, params: Mapping[str, object], *, homeless: bool = False) -> HandCall:
    """A call of a model, checked. Raises `InvalidCall`, which names the tool, the parameter and the remedy."""
    tool = next((tool for tool in HandTool if tool.value == name), None)
    if tool is None:
        raise InvalidCall(f"no tool {name!r}; there are: {', '.join(HandTool)}")
    fields = _fields(tool, homeless)
    names = [field.param.name for field in fields]
    # A model that has no value for a parameter often gives null.
    unknown = [name for name, value in params.items() if name not in names and value is not None]
    if unknown:
        has = f"it has: {', '.join(names)}" if names else "it has none"
        raise InvalidCall(f"{tool}: no parameter {unknown[0]!r}; {has}")
    try:
        values = {field.param.name: read_value(field.param, params.get(field.param.name)) for field in fields}
    except InvalidAction as error:
        raise InvalidCall(f"{tool}: {error.facts}") from error
    missing = next((field.param for field in fields if field.required and values[field.param.name] is None), None)
    if missing is not None:
        raise InvalidCall(f"{tool}: {missing.name} is missing. {missing.about}")
    return msgspec.convert(
        {"tool": tool, **{key: value for key, value in values.items() if value is not None}}, HandCall
    )


def text_of_cancel(delegation: str, *, cancelled: bool) -> str:
    """The result of `agent_cancel` for a model."""
    if cancelled:
        return f"cancelled: {delegation}. No result will arrive."
    return (
        f"not cancelled: {delegation} has ended already. Its result arrives, or has arrived, in a message of its own."
    )


def text_of_status(found: Sequence[DelegationStatus], asked: str = "") -> str:
    """The result of `agent_status` for a model, as JSON: reports of hands are data inside."""
    shown = [status for status in found if not asked or status.delegation == asked]
    if asked and not shown:
        return f"{asked} is no open task of this conversation. {_COMES}"
    return msgspec.json.encode([_status(status) for status in shown]).decode()


def _status(status: DelegationStatus) -> dict[str, str]:
    facts = {
        "delegation_id": str(status.delegation),
        "agent_id": status.hand,
        "label": status.label,
        "state": status.state.value,
        "progress": status.progress,
        "accepted_at": _time(status.accepted_at),
        "deadline": "" if status.deadline is None else _time(status.deadline),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def text_of_list(hands: Sequence[str]) -> str:
    """The result of `agent_list` for a model, as JSON."""
    return msgspec.json.encode([{"agent_id": hand} for hand in hands]).decode()
