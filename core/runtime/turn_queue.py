"""The queue of turns: due or running, each session one at a time."""

from __future__ import annotations

import msgspec

from trunkline.core.records.rows import Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.live_bindings import Hold
from trunkline.core.values import SessionId, WorkKind

#: number of concurrent turns
_WORKERS = 256


class QueuedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """Work in the lane of its session."""

    work: Work
    session: SessionId
    cause: int
    #: its binding does not end before it is done
    hold: Hold
    #: how many counted runs ended with their process; None: no process has begun it
    runs: int | None = None

    @property
    def attempts(self) -> int:
        """Runs that ended with their process. The first is not counted in the store, so it is assumed."""
        return 0 if self.runs is None else self.runs + 1


class TurnQueue:
    """The turns that are due or running, in a lane for each session, by its id: its key may change."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        self.lanes: Lanes[str, QueuedTurn] = Lanes("turns", workers=_WORKERS, now=context.env.steady)

    def enqueue(self, work: Work, session: SessionId, cause: int, runs: int | None = None) -> None:
        """Queue admitted work behind the other work of its session.

        `runs`: of work that an earlier process may have begun, how many counted runs ended with their process.
        """
        hold = self._ctx.bindings.hold(work.binding)
        self.lanes.put(session, QueuedTurn(work=work, session=session, cause=cause, hold=hold, runs=runs))

    def has_session(self, session: str) -> bool:
        """Whether a session has work."""
        return self.lanes.is_busy(session)

    def has_agent(self, agent: str, kind: WorkKind | None = None) -> bool:
        """Whether an agent has work, of a kind if one is given."""
        heads = [turn.work for turn in self.lanes.heads()]
        return any(work.agent == agent and kind in (None, work.kind) for work in heads)
