"""How a scripted agent uses its hands: it delegates, cancels, and asks which delegations have not ended."""

from trunkline.core.agent import Turn
from trunkline.core.errors import UsageError
from trunkline.core.hands.port import DelegationStatus
from trunkline.sim.cast.cast_world import CastWorld
from trunkline.sim.events.hands import AgentChecked, AgentDelegated
from trunkline.sim.scenario.model.agent_actions import DelegateAction

#: slots for the texts of later actions
Slots = dict[str, str]


class HandUser:
    """Calls the tools of a turn for hands. Each call gives the slots that say what became of it."""

    def __init__(self, world: CastWorld) -> None:
        self._world = world

    async def delegate(self, asked: DelegateAction, turn: Turn, task: str, number: int) -> Slots:
        """Give a task to a hand; a refused one has no effect. `number`: that of the action in its turn."""
        since = self._world.now()
        delegation, refused, facts, reason = None, "", "", ""
        reply_to = None if asked.reply_to is None else self._world.address(asked.reply_to)
        try:
            accepted = await turn.send_async(
                asked.hand, task, timeout=asked.timeout, label=asked.label, reply_to=reply_to, thread=asked.thread
            )
            delegation = accepted.delegation
            self._world.delegations.note(turn.session_id, delegation, asked.label)
        except UsageError as error:
            refused, facts, reason = type(error).__name__, error.facts, str(getattr(error, "reason", ""))
        body = AgentDelegated(
            agent=turn.agent,
            session_id=turn.session_id,
            call=number,
            hand=asked.hand,
            task=task,
            since=since,
            refused=refused,
            reason=reason,
            at=turn.place,
            reply_to=reply_to,
        )
        self._world.events.record(body, turn=turn.id, delegation=delegation)
        return {"status": "refused" if refused else "accepted", "error": facts, "data": delegation or ""}

    async def cancel(self, name: str, turn: Turn) -> Slots:
        """End a delegation of the session by its label. One that the agent never made is refused without a call."""
        delegation = self._world.delegations.find(turn.session_id, name)
        if delegation is None:
            return {"status": "refused", "error": f"{name}: nothing was delegated under this label", "data": ""}
        try:
            status, facts = "cancelled" if await turn.cancel(delegation) else "ended", ""
        except UsageError as error:
            status, facts = "refused", error.facts
        self._world.events.record(
            AgentChecked(agent=turn.agent, call="cancel", answer=status), turn=turn.id, delegation=delegation
        )
        return {"status": status, "error": facts, "data": delegation}

    async def check(self, turn: Turn) -> Slots:
        """The delegations of the session that have not ended."""
        found = await turn.delegations()
        shown = " | ".join(map(_shown, found))
        self._world.events.record(AgentChecked(agent=turn.agent, call="check", answer=shown), turn=turn.id)
        return {"open": str(len(found)), "delegations": shown}


def _shown(status: DelegationStatus) -> str:
    progress = f" ({status.progress})" if status.progress else ""
    return f"{status.label or status.hand} {status.state}{progress}"
