"""The tools of turns for hands: delegate, cancel, look. A refused call has no effect, and the agent gets the reason."""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.marker import ContextMark
from trunkline.core.agent import GivenTask
from trunkline.core.bindings.bind_request import SPAWN, BindRequest, spawn_request
from trunkline.core.errors import AnswerRefused, BindingError, DelegationRefused, UsageError
from trunkline.core.events.gateway import ToolCalled, ToolRefused
from trunkline.core.hands.admission import AdmissionFacts
from trunkline.core.hands.capture import delegation_id, origin_of
from trunkline.core.hands.port import Delegated, DelegationRequest, DelegationStatus
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import Placement, TargetKind
from trunkline.core.records.delegations import DelegationRow, HandKind
from trunkline.core.records.rows import Work
from trunkline.core.runtime.bindings.service import SessionBindingService
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver, ToolSend, refusal
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.delegations import DelegationRunner
from trunkline.core.runtime.delegation.known_hands import admit, hands_for, kind_of
from trunkline.core.runtime.message_tool.results import ToolCall, record_refusal
from trunkline.core.runtime.outbound.context_policy import ContextPolicy
from trunkline.core.runtime.outbound.own_notices import ChainEnd
from trunkline.core.store.delegations import CountCaused, FindDelegation
from trunkline.core.values import Address, ChatKind, DelegationId, SessionId

#: how much of a task that is too long is kept in the events
_SHOWN = 200
#: the calls of a turn among which those of earlier runs are looked for
_NUMBERS = 200
#: the place in a chain from which on the delegations of all its turns are counted
_COUNTED = 3
DELEGATE, CANCEL = "delegate", "cancel"


class HandTools:
    def __init__(
        self,
        context: Context,
        runner: DelegationRunner,
        bindings: SessionBindingService,
        targets: TargetResolver,
        chain_end: ChainEnd,
    ) -> None:
        self._ctx = context
        self._chain_end = chain_end
        self._runner = runner
        self._open = runner.open
        self._bindings = bindings
        self._targets = targets
        self._policy = ContextPolicy(context)

    def open_of(self, session: SessionId) -> tuple[DelegationStatus, ...]:
        return tuple(delegation.status for delegation in self._open.of_session(session))

    def names_for(self, agent: str) -> tuple[str, ...]:
        """The hands that an agent may use, as far as their names are known."""
        return hands_for(self._ctx, agent)

    async def delegate(self, call: ToolCall, asked: DelegationRequest) -> Delegated:
        """Refuse a task, or store it with its session and its fixed origin, then have the hand begin.

        Raises `DelegationRefused`; and `BindingError` if the work should have its own thread and that cannot be made.
        """
        ctx, work = self._ctx, call.work
        # What is too long is refused below, and is not kept in the events either.
        task = asked.task if len(asked.task) <= ctx.config.hands.limits.max_task else f"{asked.task[:_SHOWN]}…"
        called = ctx.events.record(ToolCalled(tool=DELEGATE, detail=f"{asked.hand}: {task}"), call.cause, **call.ids)
        accepted = Delegated(delegation=delegation_id(work, call.number), hand=asked.hand)
        before = await self._of_earlier_run(accepted.delegation) if call.again else None
        if before is not None:
            self._compare(call, asked, before, called)
            return msgspec.structs.replace(accepted, hand=before.hand)
        try:
            kind = self._admit(call, asked, chain_over=await self._is_chain_over(work))
            await self._accept(call, asked, kind, accepted.delegation, called)
        except (DelegationRefused, BindingError) as error:
            record_refusal(ctx, work, DELEGATE, error, error.reason, called)
            if error.reason is Reason.CHAIN_EXCEEDED:
                await self._chain_end.post_notice(work, call.session, called)
            raise
        return accepted

    async def of_earlier_runs(self, work: Work) -> tuple[GivenTask, ...]:
        rows = [await self._of_earlier_run(delegation_id(work, number)) for number in range(1, _NUMBERS + 1)]
        return tuple(GivenTask(delegation=row.id, hand=row.hand, task=row.task) for row in rows if row is not None)

    async def _of_earlier_run(self, delegation: DelegationId) -> DelegationRow | None:
        """The delegation of this call in an earlier run of the turn, whose process died."""
        known = self._open.find(delegation)
        return await self._ctx.store.read(FindDelegation(delegation=delegation)) if known is None else known.row

    def _compare(self, call: ToolCall, asked: DelegationRequest, before: DelegationRow, called: int) -> None:
        """Record that the turn now delegates something else with this call: nothing works on it."""
        if (asked.hand, asked.task) == (before.hand, before.task):
            return
        facts = f"{before.id} was given to {before.hand}: {before.task[:_SHOWN]}"
        body = ToolRefused(tool=DELEGATE, reason=Reason.CALL_CHANGED, detail=facts)
        self._ctx.events.record(body, called, **{**call.ids, "delegation": before.id})

    def _admit(self, call: ToolCall, asked: DelegationRequest, *, chain_over: bool) -> HandKind:
        """The kind of hand for a task. Raises `DelegationRefused`."""
        ctx, work = self._ctx, call.work
        own = asked.hand == work.agent
        facts = AdmissionFacts(
            agent=work.agent,
            kind=None if own else kind_of(ctx, asked.hand),
            known=hands_for(ctx, work.agent),
            depth=work.depth,
            chain=work.chain,
            chain_over=chain_over,
            in_session=self._open.count_of(call.session),
            in_all=len(self._open),
            has_place=work.reply_to is not None,
            serves=work.serves is not None,
            over=work.serves is not None and self._open.find(work.serves) is None,
        )
        return admit(ctx, asked, facts)

    async def _is_chain_over(self, work: Work) -> bool:
        caused = 0
        if work.chain >= _COUNTED and work.origin is not None:
            caused = await self._ctx.store.read(CountCaused(inbound=work.origin.inbound))
        return self._ctx.decisions.is_chain_over(work.chain, caused, self._ctx.config)

    async def _accept(
        self, call: ToolCall, asked: DelegationRequest, kind: HandKind, delegation: DelegationId, called: int
    ) -> None:
        """Store a task and have its hand begin. It counts from now on, so that no other call takes its place."""

        async def complete(row: DelegationRow) -> DelegationRow:
            return await self._place_row(call, asked, row, called)

        row = self._row(call, asked, kind, delegation)
        await self._runner.accept(row, called, complete)

    def _row(self, call: ToolCall, asked: DelegationRequest, kind: HandKind, delegation: DelegationId) -> DelegationRow:
        ctx, work, now = self._ctx, call.work, self._ctx.env.now()
        timeout = ctx.config.hands.of(asked.hand).deadline if asked.timeout is None else asked.timeout
        return DelegationRow(
            id=delegation,
            kind=kind,
            hand=asked.hand,
            task=asked.task,
            label=asked.label,
            agent=work.agent,
            session_key=work.session_key,
            session=call.session,
            turn=work.turn,
            inbound=work.id,
            reply_to=work.reply_to,
            open_on=work.open_on if work.reply_to == work.home else None,
            origin=origin_of(work, call.session, now),
            parent=work.serves,
            depth=work.depth + 1,
            timeout=timeout,
            max_result=ctx.config.hands.limits.max_result,
            accepted_at=now,
        )

    async def _place_row(
        self, call: ToolCall, asked: DelegationRequest, row: DelegationRow, called: int
    ) -> DelegationRow:
        """The row with the place that the turn named for the answer, and with the thread of its own, if it gets one."""
        if asked.reply_to is not None:
            place, mark = await self._named_place(call, asked.reply_to, called)
            origin = None if row.origin is None else msgspec.structs.replace(row.origin, reply_to=place, mark=mark)
            return msgspec.structs.replace(row, reply_to=place, origin=origin)
        return msgspec.structs.replace(row, child_key=await self._spawn(row, asked.thread, called))

    async def _named_place(
        self, call: ToolCall, named: Address | str, called: int
    ) -> tuple[Address, ContextMark | None]:
        """The place of an explicit reply target, if the policy allows it, and the mark that reports show there.

        Raises `DelegationRefused`.
        """
        try:
            asked = ToolSend(running=call.session, to=named)
            aim = await self._targets.aim(call.work.agent, asked, None, called, call.ids)
            assert aim is not None
            mark = await self._policy.check(call.work, Action.SEND, aim.address, aim.cause, text=str(named))
        except UsageError as error:
            raise DelegationRefused(f"reply_to: {error.facts}", refusal(error)) from error
        return aim.address, mark

    async def _spawn(self, row: DelegationRow, thread: bool | None, cause: int) -> str | None:
        """Give the work its own session and bind a thread to it, if requested; returns the session's key."""
        ctx, origin = self._ctx, row.reply_to
        if origin is None or thread is False:
            return None
        if not ctx.config.channel(origin.channel).thread_bindings.spawn_subagent_sessions:
            return None
        if origin.kind is ChatKind.DIRECT and not thread:
            # Direct conversations have no threads.
            return None
        worker = row.hand if row.kind is HandKind.AGENT else row.agent
        key = ctx.key_text(SessionKey(agent=worker, subagent=row.id))
        request = BindRequest(
            target_session_key=key,
            target_kind=TargetKind.SUBAGENT,
            conversation=origin,
            placement=Placement.CHILD,
            label=row.hand,
            title=f"{row.hand}: {row.task}",
            by=SPAWN,
            request=spawn_request(row.id),
            delegation=row.id,
            new_session=True,
        )
        await self._bindings.bind(request, cause)
        return key

    async def cancel(self, call: ToolCall, delegation: str) -> bool:
        """End a delegation of the session; False if it has ended. Raises `AnswerRefused` for any other."""
        ctx = self._ctx
        called = ctx.events.record(ToolCalled(tool=CANCEL, detail=delegation), call.cause, **call.ids)
        known = self._open.find(delegation)
        if known is None or not known.stored:
            row = await ctx.store.read(FindDelegation(delegation=delegation))
            if row is not None and row.session == call.session:
                return False
        elif known.row.session == call.session:
            by = f"agent:{call.work.agent}"
            return await self._runner.cancel(known, Reason.CANCELLED_BY_AGENT, by, called)
        error = AnswerRefused(f"this session has no delegation {delegation!r}")
        record_refusal(ctx, call.work, CANCEL, error, error.reason, called)
        raise error
