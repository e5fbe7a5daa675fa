"""Agents and hands as most tests want them: an agent that passes each message on, and hands that take a while."""

from collections.abc import Callable
from typing import Any

import anyio
import msgspec

from tests.support.hands.stage import AgentTurn, HandRun
from trunkline.core.agent import Turn
from trunkline.core.hands.port import HandTask


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent was given in a callback turn."""

    text: str
    peer: Any
    place: Any
    asked_by: Any
    origin: Any
    callback: Any
    session_key: str
    prompt: str | None


class Asker:
    """Passes each message on to a hand, says so, and presents the result. Notes what its callback turns were given."""

    def __init__(
        self, hand: str = "clerk", *, thinks: float = 0.0, answer: Callable[[Any], str | None] | None = None
    ) -> None:
        self.heard: list[Heard] = []
        self.delegations: list[str] = []
        self._hand, self._thinks = hand, thinks
        self._answer = answer or (lambda turn: f"{turn.callback.hand}: {turn.text}" if turn.callback else None)

    async def __call__(self, turn: Turn) -> str | None:
        if turn.callback is not None:
            self.heard.append(Heard(**{name: getattr(turn, name) for name in Heard.__struct_fields__}))
            return self._answer(turn)
        await anyio.sleep(self._thinks)
        self.delegations.append(await turn.delegate(self._hand, turn.text))
        return f"on it: {turn.text}"


def takes(seconds: float, result: str | None = None) -> HandRun:
    """A hand that takes a while; by default it says what it has done."""

    async def run(task: HandTask) -> str:
        await anyio.sleep(seconds)
        return f"done: {task.task}" if result is None else result

    return run


def by_task(seconds: Callable[[str], float]) -> HandRun:
    """A hand whose time depends on the task."""

    async def run(task: HandTask) -> str:
        await anyio.sleep(seconds(task.task))
        return f"done: {task.task}"

    return run


def ran(log: list[str], then: HandRun | None = None) -> HandRun:
    """A hand that notes that it ran."""

    async def run(task: HandTask) -> str:
        log.append(task.delegation)
        return await (then or takes(1.0))(task)

    return run


__all__ = ["AgentTurn", "Asker", "Heard", "by_task", "ran", "takes"]
