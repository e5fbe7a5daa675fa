"""Wrappers of turns that pass everything on, for defects to change what an agent gets of one, or what it calls."""

from collections.abc import Awaitable, Callable
from typing import Any, cast

from trunkline.core.agent import Agent, Turn
from trunkline.core.records.rows import Work
from trunkline.sim.bugs.base import Installer
from trunkline.sim.bugs.wiring import Wiring


class TurnWrapper:
    """A turn that passes on what a subclass does not define."""

    def __init__(self, inner: Turn) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class DelegatingTurn(TurnWrapper):
    """A turn whose two ways to delegate are one for a defect."""

    async def delegate(self, *called: Any, **more: Any) -> Any:
        return await self.call("delegate", called, more)

    async def send_async(self, *called: Any, **more: Any) -> Any:
        return await self.call("send_async", called, more)

    async def call(self, tool: str, called: tuple[Any, ...], more: dict[str, Any]) -> Any:
        """Delegate with a tool."""
        return await getattr(self.inner, tool)(*called, **more)


def taking_turns(take: Callable[[Agent, Turn], Awaitable[str | None]]) -> Installer:
    """Have each turn of each agent taken by a function."""

    class Taking:
        def __init__(self, inner: Agent) -> None:
            self._inner = inner

        async def turn(self, turn: Turn) -> str | None:
            return await take(self._inner, turn)

    def install(wiring: Wiring) -> None:
        wiring.wrap_agent = Taking

    return install


def each_turn(wrap: Callable[[Turn], Any]) -> Installer:
    """Wrap each turn that an agent gets."""
    return taking_turns(lambda agent, turn: agent.turn(cast("Turn", wrap(turn))))


def fields(turn: Turn, **changed: Any) -> TurnWrapper:
    """A turn of which some fields are others."""
    return type("_Changed", (TurnWrapper,), changed)(turn)


def work_of(turn: Turn) -> Work:
    """The work that a running turn is done for, which agents cannot see."""
    return vars(turn)["_work"]


def works_for(turn: Turn, work: Work) -> None:
    """Let the tools of a turn take other work for theirs."""
    vars(turn)["_work"] = work
