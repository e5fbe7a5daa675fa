"""Agents that work as hands: when they begin a task, and what they really return."""

from collections.abc import Awaitable, Callable

import anyio
import msgspec

from trunkline.core.agent import Agent, Turn
from trunkline.core.delivery.answers import says_no_reply
from trunkline.core.errors import HandError
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.text.model_text import read_model_text
from trunkline.core.values import WorkKind
from trunkline.core.well_formed import describe, plain_text
from trunkline.sim.cast.cast_world import CastWorld
from trunkline.sim.events.hands import HandAnswered, HandBegan

#: what a hand says that fails by a fault
FAILED = "the hand failed"
#: stands before the delegation in the key of a session that belongs to one
_OF_TASK = "subagent:"


class InProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway process that something runs in: its name, and the number of its start."""

    name: str
    generation: int


def delegation_of(turn: Turn) -> str | None:
    """The delegation that a turn works on: its task, or the result of what that task delegated itself."""
    if turn.work not in (WorkKind.TASK, WorkKind.CALLBACK) or turn.place is not None:
        return None
    return turn.session_key.partition(_OF_TASK)[2] or None


class WorkingAgents:
    """Records the tasks of agents of one process. `plugin` has the agents of plug-ins by their names."""

    def __init__(self, world: CastWorld, process: InProcess, plugin: Callable[[str], Agent]) -> None:
        self.plugin = plugin
        self._world = world
        self._process = process

    async def run(self, turn: Turn, work: Callable[[Turn], Awaitable[str | None]]) -> str | None:
        """Record what the turn of an agent does for a delegation, if anything. Faults of hands strike tasks."""
        self._begin(turn)
        try:
            answer = await self._struck(turn, work)
        except Exception as error:
            self._record_failure(turn, error)
            raise
        self._record_return(turn, answer)
        return answer

    async def _struck(self, turn: Turn, work: Callable[[Turn], Awaitable[str | None]]) -> str | None:
        struck = self._world.hand_fault(turn.text) if turn.work is WorkKind.TASK else None
        kind, extra = struck or ("", 0.0)
        if kind == "drop":
            await anyio.sleep_forever()
        if kind == "slow":
            await anyio.sleep(extra)
        answer = await work(turn)
        if kind == "error":
            raise HandError(FAILED)
        return answer

    def _begin(self, turn: Turn) -> None:
        """The agent is given a task."""
        if turn.work is WorkKind.TASK:
            name, start = self._process.name, self._process.generation
            body = HandBegan(hand=turn.agent, task=turn.text, process=name, generation=start, agent=True)
            self._world.events.record(body, turn=turn.id, delegation=delegation_of(turn))

    def _record_return(self, turn: Turn, answer: object) -> None:
        """The turn of a task has returned. Without a text, the task may go on."""
        text = read_model_text(plain_text(answer) or "").as_result
        silent = not text.strip() or says_no_reply(text)
        self._record_answer(turn, HandOutcome.OK, "" if silent else text, silent=silent)

    def _record_failure(self, turn: Turn, error: BaseException) -> None:
        """The turn of a task has failed."""
        self._record_answer(turn, HandOutcome.ERROR, describe(error), silent=False)

    def _record_answer(self, turn: Turn, outcome: HandOutcome, text: str, *, silent: bool) -> None:
        delegation = delegation_of(turn)
        if delegation is None:
            return
        body = HandAnswered(
            hand=turn.agent,
            outcome=outcome,
            text=text,
            process=self._process.name,
            generation=self._process.generation,
            silent=silent,
            agent=True,
            marks=self._world.words.marks(text, turn.agent),
        )
        self._world.events.record(body, turn=turn.id, delegation=delegation)
