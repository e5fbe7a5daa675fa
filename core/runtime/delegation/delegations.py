"""Runs delegations: durable before the hand starts; one result, reported as `core.hands.completion_plan` decides."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.abc
import msgspec

from trunkline.core.agent import CallbackFacts
from trunkline.core.bindings.bind_request import SPAWN, BindRequest, spawn_request
from trunkline.core.bindings.completion_router import TASK_COMPLETION
from trunkline.core.bindings.records import Placement, TargetKind
from trunkline.core.errors import HandError, InvariantBroken
from trunkline.core.events.bindings import FallbackDenied, RouterDecided
from trunkline.core.events.delivery import Fallback, IntentSuppressed
from trunkline.core.events.gateway import (
    CompletionPlanned,
    CompletionStep,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
)
from trunkline.core.hands.completion_plan import DIRECT, NOTICE, TURN, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.hands.port import DelegationRequest, HandTask
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.runtime.bindings.service import SessionBindingService
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.inbound.intake import record_admitted
from trunkline.core.runtime.inbound.intent_drafts import IntentDrafts
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import AcceptDelegation, Admit, FinishDelegation, StartDelegation
from trunkline.core.store.port import answer
from trunkline.core.store.queries import FindBindingOfRequest, FindSessionById
from trunkline.core.store.records import DelegationRow, HandFinish, IntentRow, Work
from trunkline.core.values import (
    Address,
    ChatKind,
    DelegationId,
    HandOutcome,
    HandResult,
    InboundId,
    IntentKind,
    Peer,
    SessionId,
    WorkKind,
)
from trunkline.core.well_formed import well_formed


class DelegationRunner:
    """Runs delegations concurrently and reports their results."""

    def __init__(
        self,
        context: Context,
        *,
        deliver: Callable[[IntentRow, int | None], None],
        preparer: Preparer,
        bindings: SessionBindingService,
    ) -> None:
        self._ctx = context
        self._preparer = preparer
        self._drafts = IntentDrafts(context)
        self._bindings = bindings
        self._deliver = deliver
        self._start_turn: Callable[[Work, SessionId, int], None] = _nobody
        self._busy: Callable[[str], bool] = _never
        self._group: anyio.abc.TaskGroup | None = None

    def connect(self, *, start_turn: Callable[[Work, SessionId, int], None], busy: Callable[[str], bool]) -> None:
        """Set the callbacks into turns. Set late: turns and delegations depend on each other."""
        self._start_turn = start_turn
        self._busy = busy

    def start(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group

    async def delegate(
        self, work: Work, session: SessionId, call: int, asked: DelegationRequest, cause: int
    ) -> DelegationId:
        """Store the delegation with its session and its fixed origin, then start the hand.

        Raises `BindingError` if the work should have its own thread and the thread cannot be created.
        """
        ctx, hand, task = self._ctx, asked.hand, asked.task
        id = DelegationId(f"{work.id}.hand{call}")  # noqa: A001 -- the word
        row = DelegationRow(
            id=id,
            hand=hand,
            task=task,
            child_key=await self._spawn(id, work, asked, cause),
            agent=work.agent,
            session_key=work.session_key,
            session=session,
            turn=work.turn,
            inbound=work.id,
            origin=work.reply_to,
            open_on=work.open_on if work.reply_to == work.home else None,
            accepted_at=ctx.env.now(),
        )

        def story(new: bool) -> int | None:
            if not new:
                return None
            body = DelegationAccepted(
                hand=hand,
                task=task,
                origin=row.origin,
                session_key=row.session_key,
                deadline=row.accepted_at + ctx.config.hands.of(hand).deadline,
            )
            return ctx.events.record(body, cause, **_ids(row))

        accepted = await ctx.store.write(AcceptDelegation(row=row), story)
        if accepted is not None:
            self._run_in_background(row, accepted)
        return row.id

    async def _spawn(self, id: DelegationId, work: Work, asked: DelegationRequest, cause: int) -> str | None:  # noqa: A002 -- the word
        """Give the work its own session and bind a thread to it, if requested; returns the session's key."""
        ctx, origin = self._ctx, work.reply_to
        if origin is None or asked.thread is False:
            return None
        if not ctx.config.channel(origin.channel).thread_bindings.spawn_subagent_sessions:
            return None
        if origin.kind is ChatKind.DIRECT and not asked.thread:
            # Direct conversations have no threads.
            return None
        key = ctx.key_text(SessionKey(agent=work.agent, subagent=id))
        request = BindRequest(
            target_session_key=key,
            target_kind=TargetKind.SUBAGENT,
            conversation=origin,
            placement=Placement.CHILD,
            label=asked.hand,
            title=f"{asked.hand}: {asked.task}",
            by=SPAWN,
            request=spawn_request(id),
            delegation=id,
            new_session=True,
        )
        await self._bindings.bind(request, cause)
        return key

    def recover(self, row: DelegationRow, cause: int) -> None:
        """Run a delegation whose process died again if that is allowed, else report it as lost."""
        settings = self._ctx.config.hands.of(row.hand)
        if settings.on_restart == "rerun" or row.state == "accepted":
            self._run_in_background(row, cause)
            return
        assert self._group is not None
        lost = HandResult(outcome=HandOutcome.LOST, text=Reason.PROCESS_DIED.sentence)
        self._group.start_soon(self._finish, row, lost, Reason.PROCESS_DIED, cause, name=f"hand {row.id} lost")

    def _run_in_background(self, row: DelegationRow, cause: int) -> None:
        assert self._group is not None
        self._group.start_soon(self._run, row, cause, name=f"hand {row.id}")

    async def _run(self, row: DelegationRow, cause: int) -> None:
        ctx = self._ctx
        await ctx.store.write(StartDelegation(delegation=row.id), answer)
        started = ctx.events.record(DelegationStarted(hand=row.hand), cause, **_ids(row))
        result, reason = await self._work(row)
        await self._finish(row, result, reason, started)

    async def _work(self, row: DelegationRow) -> tuple[HandResult, Reason | None]:
        ctx = self._ctx
        deadline = ctx.config.hands.of(row.hand).deadline
        try:
            with anyio.fail_after(deadline):
                text = await ctx.hands.run(HandTask(delegation=row.id, hand=row.hand, task=row.task))
        except TimeoutError:
            text = f"no result within {deadline:g} s"
            return HandResult(outcome=HandOutcome.TIMEOUT, text=text), Reason.HAND_DEADLINE
        except HandError as error:
            return HandResult(outcome=HandOutcome.ERROR, text=well_formed(error.facts)), Reason.HAND_RAISED
        except Exception as error:  # noqa: BLE001 -- any error of a hand is reported to the requester
            return HandResult(outcome=HandOutcome.ERROR, text=f"{type(error).__name__}: {error}"), Reason.HAND_RAISED
        return HandResult(outcome=HandOutcome.OK, text=well_formed(text)), None

    async def _finish(self, row: DelegationRow, result: HandResult, reason: Reason | None, cause: int) -> None:
        """Store the result together with everything that reports it."""
        while not await self._report(row, result, reason, cause):
            # The requester's session was reset between the decision and the write: decide again.
            pass

    async def _requester(self, row: DelegationRow) -> tuple[str, bool]:
        """The current key of the session that delegated, and whether another session has replaced it."""
        if row.session is None:
            return row.session_key, False
        found = await self._ctx.store.read(FindSessionById(session=row.session))
        return (row.session_key, True) if found is None else (found.key, False)

    async def _report(self, row: DelegationRow, result: HandResult, reason: Reason | None, cause: int) -> bool:
        """Decide how to report a result and store both; False if the requester's session was reset meanwhile."""
        ctx = self._ctx
        done, decided = await self._completed(row, result, cause)
        plan = ctx.decisions.plan_completion(done, ctx.config.hands)
        if done.requester_replaced and any(step.mode == TURN for step in plan.steps):
            # A custom decision that ignores resets: the store would refuse its turn forever (invariant S5).
            plan = plan_completion(done, ctx.config.hands)
        held = None if done.routed is None or done.routed.binding is None else done.routed.binding.binding_id
        ctx.bindings.hold(held)
        try:
            return await self._store(row, done, plan, reason, decided)
        finally:
            ctx.bindings.release(held, decided)

    async def _completed(self, row: DelegationRow, result: HandResult, cause: int) -> tuple[HandCompletion, int]:
        """The facts of the ended hand, with the router's decision if the work has its own session."""
        ctx = self._ctx
        key, replaced = await self._requester(row)
        done = HandCompletion(
            delegation=row.id,
            hand=row.hand,
            agent=row.agent,
            session_key=key,
            origin=row.origin,
            result=result,
            requester_busy=row.session is not None and self._busy(row.session),
            requester_replaced=replaced,
        )
        if row.child_key is None:
            return done, cause
        channel = row.origin.channel if row.origin is not None else ""
        settings = ctx.config.channel(channel).thread_bindings
        may_fall_back = settings.fallback == "requester"
        routed = ctx.decisions.resolve_destination(
            event_kind=TASK_COMPLETION,
            target_session_key=row.child_key,
            requester=row.origin,
            fail_closed=not may_fall_back,
            bindings=self._bindings.list_by_session(row.child_key),
            now=ctx.env.now(),
            profile=ctx.config.profile,
        )
        chosen = routed.binding
        body = RouterDecided(
            event_kind=TASK_COMPLETION,
            target_session_key=row.child_key,
            requester=row.origin,
            fail_closed=not may_fall_back,
            mode=routed.mode,
            reason=routed.reason,
            conversation=None if chosen is None else chosen.conversation,
            candidates=routed.candidates,
        )
        binding = None if chosen is None else chosen.binding_id
        decided = ctx.events.record(body, cause, binding=binding, **_ids(row))
        done = msgspec.structs.replace(done, routed=routed, may_fall_back=may_fall_back, may_notice=settings.notice)
        return done, decided

    async def _store(
        self, row: DelegationRow, done: HandCompletion, plan: CompletionPlan, reason: Reason | None, cause: int
    ) -> bool:
        """Store a result with everything that reports it; False if the requester's session was reset meanwhile."""
        ctx, result = self._ctx, done.result
        work = self._callback(row, done.session_key, result, plan)
        session = None if work is None else ctx.new_session(done.session_key, row.agent, row.origin)
        posted = [step for step in plan.steps if step.mode in (DIRECT, NOTICE) and step.address is not None]
        intents = [await self._announcement(row, result, step, n, cause) for n, step in enumerate(posted, 1)]
        belongs = await self._belongs(row, done)

        def story(finish: HandFinish) -> list[tuple[IntentRow, int]] | None:
            if finish.replaced:
                return None
            if not finish.first:
                body = DelegationIgnored(hand=row.hand, reason=Reason.ALREADY_FINISHED, text=result.text)
                ctx.events.record(body, cause, **_ids(row))
                return []
            finished = DelegationFinished(hand=row.hand, outcome=result.outcome, text=result.text, reason=reason)
            seq = ctx.events.record(finished, cause, **_ids(row))
            body = CompletionPlanned(steps=plan.steps, requester_busy=done.requester_busy)
            planned = self._elsewhere(row, done, plan, belongs, ctx.events.record(body, seq, **_ids(row)))
            if all(step.address is None and step.mode == DIRECT for step in plan.steps):
                lost = IntentSuppressed(reason=Reason.NO_ORIGIN, text=result.text)
                ctx.events.record(lost, planned, **_ids(row))
            if work is not None and finish.session is not None:
                admitted = record_admitted(ctx, work, finish.session, planned)
                started.append((work, finish.session.id, admitted))
            return [
                (intent, ctx.record_prepared(intent, targeted=False, reason=step.reason, cause=planned))
                for intent, step in zip(intents, posted, strict=True)
            ]

        def then(prepared: list[tuple[IntentRow, int]] | None) -> None:
            for intent, seq in prepared or ():
                self._deliver(intent, seq)
            for turn in started:
                self._start_turn(*turn)

        started: list[tuple[Work, SessionId, int]] = []
        now = ctx.env.now()
        callback = (
            None
            if work is None or session is None
            else Admit(work=work, identity=f"callback/{row.id}", session=session, now=now)
        )
        stored = await ctx.store.write(
            FinishDelegation(
                delegation=row.id,
                result=result,
                callback=callback,
                intents=intents,
                now=now,
                keep_text=plan.denied or (work is None and not posted),
            ),
            story,
            then=then,
        )
        return stored is not None

    async def _belongs(self, row: DelegationRow, done: HandCompletion) -> Address | None:
        """The formerly bound conversation that a result belongs to."""
        if done.routed is None or done.routed.binding is not None:
            return None
        record = await self._ctx.store.read(FindBindingOfRequest(request=spawn_request(row.id)))
        return None if record is None else record.conversation

    def _elsewhere(
        self, row: DelegationRow, done: HandCompletion, plan: CompletionPlan, belongs: Address | None, cause: int
    ) -> int:
        """Record that a result goes to another place than its bound conversation, or nowhere (invariant R2)."""
        if done.routed is None or done.routed.binding is not None:
            return cause
        reason, notice = done.routed.reason, any(step.mode == NOTICE for step in plan.steps)
        if plan.denied:
            denied = FallbackDenied(asked=belongs, refused=row.origin, reason=reason, notice=notice)
            return self._ctx.events.record(denied, cause, **_ids(row))
        if row.origin is None:
            return cause
        used = Fallback(asked=belongs or row.origin, used=row.origin, reason=reason)
        return self._ctx.events.record(used, cause, **_ids(row))

    def _callback(self, row: DelegationRow, session_key: str, result: HandResult, plan: CompletionPlan) -> Work | None:
        """The result as one message from ``hand:<id>`` to the requester's agent."""
        step = next((step for step in plan.steps if step.mode == TURN), None)
        if step is None:
            return None
        # Without a binding, answer where the agent delegated, even if a custom decision says otherwise.
        place = row.origin if step.binding is None else step.address
        return Work(
            id=InboundId(f"{row.id}.back"),
            kind=WorkKind.CALLBACK,
            agent=row.agent,
            session_key=session_key,
            peer=Peer(id=f"hand:{row.hand}", name=row.hand),
            text=result.text,
            message_id=f"callback:{row.id}",
            place=row.origin,
            reply_to=place,
            open_on=row.open_on,
            reply_reason=Reason.CALLBACK_TURN if step.binding is None else Reason.BOUND_DESTINATION,
            binding=step.binding,
            callback=CallbackFacts(delegation=row.id, hand=row.hand, outcome=result.outcome),
        )

    async def _announcement(
        self, row: DelegationRow, result: HandResult, step: CompletionStep, n: int, cause: int
    ) -> IntentRow:
        """The result for one place, or a notice instead of it. A result that is too long is visibly truncated."""
        assert step.address is not None
        draft = self._drafts.announcement(row, step.address, n, step.binding)
        text = _fitting(result.text, self._ctx.config.delivery.max_text)
        if step.mode == NOTICE:
            draft = msgspec.structs.replace(draft, kind=IntentKind.NOTICE)
            text = f"{row.hand} is done, and its result is not posted here. {step.reason.sentence}"
        return await self._preparer.prepare(draft, text, cause)


def _fitting(text: str, most: int) -> str:
    """A text that can be sent: visible, and not longer than allowed."""
    if not text.strip():
        return "(no text)"
    if len(text) <= most:
        return text
    note = f" [cut: {len(text)} characters]"
    return text[: max(most - len(note), 0)] + note[:most]


def _nobody(_work: Work, _session: SessionId, _cause: int) -> None:
    raise InvariantBroken("a hand ended before the turns were connected")


def _never(_session: str) -> bool:
    return False


def _ids(row: DelegationRow) -> dict[str, str | None]:
    return {"delegation": row.id, "turn": row.turn, "inbound": row.inbound}
