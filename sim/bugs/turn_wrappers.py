"""Wrappers of turns that pass everything on, for defects to change what an agent gets of one, or what it calls."""

from __future__ import annotations

from collections.abc import Callable
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


class _Wrapped:
    """An agent that gets each turn wrapped."""

    def __init__(self, inner: Agent, wrap: Callable[[Turn], Any]) -> None:
        self._inner = inner
        self._wrap = wrap

    async def turn(self, turn: Turn) -> str | None:
        """Pass the wrapped turn on."""
        return await self._inner.turn(cast("Turn", self._wrap(turn)))


def each_turn(wrap: Callable[[Turn], Any]) -> Installer:
    """Wrap each turn that an agent gets."""

    def install(wiring: Wiring) -> None:
        wiring.wrap_agent = lambda inner: _Wrapped(inner, wrap)

    return install


def fields(turn: Turn, **changed: Any) -> TurnWrapper:
    """A turn of which some fields are others."""
    return type("_Changed", (TurnWrapper,), changed)(turn)


def work_of(turn: Turn) -> Work:
    """The work that a running turn is done for, which agents cannot see."""
    return vars(turn)["_work"]


def works_for(turn: Turn, work: Work) -> None:
    """Let the tools of a turn take other work for theirs."""
    vars(turn)["_work"] = work
