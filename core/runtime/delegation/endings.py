"""Ends delegations: whatever ends one, its first end counts, its children end with it, and what it held is free."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import anyio
import anyio.abc

from trunkline.core.errors import StoreError
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandKind, HandResult
from trunkline.core.records.rows import Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.completions import CompletionReporter, Ending
from trunkline.core.runtime.delegation.deadline_clock import DeadlineClock
from trunkline.core.runtime.delegation.open_delegations import OpenDelegation, OpenDelegations
from trunkline.core.runtime.delegation.run_slots import RunSlots
from trunkline.core.states.delegation import HandOutcome, WorkState
from trunkline.core.values import DelegationId

#: seconds that two times may differ by rounding
_EQUAL = 1e-6


class Endings:
    """Ends open delegations and keeps their number, deadlines and places for runs up to date."""

    def __init__(
        self,
        context: Context,
        *,
        open_delegations: OpenDelegations,
        reporter: CompletionReporter,
        begin: Callable[[OpenDelegation], None],
    ) -> None:
        self._ctx = context
        self._open = open_delegations
        self._reporter = reporter
        self._group: anyio.abc.TaskGroup | None = None
        self.clock = DeadlineClock(context.env, self._passed)
        self.slots = RunSlots(lambda: context.config.hands.limits.running, begin)
        self._take_posts: Callable[[], Awaitable[None]] = _nothing_left
        reporter.connect_end(self._ended)

    def connect(self, *, take_posts: Callable[[], Awaitable[None]]) -> None:
        """Set what applies the answers that other processes have left. Set late: it needs the delegations."""
        self._take_posts = take_posts

    async def take_posts(self) -> None:
        """Apply the answers that other processes have left."""
        await self._take_posts()

    def start(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group

    async def end(self, one: OpenDelegation, ending: Ending) -> bool:
        """End a delegation, unless it has ended; answers whether this end is the one that counts."""
        if one.scope is not None:
            one.scope.cancel()
        async with one.ending:
            return await self._reporter.report(ending)

    async def end_for(self, one: OpenDelegation, ending: Ending) -> bool:
        """As `end`, for a caller that may stop waiting: its run is cancelled by then, so the end must be stored.

        Raises `StoreError` if the gateway stops first; then the delegation goes on at the next start.
        """
        ended, answers, errors = anyio.Event(), list[bool](), list[Exception]()

        async def store() -> None:
            try:
                answers.append(await self.end(one, ending))
            except Exception as error:  # noqa: BLE001 -- it is the caller's
                errors.append(error)
            finally:
                ended.set()

        self.apart(store, f"hand {one.row.id} ends")
        await ended.wait()
        if errors:
            raise errors[0]
        if not answers:
            raise StoreError(f"the gateway stopped before the end of {one.row.id} was stored")
        return answers[0]

    async def late(self, ending: Ending) -> bool:
        """Keep a result that came after the end of its delegation; answers whether it is the first nevertheless."""
        return await self._reporter.report(ending)

    def end_soon(self, one: OpenDelegation, outcome: HandOutcome, reason: Reason, text: str = "") -> None:
        """End a delegation in the background."""
        assert self._group is not None
        result = HandResult(outcome=outcome, text=text or reason.sentence)
        ending = Ending(row=one.row, result=result, reason=reason, cause=one.cause)
        self._group.start_soon(self.end, one, ending, name=f"hand {one.row.id} {outcome}")

    def settle(self, one: OpenDelegation) -> None:
        """End the task of an agent that has returned nothing, and that nothing works on any more, with no text."""
        row = one.row
        if row.kind is not HandKind.AGENT or row.state is not WorkState.RUNNING or one.turns or one.children:
            return
        assert self._group is not None
        ending = Ending(row=row, result=HandResult(outcome=HandOutcome.OK, text=""), cause=one.cause)
        self._group.start_soon(self.end, one, ending, name=f"hand {row.id} empty")

    def expire(self, one: OpenDelegation) -> None:
        """End a delegation whose deadline has passed; a worker's only if it has left no answer in time."""
        if one.row.kind is HandKind.WORKER:
            self.apart(lambda: self._look_first(one), f"hand {one.row.id} due")
        else:
            self._time_out(one)

    async def _look_first(self, one: OpenDelegation) -> None:
        """Time a worker out, unless it has left an answer that nobody has taken yet."""
        await self._take_posts()
        if self._open.find(one.row.id) is one:
            self._time_out(one)

    def _time_out(self, one: OpenDelegation) -> None:
        seconds = _allowed(one.row, self._ctx.env.now())
        self.end_soon(one, HandOutcome.TIMEOUT, Reason.HAND_DEADLINE, f"no result within {round(seconds, 3):g} s")

    def apart(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Run something beside everything else."""
        assert self._group is not None
        self._group.start_soon(work, name=name)

    def _passed(self, delegation: DelegationId) -> None:
        one = self._open.find(delegation)
        if one is not None:
            self.expire(one)

    def _ended(self, row: DelegationRow, callback: Work | None) -> None:
        """A delegation has ended, durably. `callback`: the turn that gets its result."""
        parent = self._open.find(row.parent)
        if callback is not None and parent is not None:
            parent.turns += 1
        one = self._open.find(row.id)
        if one is not None:
            self._open.remove(one)
            self.clock.remove(row.id)
            self.slots.release(one)
            for child in tuple(one.children):
                left = self._open.find(child)
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


async def _nothing_left() -> None:
    """Nobody else can have left anything."""
