"""The tools of a turn as a model has them: definitions, and calls that are carried out one after the other."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import msgspec

from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import DoneBefore, GivenTask, Turn
from trunkline.core.agents.openai.answer import ModelCall
from trunkline.core.agents.openai.config import OpenAIConfig
from trunkline.core.errors import InvalidCall, PlatformError, TrunklineError, UsageError
from trunkline.core.hands.port import Delegated
from trunkline.core.hands.tool import HandTool

#: characters of a result that a model gets
_LONGEST = 20_000
_CUT = "... (cut: the result has {} characters)"

Tool = dict[str, Any]
_encode = msgspec.json.Encoder().encode


class TurnTools:
    """The tools of one turn.

    The gateway numbers the calls of a turn, and repeats none when the turn runs again after a crash. A model may then
    make other calls, or the same ones in another order. `before` has what earlier runs have done: what is
    among it is not done again, whatever its number, and another message is never taken for it.
    """

    def __init__(self, turn: Turn, config: OpenAIConfig, before: DoneBefore) -> None:
        self._turn = turn
        self._sent_before = list(before.sent)
        self._taken = {one.intent for one in before.sent}
        self._given_before = list(before.delegated)
        self._answered = {_accepted(one) for one in before.delegated}
        own = [turn.message_tool()] if "message" in config.tools else []
        hands = turn.hand_tools()
        #: the definitions, as the request has them
        self.definitions: list[Tool] = [*own, *(hands if "hands" in config.tools else [])]
        self._message = {_name_of(one) for one in own}
        self._hands = {_name_of(one) for one in hands}
        self._names = [_name_of(one) for one in self.definitions]

    async def call(self, call: ModelCall) -> str:
        """Carry out a call; what to give back to the model, also of a call that was refused."""
        params = arguments_of(call.arguments)
        if isinstance(params, str):
            return _refusal(f"{call.name or 'the call'}: {params}. Nothing was done.")
        try:
            if call.name in self._message:
                return _result((await self._sent(params)).for_model())
            if call.name in self._hands and call.name in self._names:
                return _cut(await self._hand_call(call.name, params))
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

    async def _sent(self, params: dict[str, Any]) -> ActionResult:
        known = next((one for one in self._sent_before if self._is_same(one, params)), None)
        if known is not None:
            self._sent_before.remove(known)
            return known
        while True:
            result = await self._turn.message(params)
            if result.intent is None or result.intent not in self._taken:
                return result
            # The number of this call belongs to another one, of an earlier run; the next number may be free.
            self._taken.remove(result.intent)

    def _is_same(self, done: ActionResult, params: dict[str, Any]) -> bool:
        """Whether a call asks for what an earlier run has queued already."""
        text = params.get("message") or params.get("emoji") or ""
        same = params.get("action") == done.action.value and _words(str(text)) == _words(done.said or "")
        return same and (params.get("target") is not None or done.place == self._turn.place)

    async def _hand_call(self, name: str, params: dict[str, Any]) -> str:
        if name == HandTool.SEND_ASYNC:
            asked = (params.get("agent_id"), params.get("message"))
            known = next((one for one in self._given_before if (one.hand, one.task) == asked), None)
            if known is not None:
                self._given_before.remove(known)
                return _accepted(known)
        while True:
            said = await self._turn.call_hand_tool(name, params)
            if said not in self._answered:
                return said
            # As above: this is the answer to the delegation that an earlier run made with this number.
            self._answered.remove(said)


def _accepted(given: GivenTask) -> str:
    return Delegated(delegation=given.delegation, hand=given.hand).for_model


def _words(text: str) -> list[str]:
    return text.split()


def arguments_of(text: str) -> dict[str, Any] | str:
    """The parameters of a call, or what is wrong with them. No text at all: none are given."""
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
    """A call as it stands in the next request: endpoints refuse arguments that are no JSON object."""
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
    reason: object = getattr(error, "reason", None)
    shown = {"ok": False, "error": said}
    return _result(shown if reason is None else shown | {"reason": str(reason)})


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + _CUT.format(len(text))
