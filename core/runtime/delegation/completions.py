"""Reports the results of hands: stores a result with everything that `core.hands.completion_plan` decides."""

from collections.abc import Callable, Sequence

import msgspec

from trunkline.core.bindings.bind_request import spawn_request
from trunkline.core.bindings.completion_router import TASK_COMPLETION
from trunkline.core.events import delivery, gateway, hands
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.hands.completion_plan import (
    DIRECT,
    KEPT,
    NOTICE,
    TURN,
    CompletionPlan,
    HandCompletion,
    is_silent,
    plan_completion,
)
from trunkline.core.hands.result_limits import cut, kept_result
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandResult
from trunkline.core.records.reserved_sender import hand_sender
from trunkline.core.records.rows import CallbackFacts, ContentPart, IntentRow, Work
from trunkline.core.runtime.bindings.service import SessionBindingService
from trunkline.core.runtime.context import Context, record_admitted, record_callback
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.states.delegation import OPEN_WORK
from trunkline.core.store.commands import Admit, FinishTurn, TurnFinish
from trunkline.core.store.delegations import FinishDelegation, HandFinish
from trunkline.core.store.queries import FindBindingOfRequest, FindRequester
from trunkline.core.text.mirror_text import said
from trunkline.core.text.model_text import ModelText
from trunkline.core.values import Address, InboundId, IntentKind, SessionId, WorkKind


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a delegation, unless ended before."""

    row: DelegationRow
    result: HandResult
    #: why it has no result of its own
    reason: Reason | None = None
    #: the worker that answered, or who cancelled it
    by: str = ""
    cause: int | None
    #: the ticket of an answer from outside, and the number of its post
    ticket: str | None = None
    post: int | None = None
    #: the turn of an agent that ends with it, and what records that; it gives the seq of that event
    turn: FinishTurn | None = None
    turn_ended: Callable[[TurnFinish], int] | None = None


class _Report(msgspec.Struct, frozen=True, kw_only=True):
    done: HandCompletion
    plan: CompletionPlan
    #: the turn that brings the result back
    work: Work | None
    #: the steps that post something, and the intent of each
    posted: list[hands.CompletionStep]
    intents: list[IntentRow]
    #: the result for the requester's transcript
    line: str | None
    #: the formerly bound conversation that the result belongs to
    belongs: Address | None


class _Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The store's answer to a recorded ending."""

    first: bool = False
    prepared: Sequence[tuple[IntentRow, int]] = ()
    turn: tuple[Work, SessionId, int] | None = None


class CompletionReporter:
    """Reports results to the sessions that delegated, and to the places where people wait for them."""

    def __init__(self, context: Context, preparer: Preparer, bindings: SessionBindingService, turns: TurnQueue) -> None:
        self._ctx = context
        self._preparer = preparer
        self._drafts = preparer.drafts
        self._bindings = bindings
        self._turns = turns
        #: called on the loop when a delegation has ended, with its callback, before that is started
        self.note_end: Callable[[DelegationRow, Work | None], None] | None = None
        #: starts the turn that brings a result back
        self.start_turn: Callable[[Work, SessionId, int], None] = turns.enqueue

    async def report(self, ending: Ending) -> bool:
        """Store the result together with everything that reports it. Answers whether it is the first, which counts."""
        while (stored := await self._report_once(ending)) is None:
            # The requester's session was reset between the decision and the write: decide again.
            pass
        return stored.first

    async def _requester(self, row: DelegationRow) -> tuple[str, bool]:
        """The current key of the session that delegated, and whether its conversation has another session now."""
        if row.session is None:
            return row.session_key, False
        found = await self._ctx.store.read(FindRequester(session=row.session, origin=row.reply_to))
        return (row.session_key, True) if found is None else (found.key, False)

    async def _report_once(self, ending: Ending) -> _Stored | None:
        """Decide how to report a result and store both; None if the requester's session was reset before the write."""
        ctx = self._ctx
        done, decided = await self._record_completion(ending)
        plan = ctx.decisions.plan_completion(done, ctx.config.hands)
        if done.requester_replaced and any(step.mode == TURN for step in plan.steps):
            # A custom decision that ignores resets: the store would refuse its turn forever (invariant S4).
            plan = plan_completion(done, ctx.config.hands)
        held = None if done.routed is None or done.routed.binding is None else done.routed.binding.binding_id
        with ctx.bindings.hold(held) as hold:
            hold.cause = decided
            return await self._store(ending, done, plan, decided)

    async def _record_completion(self, ending: Ending) -> tuple[HandCompletion, int | None]:
        """Gather the facts of an ended hand, and record the router's decision if the work has its own session."""
        ctx, row, result, cause = self._ctx, ending.row, ending.result, ending.cause
        key, replaced = await self._requester(row)
        done = HandCompletion(
            delegation=row.id,
            hand=row.hand,
            agent=row.agent,
            session_key=key,
            reply_to=row.reply_to,
            result=result,
            requester_busy=row.session is not None and self._turns.has_session(row.session),
            requester_replaced=replaced,
            reason=ending.reason,
        )
        if row.child_key is None or is_silent(done, ctx.config.hands) is not None:
            return done, cause
        channel = row.reply_to.channel if row.reply_to is not None else ""
        settings = ctx.config.channel(channel).thread_bindings
        may_fall_back = settings.fallback == "requester"
        routed = ctx.decisions.resolve_destination(
            event_kind=TASK_COMPLETION,
            target_session_key=row.child_key,
            requester=row.reply_to,
            fail_closed=not may_fall_back,
            bindings=self._bindings.list_by_session(row.child_key),
            now=ctx.env.now(),
        )
        chosen = routed.binding
        body = RouterDecided(
            event_kind=TASK_COMPLETION,
            target_session_key=row.child_key,
            requester=row.reply_to,
            fail_closed=not may_fall_back,
            mode=routed.mode,
            reason=routed.reason,
            conversation=None if chosen is None else chosen.conversation,
            candidates=routed.candidates,
        )
        binding = None if chosen is None else chosen.binding_id
        decided = ctx.events.record(body, cause, binding=binding, **ids_of_delegation(row))
        done = msgspec.structs.replace(done, routed=routed, may_fall_back=may_fall_back, may_notice=settings.notice)
        return done, decided

    async def _store(
        self, ending: Ending, done: HandCompletion, plan: CompletionPlan, cause: int | None
    ) -> _Stored | None:
        """Store a result with everything that reports it; None if the requester's session was reset before."""
        ctx, row, now = self._ctx, ending.row, self._ctx.env.now()
        chain = 0 if ending.turn is None else ending.turn.work.chain
        report = await self._prepare_report(row, done, plan, chain, cause)
        work, callback = report.work, None
        if work is not None:
            session = ctx.new_session(done.session_key, row.agent, row.reply_to)
            callback = Admit(work=work, identity=f"callback/{row.id}", session=session, now=now)

        def story(finish: HandFinish) -> _Stored | None:
            if finish.replaced:
                return None
            if finish.again:
                return _Stored()
            after = cause if ending.turn_ended is None else ending.turn_ended(finish.turn or TurnFinish())
            if finish.first:
                return self._record_report(ending, report, finish, after)
            self._preparer.drop(report.intents, Reason.ALREADY_FINISHED, self._record_ignored(ending, after))
            return _Stored()

        def then(stored: _Stored | None) -> None:
            if stored is None:
                return
            if stored.first:
                assert self.note_end is not None
                self.note_end(row, work)
            for intent, seq in stored.prepared:
                self._preparer.deliver(intent, seq)
            if stored.turn is not None:
                self.start_turn(*stored.turn)

        command = FinishDelegation(
            delegation=row.id,
            result=done.result,
            callback=callback,
            intents=report.intents,
            now=now,
            line=report.line,
            keep_text=plan.denied or (work is None and not report.posted),
            callback_reason=next((step.reason for step in plan.steps if step.mode in (KEPT, NOTICE)), None),
            ticket=ending.ticket,
            inline=ctx.config.hands.limits.inline_result,
            turn=ending.turn,
            post=ending.post,
        )
        return await ctx.store.write(command, story, then=then)

    async def _prepare_report(
        self, row: DelegationRow, done: HandCompletion, plan: CompletionPlan, chain: int, cause: int | None
    ) -> _Report:
        """Prepare what reports a result: its callback, its messages, and its line in the requester's transcript."""
        work = self._callback(row, done, plan, chain)
        # Of a result that is known to come too late nothing is posted, so hooks do not see it either.
        steps = plan.steps if row.state in OPEN_WORK else ()
        posted = [step for step in steps if step.mode in (DIRECT, NOTICE) and step.address is not None]
        intents = [await self._announcement(row, done.result, step, n, cause) for n, step in enumerate(posted, 1)]
        line = None if work is not None or done.requester_replaced else _line(row, done.result, posted, intents)
        reported = is_silent(done, self._ctx.config.hands) is None
        if plan.steps and plan.denied and not posted and reported and not done.requester_replaced:
            # Without a notice only the session that delegated can learn that the work has ended.
            line = _withheld(row, plan.steps[0].reason)
        belongs = await self._belongs(row, done)
        return _Report(done=done, plan=plan, work=work, posted=posted, intents=intents, line=line, belongs=belongs)

    def _record_report(self, ending: Ending, report: _Report, finish: HandFinish, cause: int | None) -> _Stored:
        ctx, row, result, ids = self._ctx, ending.row, report.done.result, ids_of_delegation(ending.row)
        finished = hands.DelegationFinished(
            hand=row.hand, outcome=result.outcome, text=result.text, reason=ending.reason, by=ending.by
        )
        seq = ctx.events.record(finished, cause, **ids)
        record_callback(ctx.events, finish.change, seq, **ids)
        steps = report.plan.steps
        body = hands.CompletionPlanned(steps=steps, requester_busy=report.done.requester_busy)
        planned = self._record_elsewhere(row, report, ctx.events.record(body, seq, **ids))
        if all(step.address is None and step.mode == DIRECT for step in steps):
            ctx.events.record(delivery.IntentSuppressed(reason=Reason.NO_ORIGIN, text=result.text), planned, **ids)
        session, work, turn = finish.session, report.work, None
        if report.line is not None and session is not None:
            # As its callback would have brought it.
            body = gateway.TranscriptAppended(
                session_id=session.id, session_key=session.key, role="hand", text=report.line
            )
            self._ctx.events.record(body, planned, inbound=_back(row), delegation=row.id)
        if work is not None and session is not None:
            turn = work, session.id, record_admitted(ctx, work, session, planned)
        prepared = [
            (intent, ctx.record_prepared(intent, targeted=False, reason=step.reason, cause=planned))
            for intent, step in zip(report.intents, report.posted, strict=True)
        ]
        return _Stored(first=True, prepared=prepared, turn=turn)

    def _record_ignored(self, ending: Ending, cause: int | None) -> int:
        """Record a result after the first: kept, without effect."""
        row, result = ending.row, ending.result
        body = hands.DelegationIgnored(
            hand=row.hand, reason=Reason.ALREADY_FINISHED, text=result.text, outcome=result.outcome, by=ending.by
        )
        return self._ctx.events.record(body, cause, **ids_of_delegation(row))

    async def _belongs(self, row: DelegationRow, done: HandCompletion) -> Address | None:
        """The formerly bound conversation of a result."""
        if done.routed is None or done.routed.binding is not None:
            return None
        record = await self._ctx.store.read(FindBindingOfRequest(request=spawn_request(row.id)))
        return None if record is None else record.conversation

    def _record_elsewhere(self, row: DelegationRow, report: _Report, cause: int) -> int:
        """Record that a result goes to another place than its bound conversation, or nowhere (invariant R2)."""
        routed, belongs = report.done.routed, report.belongs
        if routed is None or routed.binding is not None:
            return cause
        reason, notice = routed.reason, any(step.mode == NOTICE for step in report.plan.steps)
        if report.plan.denied:
            denied = FallbackDenied(asked=belongs, refused=row.reply_to, reason=reason, notice=notice)
            return self._ctx.events.record(denied, cause, **ids_of_delegation(row))
        if row.reply_to is None:
            return cause
        used = delivery.Fallback(asked=belongs or row.reply_to, used=row.reply_to, reason=reason)
        return self._ctx.events.record(used, cause, **ids_of_delegation(row))

    def _callback(self, row: DelegationRow, done: HandCompletion, plan: CompletionPlan, chain: int) -> Work | None:
        """The result as one message from ``hand:<id>`` to the requester's agent. `chain`: of the turn that gave it."""
        step = next((step for step in plan.steps if step.mode == TURN), None)
        if step is None:
            return None
        # Without a binding, answer where the agent delegated, even if a custom decision says otherwise.
        place = row.reply_to if step.binding is None else step.address
        # The answer of a turn without a place of its own goes to the place that it named, whose session remembers it.
        named = row.origin is not None and row.origin.place is None
        # The whole text of a long one is given to the turn when it starts.
        kept = kept_result(done.result.text, self._ctx.config.hands.limits.inline_result)
        return Work(
            id=_back(row),
            kind=WorkKind.CALLBACK,
            agent=row.agent,
            session_key=done.session_key,
            peer=hand_sender(row.hand),
            text=kept.shown,
            text_ref=kept.ref,
            message_id=f"callback:{row.id}",
            place=None if named else row.reply_to,
            reply_to=place,
            open_on=row.open_on,
            reply_reason=Reason.CALLBACK_TURN if step.binding is None else Reason.BOUND_DESTINATION,
            binding=step.binding,
            callback=CallbackFacts(delegation=row.id, hand=row.hand, outcome=done.result.outcome, label=row.label),
            origin=row.origin,
            serves=row.parent,
            depth=row.depth - 1,
            chain=1 + max(chain, 0 if row.origin is None else row.origin.chain),
        )

    async def _announcement(
        self, row: DelegationRow, result: HandResult, step: hands.CompletionStep, n: int, cause: int | None
    ) -> IntentRow:
        """The result for one place, or a notice instead of it. A result that is too long is visibly truncated."""
        assert step.address is not None
        draft, answer = self._drafts.announcement(row, step.address, n, step.binding), ModelText(text="")
        if step.mode == DIRECT:
            # A hand may be a model, too.
            answer = self._drafts.sendable(
                self._ctx.decisions.read_answer(result.text, self._ctx.config.rules), draft.address
            )
            draft = msgspec.structs.replace(draft, content=ContentPart(media=answer.media))
        text = answer.text if answer.media else _fitting(answer.text, self._ctx.config.delivery.max_text)
        if step.mode == NOTICE:
            draft = msgspec.structs.replace(draft, kind=IntentKind.NOTICE)
            text = _withheld(row, step.reason)
        mark = None if row.origin is None else row.origin.mark_at(draft.address)
        return await self._preparer.prepare(draft, text, cause, mark)


def ids_of_delegation(row: DelegationRow) -> dict[str, str | None]:
    """The correlation ids of a delegation's events."""
    return {"delegation": row.id, "turn": row.turn, "inbound": row.inbound}


def _back(row: DelegationRow) -> InboundId:
    return InboundId(f"{row.id}.back")


def _line(
    row: DelegationRow, result: HandResult, posted: Sequence[hands.CompletionStep], intents: Sequence[IntentRow]
) -> str | None:
    """The result for the requester's transcript if it is posted in the work's own thread, which has another session.

    Without a callback the requester would never learn of it. Hooks may have changed or cancelled the text: then it is
    what they left of it.
    """
    own = next((n for n, step in enumerate(posted) if step.mode == DIRECT and step.binding is not None), None)
    if own is None or row.session is None:
        return None
    intent = intents[own]
    if intent.is_cancelled:
        return (intent.progress.reason or Reason.CANCELLED_BY_HOOK).sentence
    return said(intent.content.chunks) if intent.hooks_pending else result.text


def _withheld(row: DelegationRow, reason: Reason) -> str:
    """The words about a withheld result, without the result."""
    return f"{row.hand} is done, and its result is not posted here. {reason.sentence}"


def _fitting(text: str, most: int) -> str:
    """A sendable text: visible, and not longer than allowed."""
    return cut(text, most) if text.strip() else "(no text)"
