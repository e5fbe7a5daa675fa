"""Recognises by their content the calls that earlier runs of a turn have made, for agents that keep no order.

The gateway numbers the calls of a turn, and repeats none when the turn runs again after a crash. An agent that asks a
model may then make other calls, or the same ones in another order. What earlier runs have done is not done again here,
whatever its number, and another message is never taken for it.
"""

from __future__ import annotations

from typing import Any

from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import DoneBefore, GivenTask, Turn
from trunkline.core.hands.port import Delegated
from trunkline.core.hands.tool import HandTool


class EarlierCalls:
    """Makes the calls of one turn that have not been made yet. `before`: what earlier runs have done."""

    def __init__(self, turn: Turn, before: DoneBefore) -> None:
        self._turn = turn
        self._sent_before = list(before.sent)
        self._taken = {one.intent for one in before.sent}
        self._given_before = list(before.delegated)
        self._answered = {_accepted(one) for one in before.delegated}

    async def message(self, params: dict[str, Any]) -> ActionResult:
        """Call the message tool, as `Turn.message` does."""
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

    async def hand_call(self, name: str, params: dict[str, Any]) -> str:
        """Call one of the tools for hands, as `Turn.call_hand_tool` does."""
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

    def _is_same(self, done: ActionResult, params: dict[str, Any]) -> bool:
        """Whether a call asks for what an earlier run has queued already."""
        text = params.get("message") or params.get("emoji") or ""
        same = params.get("action") == done.action.value and _words(str(text)) == _words(done.said or "")
        return same and (params.get("target") is not None or done.place == self._turn.place)


def _accepted(given: GivenTask) -> str:
    return Delegated(delegation=given.delegation, hand=given.hand).for_model


def _words(text: str) -> list[str]:
    return text.split()
