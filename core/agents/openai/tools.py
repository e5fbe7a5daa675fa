"""The tools of a turn for a model: definitions, and calls in sequence."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import msgspec

from trunkline.core.agent import DoneBefore, Turn
from trunkline.core.agents.earlier_calls import EarlierCalls
from trunkline.core.agents.openai.answer import ModelCall
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.errors import InvalidCall, PlatformError, TrunklineError, UsageError
from trunkline.core.hands.callback_message import as_data
from trunkline.core.reasons import Reason

#: characters of a result that a model gets
_LONGEST = 20_000
_CUT = "... (cut: the result has {} characters)"
#: the answer to a call with the number of another call
_NOT_MADE = (
    "This call was not made. The turn runs again after an interruption; before that it made another call in the place"
    " of this one, with what follows. If yours is something else, and still needed, call again.\n"
)

Tool = dict[str, Any]
_encode = msgspec.json.Encoder().encode


class TurnTools:
    """The tools of a turn. The work of earlier runs, `before`, is not repeated (`EarlierCalls`)."""

    def __init__(self, turn: Turn, config: OpenAIConfig, before: DoneBefore) -> None:
        self._turn = turn
        self._earlier = EarlierCalls(turn, before)
        own = [turn.message_tool()] if "message" in config.tools else []
        hands = turn.hand_tools()
        #: the definitions, as the request has them
        self.definitions: list[Tool] = [*own, *(hands if "hands" in config.tools else [])]
        self._message = {_name_of(tool) for tool in own}
        self._hands = {_name_of(tool) for tool in hands}
        self._names = [_name_of(tool) for tool in self.definitions]

    async def call(self, call: ModelCall) -> str:
        """Carry out a call; returns the text for the model, also of a refused call."""
        params = arguments_of(call.arguments)
        if isinstance(params, str):
            return _refusal(f"{call.name or 'the call'}: {params}. Nothing was done.")
        try:
            if call.name in self._message:
                return self._result((await self._earlier.message(params)).for_model())
            if call.name in self._hands and call.name in self._names:
                said = await self._earlier.hand_call(call.name, params)
                return _cut(said) if self._earlier.instead is None else self._result({"said": said})
        except (UsageError, PlatformError) as error:
            return _refusal(error.facts or str(error), error)
        if call.name not in self._hands:
            # The gateway records the refusal; its answer knows only the tools for hands.
            with suppress(InvalidCall):
                await self._turn.call_hand_tool(call.name, params)
        there = ", ".join(self._names)
        return _refusal(
            f"no tool {call.name!r:.100}; there {f'are: {there}' if there else 'is none'}. Nothing was done."
        )

    def _result(self, shown: dict[str, Any]) -> str:
        """The result of a call, with a note if the result belongs to another call."""
        instead = self._earlier.instead
        return _result(shown if instead is None else {**shown, "ok": False, "error": _NOT_MADE + as_data(instead)})


def arguments_of(text: str) -> dict[str, Any] | str:
    """The parameters of a call, or a description of the fault. An empty text means no parameters."""
    if not text.strip():
        return {}
    try:
        found: object = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        return f"the arguments are no JSON ({error})"
    if not isinstance(found, dict):
        return f"the arguments are a JSON {_kind(found)} instead of an object"
    return cast("dict[str, Any]", found)


def sent_back(call: ModelCall) -> dict[str, Any]:
    """A call for the next request: endpoints refuse arguments without the form of a JSON object."""
    arguments = "{}" if isinstance(arguments_of(call.arguments), str) else call.arguments.strip() or "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.name or "unnamed", "arguments": arguments}}


def _kind(value: object) -> str:
    names = {"list": "array", "str": "string", "bool": "boolean", "NoneType": "null"}
    return names.get(type(value).__name__, "number")


def _name_of(tool: Tool) -> str:
    return str(tool["function"]["name"])


def _result(shown: dict[str, Any]) -> str:
    return _cut(_encode(shown).decode())


def _refusal(said: str, error: TrunklineError | None = None) -> str:
    reason: object = Reason.BAD_ARGUMENT if error is None else getattr(error, "reason", None)
    shown = {"ok": False, "error": said}
    return _result(shown if reason is None else shown | {"reason": str(reason)})


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + _CUT.format(len(text))
