"""Defects of the delegation tool: work that nobody accepted, and answers that are none."""

from collections.abc import Mapping
from typing import Any

from trunkline.core.agent import Agent
from trunkline.core.errors import HandError
from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import Delegated, HandRunner, HandTask
from trunkline.core.values import DelegationId
from trunkline.sim.bugs.base import bug
from trunkline.sim.bugs.turn_wrappers import DelegatingTurn, TurnWrapper, each_turn, work_of
from trunkline.sim.bugs.wiring import Wiring


@bug("ids-of-callers", each_turn, reports=("004-D04",), caught_by=("C5",))
class _OneId(DelegatingTurn):
    """A delegation has the id that its caller chooses, so a second task replaces the first."""

    async def call(self, tool: str, called: tuple[Any, ...], more: dict[str, Any]) -> Any:
        vars(self.inner)["_calls"] = 0
        return await super().call(tool, called, more)


class _Synchronous(TurnWrapper):
    """A turn that runs hands itself, and waits."""

    hands: HandRunner

    async def delegate(self, hand: str, task: str, **more: Any) -> Any:
        return (await self._run(hand, task))[0]

    async def send_async(self, agent_id: str, message: str, **more: Any) -> Any:
        return Delegated(delegation=(await self._run(agent_id, message))[0], hand=agent_id)

    async def _run(self, hand: str, task: str) -> tuple[DelegationId, str]:
        id = DelegationId(f"{work_of(self.inner).id}.sync")  # noqa: A001 -- the word
        try:
            return id, await self.hands.run(HandTask(delegation=id, hand=hand, task=task))
        except HandError as error:
            return id, error.facts


@bug("silently-synchronous", reports=("004-D14", "B148"), caught_by=("C5",))
def _install_synchronous(wiring: Wiring) -> None:
    """Without the context of a session the tool runs the hand at once and waits, and says that it was accepted."""
    make = wiring.make_gateway

    def synchronous(*, agents: Mapping[str, Agent], hands: HandRunner, **parts: Any) -> Gateway:
        each_turn(type("_Waiting", (_Synchronous,), {"hands": hands}))(wiring)
        waiting = {name: wiring.wrap_agent(agent) for name, agent in agents.items()}
        return make(agents=waiting, hands=hands, **parts)

    wiring.make_gateway = synchronous
