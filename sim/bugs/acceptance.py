"""Defects of the delegation tool: work that nobody accepted, and answers that are none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from trunkline.core.agent import Agent, Turn
from trunkline.core.errors import HandError
from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import HandRunner, HandTask
from trunkline.core.values import DelegationId
from trunkline.sim.bugs.base import bug
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, each_turn, work_of
from trunkline.sim.bugs.wiring import Wiring


class _OneId(TurnWrapper):
    """A turn in which every delegation has the id of the first."""

    async def delegate(self, *called: Any, **more: Any) -> Any:
        vars(self.inner)["_calls"] = 0
        return await self.inner.delegate(*called, **more)

    async def send_async(self, *called: Any, **more: Any) -> Any:
        vars(self.inner)["_calls"] = 0
        return await self.inner.send_async(*called, **more)


@bug("ids-of-callers", each_turn, reports=("004-D04",), caught_by=("C5",))
def _one_id(turn: Turn) -> Any:
    """A delegation has the id that its caller chooses, so a second task replaces the first."""
    return _OneId(turn)


class _Synchronous(TurnWrapper):
    """A turn that runs hands itself, and waits."""

    hands: HandRunner

    async def delegate(self, hand: str, task: str, **more: Any) -> Any:
        return (await self._run(hand, task))[0]

    async def send_async(self, agent_id: str, message: str, **more: Any) -> Any:
        from trunkline.core.hands.port import Delegated

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
        kind = type("_Waiting", (_Synchronous,), {"hands": hands})

        class Waiting:
            def __init__(self, inner: Agent) -> None:
                self._inner = inner

            async def turn(self, turn: Turn) -> str | None:
                return await self._inner.turn(cast("Turn", kind(turn)))

        return make(agents={name: Waiting(agent) for name, agent in agents.items()}, hands=hands, **parts)

    wiring.make_gateway = synchronous
