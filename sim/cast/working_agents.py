"""What agents do that work as hands: when they begin a task, and what they really return."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from trunkline.core.agent import Turn
from trunkline.core.delivery.answers import says_no_reply
from trunkline.core.hands.results import HandOutcome
from trunkline.core.values import WorkKind
from trunkline.core.well_formed import describe, plain_text
from trunkline.sim.events.hands import HandAnswered, HandBegan

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
    """Records the tasks of agents of one process. `marks` finds the words that only an answer says."""

    def __init__(
        self, record: Callable[..., int], process: InProcess, marks: Callable[[str, str], tuple[str, ...]]
    ) -> None:
        self._record = record
        self._process = process
        self._marks = marks

    def begin(self, turn: Turn) -> None:
        """The agent is given a task."""
        if turn.work is WorkKind.TASK:
            body = HandBegan(
                hand=turn.agent,
                task=turn.text,
                process=self._process.name,
                generation=self._process.generation,
                agent=True,
            )
            self._record(body, turn=turn.id, delegation=delegation_of(turn))

    def returned(self, turn: Turn, answer: object) -> None:
        """The turn of a task has returned. Without a text, the task may go on."""
        text = plain_text(answer) or ""
        silent = not text.strip() or says_no_reply(text)
        self._answered(turn, HandOutcome.OK, "" if silent else text, silent=silent)

    def failed(self, turn: Turn, error: BaseException) -> None:
        """The turn of a task has failed."""
        self._answered(turn, HandOutcome.ERROR, describe(error), silent=False)

    def _answered(self, turn: Turn, outcome: HandOutcome, text: str, *, silent: bool) -> None:
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
            marks=self._marks(text, turn.agent),
        )
        self._record(body, turn=turn.id, delegation=delegation)
