"""An agent that delegates and presents results, and a hand that works until it is released."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import msgspec

from tests.support.small_gateway import Echo
from trunkline import HandTask, Turn
from trunkline.core.prompts import Prompt
from trunkline.core.records.rows import CallbackFacts
from trunkline.core.values import Address, Peer, WorkKind


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent was given for a turn."""

    agent: str
    work: WorkKind
    text: str
    for_model: str
    peer: Peer
    asked_by: Peer | None
    place: Address | None
    session_key: str
    prompts: tuple[Prompt, ...]
    prompt: str | None
    callback: CallbackFacts | None


class Caller(Echo):
    """Delegates every message that begins with ``count``, and presents results with `present`."""

    def __init__(self, present: Callable[[Turn], Awaitable[str | None]] | None = None) -> None:
        super().__init__(self._act)
        self.seen: list[Seen] = []
        self._present = present

    async def _act(self, turn: Turn) -> str | None:
        self.seen.append(Seen(**{name: getattr(turn, name) for name in Seen.__struct_fields__}))
        if turn.callback is None:
            if turn.text.startswith("count"):
                await turn.delegate("clerk", turn.text)
            return f"on it: {turn.text}"
        return f"result: {turn.text}" if self._present is None else await self._present(turn)

    def of(self, kind: WorkKind) -> list[Seen]:
        return [one for one in self.seen if one.work is kind]

    @property
    def callbacks(self) -> list[Seen]:
        return self.of(WorkKind.CALLBACK)


class HeldClerk:
    """A hand that works until it is released, and then returns a text or raises."""

    def __init__(self, result: str | Exception | None = None, *, held: bool = True) -> None:
        self._result = result
        self.working = anyio.Event()
        self.released = anyio.Event()
        if not held:
            self.released.set()

    def has(self, hand: str) -> bool:
        return hand == "clerk"

    async def run(self, task: HandTask) -> Any:
        self.working.set()
        await self.released.wait()
        if isinstance(self._result, Exception):
            raise self._result
        return f"done: {task.task}" if self._result is None else self._result
