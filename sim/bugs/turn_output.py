"""Defects in what a turn says: the same thing twice, or nothing, because its tool has spoken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from trunkline.core.agent import Agent, Turn
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.reasons import Reason
from trunkline.core.store import SqliteStore
from trunkline.core.store.records import IntentRow, Work
from trunkline.core.values import IntentId, TurnId
from trunkline.sim.bugs.base import Bug
from trunkline.sim.bugs.store import keeping
from trunkline.sim.run.wiring import Wiring

T = TypeVar("T")


class _Listening:
    """A turn, and what the agent said with its tool."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self.said: str | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._turn, name)

    async def send(self, text: str, to: Any = None, **where: Any) -> None:
        """As the turn's own."""
        await self._turn.send(text, to, **where)
        self.said = text


class _AnswersAgain:
    """An agent whose runtime takes what the tool said for the answer, when there is none."""

    def __init__(self, inner: Agent) -> None:
        self._inner = inner

    async def turn(self, turn: Turn) -> str | None:
        """What the agent answers, or said last."""
        listening = _Listening(turn)
        answer = await self._inner.turn(cast("Turn", listening))
        return listening.said if answer is None else answer


def _install_answers_again(wiring: Wiring) -> None:
    wiring.wrap_agent = _AnswersAgain


class SilencingStore(SqliteStore):
    """A turn that has said something with its tool has said enough, wherever that was."""

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._said: set[TurnId | None] = set()

    async def enqueue(
        self, intent: IntentRow, now: float, story: Callable[[bool], T], *, then: Callable[[T], None] | None = None
    ) -> T:
        """What the tool says."""
        self._said.add(intent.turn)
        return await super().enqueue(intent, now, story, then=then)

    async def finish_turn(
        self,
        work: Work,
        intents: Sequence[IntentRow],
        now: float,
        story: Callable[[tuple[IntentId, ...]], T],
        *,
        then: Callable[[T], None] | None = None,
    ) -> T:
        """Without the answer."""
        if work.turn not in self._said:
            return await super().finish_turn(work, intents, now, story, then=then)

        def told(new: tuple[IntentId, ...]) -> T:
            answer = story(new)
            for intent in intents:
                body = IntentSuppressed(reason=Reason.ALREADY_QUEUED, text="\n".join(intent.chunks))
                self._events.record(body, inbound=work.id, turn=work.turn)
            return answer

        return await super().finish_turn(work, (), now, told, then=then)


SAYING_BUGS = (
    Bug(
        name="answer-repeats-tool-send",
        reports=("B010",),
        sentence="What the tool has said in a turn is sent once more as its final reply.",
        caught_by=("D3",),
        install=_install_answers_again,
    ),
    Bug(
        name="tool-send-silences-answer",
        reports=("B035",),
        sentence="Any tool send of the turn suppresses the final reply, wherever it went.",
        caught_by=("D3",),
        install=keeping(SilencingStore),
    ),
)
