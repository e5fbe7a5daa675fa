"""Ends delegations: whatever ends one, its first end counts, its children end with it, and what it held is free."""

from collections.abc import Callable

import anyio

from trunkline.core.env import Env
from trunkline.core.errors import StoreError
from trunkline.core.hands.deadlines import DeadlinePlan
from trunkline.core.hands.fair_queue import FairQueue
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandKind, HandResult
from trunkline.core.records.rows import Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import wait_at_most
from trunkline.core.runtime.delegation.completions import CompletionReporter, Ending
from trunkline.core.runtime.delegation.open_delegations import OpenDelegation, OpenDelegations
from trunkline.core.runtime.delegation.posts import Posts
from trunkline.core.states.delegation import HandOutcome, WorkState
from trunkline.core.values import DelegationId, SessionId

#: seconds that two times may differ by rounding
_EQUAL = 1e-6
#: minimum seconds between two looks of the clock
_LEAST = 0.001


class Endings:
    """Ends open delegations and keeps their number, deadlines and places for runs up to date."""

    def __init__(
        self, context: Context, reporter: CompletionReporter, posts: Posts, begin: Callable[[OpenDelegation], None]
    ) -> None:
        self._ctx = context
        self.open = OpenDelegations()
        self._posts = posts
        self.reporter = reporter
        reporter.note_end = self._note_end
        self.clock = DeadlineClock(context.env, self._expire_passed)
        self.slots = RunSlots(lambda: context.config.hands.limits.running, begin)

    async def end(self, delegation: OpenDelegation, ending: Ending) -> bool:
        """End a delegation, unless it has ended; answers whether this end is the one that counts."""
        if delegation.scope is not None:
            delegation.scope.cancel()
        async with delegation.ending:
            return await self.reporter.report(ending)

    async def end_for(self, delegation: OpenDelegation, ending: Ending) -> bool:
        """As `end`, for a caller that may stop waiting: its run is cancelled by then, so the end must be stored.

        Raises `StoreError` if the gateway stops first; then the delegation goes on at the next start.
        """
        ended, answers, errors = anyio.Event(), list[bool](), list[Exception]()

        async def store() -> None:
            try:
                answers.append(await self.end(delegation, ending))
            except Exception as error:  # noqa: BLE001 -- it is the caller's
                errors.append(error)
            finally:
                ended.set()

        self._ctx.run_apart(store, name=f"hand {delegation.row.id} ends")
        await ended.wait()
        if errors:
            raise errors[0]
        if not answers:
            raise StoreError(f"the gateway stopped before the end of {delegation.row.id} was stored")
        return answers[0]

    async def keep_late_result(self, ending: Ending) -> bool:
        """Keep a result that came after the end of its delegation; answers whether it is the first nevertheless."""
        return await self.reporter.report(ending)

    def end_soon(self, delegation: OpenDelegation, outcome: HandOutcome, reason: Reason, text: str = "") -> None:
        result = HandResult(outcome=outcome, text=text or reason.sentence)
        ending = Ending(row=delegation.row, result=result, reason=reason, cause=delegation.cause)
        self._ctx.run_apart(self.end, delegation, ending, name=f"hand {delegation.row.id} {outcome}")

    def settle(self, delegation: OpenDelegation) -> None:
        """End the task of an agent that has returned nothing, and that nothing works on any more, with no text."""
        row = delegation.row
        if (
            row.kind is not HandKind.AGENT
            or row.state is not WorkState.RUNNING
            or delegation.turns
            or delegation.children
        ):
            return
        ending = Ending(row=row, result=HandResult(outcome=HandOutcome.OK, text=""), cause=delegation.cause)
        self._ctx.run_apart(self.end, delegation, ending, name=f"hand {row.id} empty")

    def expire(self, delegation: OpenDelegation) -> None:
        """End a delegation whose deadline has passed; a worker's only if it has left no answer in time."""
        if delegation.row.kind is HandKind.WORKER:
            self._ctx.run_apart(self._look_first, delegation, name=f"hand {delegation.row.id} due")
        else:
            self._time_out(delegation)

    async def _look_first(self, delegation: OpenDelegation) -> None:
        """Time a worker out, unless it has left an answer that is not applied yet."""
        await self._posts.take_all(None)
        if self.open.find(delegation.row.id) is delegation:
            self._time_out(delegation)

    def _time_out(self, delegation: OpenDelegation) -> None:
        seconds = _allowed(delegation.row, self._ctx.env.now())
        self.end_soon(
            delegation, HandOutcome.TIMEOUT, Reason.HAND_DEADLINE, f"no result within {round(seconds, 3):g} s"
        )

    def _expire_passed(self, delegation: DelegationId) -> None:
        known = self.open.find(delegation)
        if known is not None:
            self.expire(known)

    def _note_end(self, row: DelegationRow, callback: Work | None) -> None:
        """Forget an ended delegation, and end its children. `callback`: the turn that gets its result."""
        parent = self.open.find(row.parent)
        if callback is not None and parent is not None:
            parent.turns += 1
        ended = self.open.find(row.id)
        if ended is not None:
            self.open.remove(ended)
            self.clock.remove(row.id)
            self.slots.release(ended)
            for child in tuple(ended.children):
                left = self.open.find(child)
                if left is not None and left.stored:
                    self.end_soon(left, HandOutcome.CANCELLED, Reason.PARENT_ENDED)
        if parent is not None:
            self.settle(parent)


def _allowed(row: DelegationRow, now: float) -> float:
    """How many seconds a delegation had: those of its run, or, if its age or its parent ended it, since it exists."""
    start = row.accepted_at if row.started_at is None or row.kind is HandKind.WORKER else row.started_at
    ended = now if row.deadline is None else row.deadline
    whole = row.timeout is not None and start + row.timeout <= ended + _EQUAL
    return row.timeout if whole and row.timeout is not None else max(ended - row.accepted_at, 0.0)


class DeadlineClock:
    """Says which delegations have passed their deadline, by the steady clock."""

    def __init__(self, env: Env, passed: Callable[[DelegationId], None]) -> None:
        self._env = env
        self._passed = passed
        self._plan: DeadlinePlan[DelegationId] = DeadlinePlan()
        self._changed = anyio.Event()

    def set(self, delegation: DelegationId, at: float) -> None:
        """Set or move the deadline of a delegation; `at`: by the wall clock."""
        before = self._plan.next()
        steady = self._env.steady_of(at)
        self._plan.set(delegation, steady)
        if before is None or steady < before:
            self._changed.set()

    def remove(self, delegation: DelegationId) -> None:
        self._plan.remove(delegation)

    async def run(self) -> None:
        while True:
            for delegation in self._plan.due(self._env.steady()):
                self._passed(delegation)
            changed = self._changed = anyio.Event()
            after = self._plan.next()
            if after is None:
                await changed.wait()
            else:
                await wait_at_most(changed, max(after - self._env.steady(), _LEAST))


class RunSlots:
    """Begins runs as long as there are fewer than allowed. A task of an agent counts while its first turn is due.

    Later turns of that task do not count: an agent that waits for a hand of its own would keep that one waiting.
    """

    def __init__(self, most: Callable[[], int], begin: Callable[[OpenDelegation], None]) -> None:
        self._most = most
        self._begin = begin
        self._waiting: FairQueue[SessionId | None, OpenDelegation] = FairQueue()
        self._running = 0

    def enqueue(self, delegation: OpenDelegation) -> None:
        self._waiting.put(delegation.row.session, delegation)
        self.fill()

    def occupy(self, delegation: OpenDelegation) -> None:
        """Count a run without regard to the limit."""
        if not delegation.runs:
            delegation.runs = True
            self._running += 1

    def release(self, delegation: OpenDelegation) -> None:
        """A run has ended, or will not begin; the next one may."""
        self._waiting.discard(delegation.row.session, delegation)
        if delegation.runs:
            delegation.runs = False
            self._running -= 1
            self.fill()

    def fill(self) -> None:
        """Begin what waits, as far as there is room: also after the limit has changed."""
        while self._running < self._most():
            delegation = self._waiting.take()
            if delegation is None:
                return
            self.occupy(delegation)
            self._begin(delegation)
