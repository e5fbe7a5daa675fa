"""The message tool as a model is shown it: name, description, and the JSON Schema of its parameters.

It is one flat object. Which actions and parameters it has depends on the channels that there are, on their gates, on
what their adapters can do, and on the channel that the agent works in.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.features import Feature
from trunkline.core.config import GatewayConfig
from trunkline.core.message_tool.parsing.params import PARAMS, Param, ParamType
from trunkline.core.message_tool.planning.availability import actions_of, features_of
from trunkline.core.values import Capabilities

NAME = "message"
#: a description names the actions of a parameter if there are at most this many
_FEW = 6
_TEXT = {"type": "string"}
_TYPES: dict[ParamType, dict[str, Any]] = {
    ParamType.TEXT: _TEXT,
    ParamType.ID: _TEXT,
    ParamType.FLAG: {"type": "boolean"},
    ParamType.NUMBER: {"type": "number"},
    ParamType.INTEGER: {"type": "integer"},
    ParamType.TEXTS: {"type": "array", "items": _TEXT},
    ParamType.JSON: {"type": "object"},
}
_BUTTON = {"type": "object", "properties": {"text": _TEXT, "callback_data": _TEXT, "url": _TEXT}, "required": ["text"]}
_SHAPES: dict[str, dict[str, Any]] = {
    "buttons": {"type": "array", "items": {"type": "array", "items": _BUTTON}},
    "targets": {"type": "array", "items": _TEXT, "minItems": 1},
}


class SchemaForm(StrEnum):
    #: ``{"type": "function", "function": {name, description, parameters}}``
    OPENAI = "openai"
    #: ``{name, description, input_schema}``
    ANTHROPIC = "anthropic"
    #: the JSON Schema of the parameters alone
    PLAIN = "plain"


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """The surroundings of an agent, as far as the tool depends on any."""

    #: channel -> capabilities of its adapters; None: unknown, so what the platform can do counts
    channels: Mapping[str, Sequence[Capabilities] | None]
    agent: str = ""
    #: the current channel
    current: str | None = None
    #: the current conversation is with one person, where actions on groups make no sense
    direct: bool = False


class ToolSchema(msgspec.Struct, frozen=True, kw_only=True):
    name: str = NAME
    description: str
    parameters: dict[str, Any]

    def form(self, form: SchemaForm = SchemaForm.OPENAI) -> dict[str, Any]:
        if form is SchemaForm.PLAIN:
            return self.parameters
        named = {"name": self.name, "description": self.description}
        if form is SchemaForm.ANTHROPIC:
            return {**named, "input_schema": self.parameters}
        return {"type": "function", "function": {**named, "parameters": self.parameters}}


def tool_schema(config: GatewayConfig, around: Surroundings) -> ToolSchema:
    by_channel = {
        channel: _allowed(
            actions_of(channel, config, adapters, in_group=not (around.direct and channel == around.current)),
            config,
            around,
        )
        for channel, adapters in sorted(around.channels.items())
    }
    tool = config.message_tool(around.agent)
    always = {Action.SEND, *([Action.BROADCAST] if tool.broadcast.enabled else [])}
    union = _allowed(frozenset[Action]().union(always, *by_channel.values()), config, around)
    actions = [action for action in Action if action in union]
    features = _features(around)
    properties: dict[str, Any] = {
        "action": {"type": "string", "enum": [action.value for action in actions], "description": "What to do."}
    }
    for param in PARAMS.values():
        if _is_shown(param, union, features):
            shape = _SHAPES.get(param.name, _TYPES[param.type])
            own = [action for action in actions if action in param.actions]
            named = f" For: {', '.join(own)}." if 0 < len(own) <= _FEW else ""
            properties[param.name] = {**shape, "description": f"{param.about}{named}"}
    if by_channel:
        properties["channel"]["enum"] = [*by_channel, *(["all"] if Action.BROADCAST in union else [])]
    parameters = {"type": "object", "properties": properties, "required": ["action"], "additionalProperties": False}
    return ToolSchema(description=_description(by_channel, around.current), parameters=parameters)


def _allowed(actions: frozenset[Action], config: GatewayConfig, around: Surroundings) -> frozenset[Action]:
    return actions - frozenset(config.message_tool(around.agent).disabled_actions)


def _features(around: Surroundings) -> frozenset[Feature]:
    """What messages can have: on the current channel, or without one on any."""
    if around.current is not None and around.current in around.channels:
        return features_of(around.current, around.channels[around.current])
    return frozenset[Feature]().union(*(features_of(name, can) for name, can in around.channels.items()))


def _is_shown(param: Param, actions: frozenset[Action], features: frozenset[Feature]) -> bool:
    if param.hidden or (param.needs is not None and param.needs not in features):
        return False
    return not param.actions or bool(param.actions & actions)


def _description(by_channel: Mapping[str, frozenset[Action]], current: str | None) -> str:
    parts = ["Send messages, and act on messages, conversations and members of the channels."]
    if current is not None and current in by_channel:
        parts.append(f"Current channel ({current}) has: {_names(by_channel[current])}.")
    others = [f"{channel} ({_names(actions)})" for channel, actions in by_channel.items() if channel != current]
    if others:
        parts.append(f"{'Other channels' if current in by_channel else 'Channels'}: {'; '.join(others)}.")
    parts.append("Without `target` an action concerns the current conversation.")
    return " ".join(parts)


def _names(actions: frozenset[Action]) -> str:
    return ", ".join(action.value for action in Action if action in actions)
