"""Recognises calls made by earlier runs of a turn by their content, for agents without a fixed order.

The gateway numbers the calls of a turn, and repeats none when the turn runs again after a crash. An agent that asks a
model may then make other calls, or the same ones in another order. What earlier runs have done is not done again here,
whatever its number. A call that has the number of one that was made, and not its content, is not made either: it may be
the same after all, such as a file, a poll, or a text that a hook has changed. `instead` has what was made in its place.
"""

from typing import Any

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import DoneBefore, GivenTask, Turn
from trunkline.core.hands.port import Delegated
from trunkline.core.hands.tool import HandTool

#: parameters with what a transcript does not have as it was written
_BESIDE = frozenset({"media", "path", "filePath", "buffer", "caption", "card", "components", "embeds", "buttons"})


class EarlierCalls:
    """Makes the calls of a turn which no earlier run has made. `before`: the work of earlier runs.

    `trusting`: another text, or another task, is another call, so it is made. Otherwise only who calls can know that.
    """

    def __init__(self, turn: Turn, before: DoneBefore, *, trusting: bool = False) -> None:
        self._trusting = trusting
        self._turn = turn
        self._sent_before = list(before.sent)
        self._taken = {sent.intent: sent for sent in before.sent}
        self._given_before = list(before.delegated)
        self._answered = {_accepted(given): given for given in before.delegated}
        #: what an earlier run said, or gave as a task, in the place of the last call; None: it has its own result
        self.instead: str | None = None

    async def message(self, params: dict[str, Any]) -> ActionResult:
        self.instead = None
        known = next((sent for sent in self._sent_before if self._is_same(sent, params)), None)
        if known is not None:
            self._sent_before.remove(known)
            return known
        while True:
            result = await self._turn.message(params)
            taken = None if result.intent is None else self._taken.pop(result.intent, None)
            if taken is None:
                return result
            if taken in self._sent_before and not (self._trusting and _is_text(params)):
                self.instead = taken.said or ""
                return result
            # The number belongs to a call that has been repeated already; the next number may be free.

    async def hand_call(self, name: str, params: dict[str, Any]) -> str:
        self.instead = None
        if name == HandTool.SEND_ASYNC:
            asked = (params.get("agent_id"), params.get("message"))
            known = next((given for given in self._given_before if (given.hand, given.task) == asked), None)
            if known is not None:
                self._given_before.remove(known)
                return _accepted(known)
        while True:
            said = await self._turn.call_hand_tool(name, params)
            given = self._answered.pop(said, None)
            if given is None:
                return said
            if given in self._given_before and not self._trusting:
                self.instead = given.task
                return said

    def _is_same(self, done: ActionResult, params: dict[str, Any]) -> bool:
        """Whether a call asks for what an earlier run has queued already."""
        text = params.get("message") or params.get("emoji") or ""
        same = params.get("action") == done.action.value and str(text).split() == (done.said or "").split()
        return same and (params.get("target") is not None or done.place == self._turn.place)


def _is_text(params: dict[str, Any]) -> bool:
    """Whether a call sends a text and nothing else, and so has comparable content."""
    return params.get("action") == Action.SEND.value and not _BESIDE.intersection(params)


def _accepted(given: GivenTask) -> str:
    return Delegated(delegation=given.delegation, hand=given.hand).for_model
