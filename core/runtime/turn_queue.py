"""The queue of turns: due or running, each session one at a time."""

import msgspec

from trunkline.core.records.rows import Runs, Unfinished, Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.live_bindings import Hold
from trunkline.core.values import InboundId, SessionId, WorkKind

_WORKERS = 256
#: how many deaths of processes a turn may have been present at, for each run that it is allowed
_PRESENT = 10


class QueuedTurn(msgspec.Struct, frozen=True, kw_only=True):
    work: Work
    session: SessionId
    cause: int
    #: its binding does not end before it is done
    hold: Hold
    #: its runs after the first one; None: no process has begun it
    runs: Runs | None = None

    @property
    def attempts(self) -> int:
        """Runs that ended with their process. The first is not counted in the store, so it is assumed."""
        return 0 if self.runs is None else self.runs.ended + 1

    def excess(self, most: int) -> int | None:
        """By how much the runs exceed what is allowed, `most` of them charged; None: another one is allowed."""
        if self.runs is None:
            return None
        over = max(self.runs.charged + 1 - most, self.attempts - most * _PRESENT)
        return None if over < 0 else over


def charged_turns(left: Unfinished, most: int) -> frozenset[InboundId]:
    """The turns against which the death of an earlier process counts. Pure.

    A turn is charged if nothing else ran, or if the death followed its start at once and no other turn had begun again
    in that moment: at the next start, several of them begin one after the other. What was being given up is charged in
    any case, since its notice may be what ends the process.
    """
    first: dict[SessionId, InboundId] = {}
    for work, session in left.works:
        first.setdefault(session, work.id)
    runs = {work: left.runs.get(work, Runs()) for work in first.values()}
    # The first run of a turn leaves no mark.
    ran = [work for work, known in runs.items() if known.begun or not known.ended]
    starting = [work for work in ran if runs[work].begun == 1]
    alone = len(ran) == 1 and not any(left.runs[row.id].begun for row in left.delegations if row.id in left.runs)
    return frozenset(
        work for work in ran if runs[work].begun and (alone or starting == [work] or runs[work].charged + 1 >= most)
    )


class TurnQueue:
    """The turns that are due or running, in a lane for each session, by its id: its key may change."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        #: the work whose turn has not begun, as it is by now; None: it is withdrawn
        self._waiting: dict[InboundId, Work | None] = {}
        self.lanes: Lanes[str, QueuedTurn] = Lanes("turns", workers=_WORKERS, now=context.env.steady)

    def enqueue(self, work: Work, session: SessionId, cause: int, runs: Runs | None = None) -> None:
        """Queue admitted work behind the other work of its session. `runs`: if an earlier process may have begun it."""
        hold = self._ctx.bindings.hold(work.binding)
        self._waiting[work.id] = work
        self.lanes.put(session, QueuedTurn(work=work, session=session, cause=cause, hold=hold, runs=runs))

    def find_waiting(self, inbound: InboundId) -> Work | None:
        """The work of a message before its turn."""
        return self._waiting.get(inbound)

    def revise(self, inbound: InboundId, work: Work | None) -> None:
        """Give waiting work another text; None: withdraw it."""
        self._waiting[inbound] = work

    def begin(self, work: Work) -> Work | None:
        """The work of a new turn; None: withdrawn."""
        return self._waiting.pop(work.id, work)

    def has_session(self, session: str) -> bool:
        return self.lanes.is_busy(session)

    def has_agent(self, agent: str, kind: WorkKind | None = None) -> bool:
        heads = [turn.work for turn in self.lanes.heads()]
        return any(work.agent == agent and kind in (None, work.kind) for work in heads)
