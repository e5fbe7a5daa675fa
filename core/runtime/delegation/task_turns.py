"""The turns of agents that work on delegations: what such a turn returns is the result, not an answer to a person.

A turn that returns nothing while the task has open delegations of its own leaves it open: a callback turn of the same
session may give the result.
"""

from collections.abc import Generator
from contextlib import contextmanager

import anyio

from trunkline.core.delivery.answers import says_no_reply
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.hands.result_limits import bounded_result
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.records.rows import Work
from trunkline.core.runtime.context import Context, record_callback
from trunkline.core.runtime.delegation.completions import Ending
from trunkline.core.runtime.delegation.delegations import DelegationRunner
from trunkline.core.states.delegation import CallbackEvent, HandOutcome
from trunkline.core.store.commands import FinishTurn, TurnFinish
from trunkline.core.store.delegations import FindDelegation
from trunkline.core.values import WorkKind


class TaskTurns:
    def __init__(self, context: Context, runner: DelegationRunner) -> None:
        self._ctx = context
        self._open = runner.open
        self._endings = runner.endings

    def is_over(self, work: Work) -> bool:
        """Whether the delegation that a turn works on has ended: then there is nothing left to do."""
        served = self._open.find(work.serves)
        return served is None or served.ending.locked()

    @contextmanager
    def running(self, work: Work) -> Generator[anyio.CancelScope]:
        """A scope around the agent of a turn, cancelled when the delegation ends."""
        served = self._open.find(work.serves)
        with anyio.CancelScope() as scope:
            if served is not None:
                served.scope = scope
            try:
                yield scope
            finally:
                if served is not None:
                    served.scope = None

    async def drop(self, work: Work, cause: int) -> None:
        ended = TurnEnded(outcome="silent", reason=Reason.PARENT_ENDED)
        await self._ctx.store.write(self._finish_of(work, ended), lambda done: self._record(work, ended, done, cause))

    def note_discarded(self, work: Work) -> None:
        """Count a turn that does not run, because an operator has discarded its callback."""
        served = self._open.find(work.serves)
        if served is not None:
            served.turns -= 1
            self._endings.settle(served)

    async def finish(self, work: Work, answer: str | None, failure: TurnEnded | None, cause: int) -> None:
        over = failure is not None and failure.reason is Reason.PARENT_ENDED
        result, reason = (None, None) if over else self._result_of(answer, failure)
        ended = failure or TurnEnded(outcome="silent" if result is None else "replied")
        served, turn = self._open.find(work.serves), self._finish_of(work, ended)
        row = None if served is None else served.row
        if served is not None:
            served.turns -= 1
            if work.kind is WorkKind.TASK:
                self._endings.slots.release(served)
            if result is None and not over and not served.turns and not served.children:
                result = HandResult(outcome=HandOutcome.OK, text="")
        elif failure is None and result is not None and work.serves is not None:
            # Its delegation has ended during the turn: the result is late.
            row = await self._ctx.store.read(FindDelegation(delegation=work.serves))
        if result is None or row is None:
            await self._ctx.store.write(turn, lambda done: self._record(work, ended, done, cause))
            return
        ending = Ending(
            row=row,
            result=result,
            reason=reason,
            cause=cause,
            turn=turn,
            turn_ended=lambda done: self._record(work, ended, done, cause),
        )
        if served is None:
            await self._endings.keep_late_result(ending)
        else:
            await self._endings.end(served, ending)

    def _result_of(self, answer: str | None, failure: TurnEnded | None) -> tuple[HandResult | None, Reason | None]:
        """The result that the end of a turn gives its delegation; none: the turn returned nothing."""
        if failure is not None:
            reason = failure.reason or Reason.AGENT_RAISED
            lost = reason is Reason.RUNS_EXHAUSTED
            text = failure.detail or reason.sentence
            return HandResult(outcome=HandOutcome.LOST if lost else HandOutcome.ERROR, text=text), reason
        if answer is None or not answer.strip() or says_no_reply(answer):
            return None, None
        result = HandResult(outcome=HandOutcome.OK, text=answer)
        shorter = bounded_result(result, self._ctx.config.hands.limits.max_result)
        return (result, None) if shorter is None else (shorter, Reason.RESULT_TOO_LARGE)

    def _finish_of(self, work: Work, ended: TurnEnded) -> FinishTurn:
        failed = ended.outcome == "failed"
        event = CallbackEvent.FAIL if failed else CallbackEvent.SUPPRESS
        # No person gets a message for it: what the turn returned is the result of the delegation that it works on.
        unsent = Reason.PASSED_ON if ended.outcome == "replied" else Reason.NO_REPLY
        return FinishTurn(
            work=work,
            intents=(),
            now=self._ctx.env.now(),
            callback=None if work.callback is None else event,
            callback_reason=ended.reason or unsent,
        )

    def _record(self, work: Work, ended: TurnEnded, done: TurnFinish, cause: int) -> int:
        events = self._ctx.events
        seq = events.record(ended, cause, inbound=work.id, turn=work.turn, delegation=work.serves)
        record_callback(events, done.callback, seq, inbound=work.id, turn=work.turn)
        return seq
