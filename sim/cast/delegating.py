"""How a scripted agent uses its hands: it delegates, cancels, and asks which delegations are open."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.agent import Turn
from trunkline.core.errors import UsageError
from trunkline.sim.events.hands import AgentDelegated
from trunkline.sim.scenario.model.agent_actions import DelegateAction

#: slots for the texts of later actions
Slots = dict[str, str]


class HandUser:
    """Calls the tools of a turn for hands. Each call gives the slots that say what became of it."""

    def __init__(self, *, now: Callable[[], float], record: Callable[..., object]) -> None:
        self._now = now
        self._record = record

    async def delegate(self, asked: DelegateAction, turn: Turn, task: str, number: int) -> Slots:
        """Give a task to a hand; a refused one has no effect. `number`: that of the action in its turn."""
        since = self._now()
        delegation, refused, facts = None, "", ""
        try:
            delegation = await turn.delegate(asked.hand, task, thread=asked.thread)
        except UsageError as error:
            refused, facts = type(error).__name__, error.facts
        body = AgentDelegated(
            agent=turn.agent,
            session_id=turn.session_id,
            call=number,
            hand=asked.hand,
            task=task,
            since=since,
            refused=refused,
        )
        self._record(body, turn=turn.id, delegation=delegation)
        return {"status": "refused" if refused else "accepted", "error": facts, "data": delegation or ""}
