"""Delegations for workers and operators: inside the process as `Gateway.hands`, from other processes by posts.

What does not fit is refused with `AnswerRefused`, changes nothing, and is recorded.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from trunkline.core.errors import AnswerRefused, IllegalTransition, UnknownName
from trunkline.core.events.delivery import OperatorActed
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.events.hands import AnswerTurnedAway, DelegationStarted
from trunkline.core.hands.port import HandTask, task_of
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandKind, HandResult
from trunkline.core.records.rows import CallbackChange, Work
from trunkline.core.runtime.context import Context, record_callback
from trunkline.core.runtime.delegation.completions import Ending, ids_of_delegation
from trunkline.core.runtime.delegation.delegations import DelegationRunner
from trunkline.core.runtime.delegation.open_delegations import OpenDelegation
from trunkline.core.states.delegation import OPEN_WORK, CallbackEvent, HandOutcome
from trunkline.core.store.delegations import (
    CallbackRetry,
    ChangeCallback,
    DelegationDetails,
    DelegationFilter,
    DropPost,
    FindDelegation,
    HandPost,
    ListDelegations,
    ListedDelegations,
    PostVerb,
    RetryCallback,
    ShowDelegation,
    TakeTask,
)
from trunkline.core.values import DelegationId, SessionId
from trunkline.core.well_formed import is_well_formed, plain_text

T = TypeVar("T")
#: the acting operator, where none is named
OPERATOR = "operator"


class HandAdmin:
    def __init__(
        self,
        context: Context,
        runner: DelegationRunner,
        *,
        start_turn: Callable[[Work, SessionId, int], None],
        reopened: Callable[[], None],
        discarded: Callable[[DelegationId], None],
    ) -> None:
        self._ctx = context
        self._runner = runner
        self._open = runner.open
        self._start_turn = start_turn
        self._reopened = reopened
        self._discarded = discarded

    async def take(self, hand: str, worker: str, cause: int | None = None) -> HandTask | None:
        """Give a worker the next task of its hand; None: there is none. Its answer needs the `ticket` of the task.

        Raises `AnswerRefused` for a hand that is not configured as a worker.
        """
        await self._ctx.until_up()
        ctx = self._ctx
        if hand not in ctx.config.hands.each or not ctx.config.hands.each[hand].worker:
            there = (
                ", ".join(sorted(name for name, settings in ctx.config.hands.each.items() if settings.worker)) or "none"
            )
            raise AnswerRefused(f"hands.each.{hand}.worker is not set; workers are: {there}", Reason.NOT_A_WORKER)
        name, now = plain_text(worker) or "", ctx.env.now()
        ticket = ctx.env.ids.new("ticket", hand, name)

        def story(row: DelegationRow | None) -> tuple[DelegationRow, int] | None:
            return None if row is None else (row, self._record_taken(row, cause))

        taken = await ctx.store.write(
            TakeTask(hand=hand, worker=name, ticket=ticket, now=now, post=False), story, then=self._note_taken
        )
        if taken is None:
            return None
        row, _ = taken
        left = None if row.deadline is None else row.deadline - now
        return task_of(row, left, lambda text: self.progress(row.id, text, ticket=ticket, by=name), ticket)

    def _record_taken(self, row: DelegationRow, cause: int | None) -> int:
        known = self._open.find(row.id)
        after = cause if known is None else known.cause
        return self._ctx.events.record(
            DelegationStarted(hand=row.hand, worker=row.worker), after, **ids_of_delegation(row)
        )

    def _note_taken(self, taken: tuple[DelegationRow, int] | None) -> None:
        known = None if taken is None else self._open.find(taken[0].id)
        if known is not None and taken is not None:
            known.row, known.cause = taken

    async def progress(self, delegation: str, text: str, *, ticket: str | None = None, by: str = "") -> bool:
        """Store and show how far a worker has come; False if the delegation has ended. Raises `AnswerRefused`."""
        await self._ctx.until_up()
        return await self._recording(PostVerb.PROGRESS, delegation, by, self._progress(delegation, text, ticket))

    async def _progress(self, delegation: str, text: str, ticket: str | None, post: int | None = None) -> bool:
        known, row = await self._find(delegation)
        if row.kind is not HandKind.WORKER:
            raise AnswerRefused(f"{row.id}: its hand is no worker", Reason.NOT_A_WORKER)
        return known is not None and await self._runner.progress(known, text, ticket=ticket, post=post)

    async def answer(
        self, delegation: str, outcome: HandResult, *, ticket: str | None = None, by: str = "", cause: int | None = None
    ) -> bool:
        """End a worker's delegation with a result; see `Gateway.inject_callback`."""
        await self._ctx.until_up()
        done = self._answer(delegation, outcome, ticket, by, cause)
        return await self._recording(PostVerb.ANSWER, delegation, by, done)

    async def _answer(
        self,
        delegation: str,
        outcome: HandResult,
        ticket: str | None,
        by: str,
        cause: int | None,
        post: int | None = None,
    ) -> bool:
        known, row = await self._find(delegation)
        if row.kind is not HandKind.WORKER:
            raise AnswerRefused(f"{row.id}: its hand is no worker", Reason.NOT_A_WORKER)
        text = plain_text(getattr(outcome, "text", None))
        if text is None or not isinstance(getattr(outcome, "outcome", None), HandOutcome):
            raise AnswerRefused(f"{row.id}: the result is no HandResult of an outcome and a text", Reason.BAD_RESULT)
        most = self._ctx.config.hands.limits.max_result if row.max_result is None else row.max_result
        if len(text) > most:
            facts = f"{row.id}: the text has {len(text)} characters, and {most} are allowed"
            raise AnswerRefused(facts, Reason.RESULT_TOO_LARGE)
        ending = Ending(
            row=row,
            result=HandResult(outcome=outcome.outcome, text=text),
            by=plain_text(by) or "",
            cause=cause if cause is not None or known is None else known.cause,
            ticket=ticket,
            post=post,
        )
        if known is not None:
            return await self._runner.endings.end(known, ending)
        return await self._runner.endings.keep_late_result(ending)

    async def cancel(
        self,
        delegation: str,
        *,
        by: str = OPERATOR,
        reason: Reason = Reason.CANCELLED_BY_OPERATOR,
        cause: int | None = None,
    ) -> bool:
        """End a delegation and the children; False if ended before. Raises `AnswerRefused`."""
        await self._ctx.until_up()
        done = self._cancel(delegation, by, cause, reason=reason)
        return await self._recording(PostVerb.CANCEL, delegation, by, done)

    async def _cancel(
        self,
        delegation: str,
        by: str,
        cause: int | None,
        post: int | None = None,
        reason: Reason = Reason.CANCELLED_BY_OPERATOR,
    ) -> bool:
        known, _ = await self._find(delegation)
        if known is None:
            return False
        return await self._runner.cancel(known, reason, plain_text(by) or "", cause, post)

    async def list(
        self,
        which: DelegationFilter = DelegationFilter(),  # noqa: B008 -- an immutable value
        *,
        before: DelegationId | None = None,
        limit: int = 100,
    ) -> ListedDelegations:
        """Delegations that match a filter, newest first, without their results. `before`: the oldest already seen."""
        await self._ctx.until_up()
        return await self._ctx.store.read(ListDelegations(which=which, before=before, limit=limit))

    async def show(self, delegation: str) -> DelegationDetails:
        """A delegation with everything stored about it. Raises `UnknownName`, or `StoreError` if it is unreadable."""
        if not _may_be_an_id(delegation):
            raise UnknownName(f"no delegation {delegation!r}")
        await self._ctx.until_up()
        return await self._ctx.store.read(ShowDelegation(delegation=delegation))

    async def retry_callback(self, delegation: str, *, by: str = OPERATOR, cause: int | None = None) -> CallbackRetry:
        """Report a delegation again whose report is undeliverable: its messages are sent, or its turn runs, again.

        Raises `AnswerRefused`, and `IllegalTransition` where nothing has failed or nothing can be repeated.
        """
        await self._ctx.until_up()
        return await self._recording(PostVerb.RETRY_CALLBACK, delegation, by, self._retry(delegation, by, cause))

    async def _retry(self, delegation: str, by: str, cause: int | None, post: int | None = None) -> CallbackRetry:
        ctx = self._ctx
        _, row = await self._find(delegation)

        def story(retry: CallbackRetry) -> tuple[CallbackRetry, int | None]:
            seq = self._record_acted(PostVerb.RETRY_CALLBACK, row, by, retry.change, cause)
            if retry.work is not None and retry.session is not None:
                body = InboundAdmitted(
                    work=retry.work.kind, session_id=retry.session, session_key=retry.work.session_key
                )
                seq = ctx.events.record(body, seq, inbound=retry.work.id, delegation=row.id)
            return retry, seq

        def then(stored: tuple[CallbackRetry, int | None]) -> None:
            retry, seq = stored
            if retry.work is not None and retry.session is not None and seq is not None:
                served = self._open.find(retry.work.serves)
                if served is not None:
                    served.turns += 1
                self._start_turn(retry.work, retry.session, seq)
            if retry.intents:
                self._reopened()

        command = RetryCallback(delegation=row.id, now=ctx.env.now(), post=post)
        return (await ctx.store.write(command, story, then=then))[0]

    async def discard(self, delegation: str, *, by: str = OPERATOR, cause: int | None = None) -> CallbackChange:
        """Give up the report of a delegation: nothing more of it is sent, and a turn that is due does not run.

        Raises `AnswerRefused`, and `IllegalTransition` where there is nothing to give up.
        """
        await self._ctx.until_up()
        return await self._recording(PostVerb.DISCARD, delegation, by, self._discard(delegation, by, cause))

    async def _discard(self, delegation: str, by: str, cause: int | None, post: int | None = None) -> CallbackChange:
        _, row = await self._find(delegation)

        def story(change: CallbackChange | None) -> CallbackChange | None:
            if change is not None:
                self._record_acted(PostVerb.DISCARD, row, by, change, cause)
            return change

        def then(change: CallbackChange | None) -> None:
            if change is not None:
                self._discarded(row.id)

        command = ChangeCallback(delegation=row.id, event=CallbackEvent.DISCARD, reason=Reason.DISCARDED, post=post)
        changed = await self._ctx.store.write(command, story, then=then)
        if changed is None:
            raise IllegalTransition(f"{row.id}: there is no report of it to give up")
        return changed

    def _record_acted(
        self, verb: PostVerb, row: DelegationRow, by: str, change: CallbackChange, cause: int | None
    ) -> int | None:
        ids = ids_of_delegation(row)
        seq = self._ctx.events.record(OperatorActed(verb=verb.value, detail=plain_text(by) or ""), cause, **ids)
        return record_callback(self._ctx.events, change, seq, **ids)

    async def post(self, post: HandPost) -> bool:
        """Carry out a request inside the process. False if the delegation has ended, or had an answer, before.

        Raises what its verb raises.
        """
        await self._ctx.until_up()
        return await self._recording(post.verb, post.delegation, post.by, self._carry_out(post, None, None))

    async def apply(self, post: HandPost, cause: int | None) -> None:
        """Carry out what another process left. Raises what its verb raises; the post goes with what it changes."""
        if post.verb is PostVerb.TAKEN:
            await self._apply_taken(post, cause)
        else:
            await self._carry_out(post, cause, post.n)

    async def _carry_out(self, post: HandPost, cause: int | None, n: int | None) -> bool:
        """Carry out a post; `n`: its number, if it is stored. Answers as `post`."""
        name, by = post.delegation, post.by or OPERATOR
        if post.verb is PostVerb.PROGRESS:
            return await self._progress(name, post.text, post.ticket, n)
        if post.verb is PostVerb.ANSWER:
            outcome = HandResult(outcome=post.outcome or HandOutcome.OK, text=post.text)
            return await self._answer(name, outcome, post.ticket, post.by, cause, n)
        if post.verb is PostVerb.CANCEL:
            return await self._cancel(name, by, cause, n)
        await (self._retry if post.verb is PostVerb.RETRY_CALLBACK else self._discard)(name, by, cause, n)
        return True

    async def _apply_taken(self, post: HandPost, cause: int | None) -> None:
        """A worker has taken a task: that is stored, and recorded now."""
        row = await self._ctx.store.read(FindDelegation(delegation=post.delegation))

        def story(there: bool) -> tuple[DelegationRow, int] | None:
            # An ended delegation, such as a cancelled one, is not recorded as begun.
            begun = there and row is not None and row.state in OPEN_WORK
            return (row, self._record_taken(row, cause)) if begun and row is not None else None

        await self._ctx.store.write(DropPost(n=post.n), story, then=self._note_taken)

    async def _find(self, delegation: str) -> tuple[OpenDelegation | None, DelegationRow]:
        """A delegation, as open one if it is. Raises `AnswerRefused` if there is none with this id."""
        known = self._open.find(delegation)
        if known is not None and known.stored:
            return known, known.row
        row = await self._ctx.store.read(FindDelegation(delegation=delegation)) if _may_be_an_id(delegation) else None
        if row is None:
            raise AnswerRefused(f"no delegation {delegation!r}", Reason.UNKNOWN_DELEGATION)
        # It may have become durable just now.
        return self._open.find(delegation), row

    async def _recording(self, verb: PostVerb, delegation: str, by: str, done: Awaitable[T]) -> T:
        """The result of a request; a refusal is recorded."""
        try:
            return await done
        except (AnswerRefused, UnknownName, IllegalTransition) as error:
            reason = error.reason if isinstance(error, AnswerRefused) else Reason.CHANGED_ELSEWHERE
            body = AnswerTurnedAway(verb=verb.value, reason=reason, detail=error.facts, by=plain_text(by) or "")
            self._ctx.events.record(body, None, delegation=plain_text(delegation))
            raise


def _may_be_an_id(delegation: object) -> bool:
    """Whether the store can be asked for it: it is a text that can be stored."""
    return isinstance(delegation, str) and is_well_formed(delegation)
