"""Runs delegations: durable before the hand starts; `completions` reports the one result of each."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.abc

from trunkline.core.bindings.bind_request import SPAWN, BindRequest, spawn_request
from trunkline.core.bindings.records import Placement, TargetKind
from trunkline.core.events.hands import DelegationAccepted, DelegationStarted
from trunkline.core.hands.capture import origin_of
from trunkline.core.hands.delegation import DelegationRow
from trunkline.core.hands.port import DelegationRequest, HandTask
from trunkline.core.hands.results import HandOutcome, HandResult
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.runtime.bindings.service import SessionBindingService
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.completions import CompletionReporter, ids_of_delegation
from trunkline.core.runtime.delegation.hand_run import run_hand
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.suspects import Suspects
from trunkline.core.store.delegations import AcceptDelegation, StartDelegation
from trunkline.core.store.port import answer
from trunkline.core.store.records import IntentRow, Work
from trunkline.core.values import ChatKind, DelegationId, SessionId


class DelegationRunner:
    """Runs delegations concurrently and reports their results."""

    def __init__(
        self,
        context: Context,
        *,
        deliver: Callable[[IntentRow, int | None], None],
        preparer: Preparer,
        bindings: SessionBindingService,
        suspects: Suspects,
    ) -> None:
        self._ctx = context
        self._suspects = suspects
        self._bindings = bindings
        self._reporter = CompletionReporter(context, deliver=deliver, preparer=preparer, bindings=bindings)
        self._group: anyio.abc.TaskGroup | None = None

    def connect(self, *, start_turn: Callable[[Work, SessionId, int], None], busy: Callable[[str], bool]) -> None:
        """Set the callbacks into turns. Set late: turns and delegations depend on each other."""
        self._reporter.connect(start_turn=start_turn, busy=busy)

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
            reply_to=work.reply_to,
            origin=origin_of(work, session, ctx.env.now()),
            timeout=ctx.config.hands.of(hand).deadline,
            open_on=work.open_on if work.reply_to == work.home else None,
            accepted_at=ctx.env.now(),
        )

        def story(new: bool) -> int | None:
            if not new:
                return None
            body = DelegationAccepted(
                hand=hand,
                task=task,
                origin=row.reply_to,
                session_key=row.session_key,
                deadline=row.accepted_at + ctx.config.hands.of(hand).deadline,
            )
            return ctx.events.record(body, cause, **ids_of_delegation(row))

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

    def recover(self, row: DelegationRow, runs: int, cause: int) -> None:
        """Run a delegation whose process died again if that is allowed, else report it as lost.

        `runs`: how many of its runs ended with their process.
        """
        settings = self._ctx.config.hands.of(row.hand)
        allowed = settings.on_restart == "rerun" or row.state == "accepted"
        if allowed and runs < settings.max_attempts:
            if runs:
                self._suspects.run(lambda: self._run(row, cause), name=f"hand {row.id}")
            else:
                self._run_in_background(row, cause)
            return
        assert self._group is not None
        reason = Reason.RUNS_EXHAUSTED if allowed else Reason.PROCESS_DIED
        lost = HandResult(outcome=HandOutcome.LOST, text=reason.sentence)
        self._group.start_soon(self._reporter.report, row, lost, reason, cause, name=f"hand {row.id} lost")

    def _run_in_background(self, row: DelegationRow, cause: int) -> None:
        assert self._group is not None
        self._group.start_soon(self._run, row, cause, name=f"hand {row.id}")

    async def _run(self, row: DelegationRow, cause: int) -> None:
        ctx = self._ctx
        await ctx.store.write(StartDelegation(delegation=row.id, now=ctx.env.now()), answer)
        started = ctx.events.record(DelegationStarted(hand=row.hand), cause, **ids_of_delegation(row))
        task = HandTask(delegation=row.id, hand=row.hand, task=row.task)
        result, reason = await run_hand(ctx.hands, task, ctx.config.hands.of(row.hand).deadline)
        await self._reporter.report(row, result, reason, started)
