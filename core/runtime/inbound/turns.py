"""Runs turns, one at a time per session in the order of admission; the agent's messages become intents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio.lowlevel

from trunkline.core.errors import BindingError, InvalidSend, StoreError, UnknownName, UsageError
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.events.gateway import ToolCalled, ToolRefused, TurnEnded, TurnStarted
from trunkline.core.hands.port import DelegationRequest
from trunkline.core.reasons import Reason
from trunkline.core.runtime.client_sends.target_resolution import ResolvedTarget, TargetResolver, ToolSend, refusal
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.inbound.intent_drafts import IntentDrafts, TurnMessage
from trunkline.core.runtime.inbound.live_turn import LiveTurn
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.store.commands import Enqueue, FinishTurn
from trunkline.core.store.queries import FindIntentFate, ReadTranscript
from trunkline.core.store.records import IntentRow, Work
from trunkline.core.values import (
    DelegationId,
    IntentId,
    IntentKind,
    IntentState,
    SessionId,
    TranscriptLine,
    WorkKind,
)
from trunkline.core.well_formed import describe, plain_text

#: number of concurrent turns
_WORKERS = 256
#: reasons for the destination of an answer, where the work does not state one
_REASONS = {WorkKind.CALLBACK: Reason.CALLBACK_TURN, WorkKind.CONTROL: Reason.CONTROL_REPLY}


class Turns:
    """Runs turns and stores their messages as intents."""

    def __init__(
        self,
        context: Context,
        *,
        deliver: Callable[[IntentRow, int | None], None],
        delegate: Callable[[Work, SessionId, int, DelegationRequest, int], Awaitable[DelegationId]],
        control: Callable[[Work, int], Awaitable[str]],
        targets: TargetResolver,
        preparer: Preparer,
    ) -> None:
        self._ctx = context
        self._control = control
        self._targets = targets
        self._preparer = preparer
        self._drafts = IntentDrafts(context)
        self._deliver = deliver
        self._delegate = delegate
        self.lanes: Lanes[str, tuple[Work, SessionId, int]] = Lanes(
            "turns", self._handle, workers=_WORKERS, now=context.env.steady
        )

    def start(self, work: Work, session: SessionId, cause: int) -> None:
        """Queue work behind the other work of its session (by id: the key may have changed)."""
        self._ctx.bindings.hold(work.binding)
        self.lanes.put(session, (work, session, cause))

    async def _handle(self, _lane: str, item: tuple[Work, SessionId, int]) -> None:
        work, session, cause = item
        ctx = self._ctx
        started = ctx.events.record(
            TurnStarted(
                agent=work.agent,
                session_id=session,
                session_key=work.session_key,
                work=work.kind,
                origin=work.place,
            ),
            cause,
            inbound=work.id,
            turn=work.turn,
            delegation=None if work.callback is None else work.callback.delegation,
        )
        answer, failure = await self._ask(work, started, session)
        await self._finish(work, session, answer, failure, started)
        self._ctx.bindings.release(work.binding, started)

    async def _ask(self, work: Work, started: int, session: SessionId) -> tuple[str | None, TurnEnded | None]:
        """Run the agent; returns its answer, or how it failed."""
        if work.kind is WorkKind.CONTROL:
            return await self._control(work, started), None
        agent = self._ctx.agents.get(work.agent)
        if agent is None:
            return None, TurnEnded(outcome="failed", reason=Reason.UNKNOWN_AGENT, detail=work.agent)
        turn = LiveTurn(self, work, started, session)
        try:
            with UserCode():
                answer: object = await agent.turn(turn)
        except Exception as error:  # noqa: BLE001 -- any error of an agent is recorded and ends the turn
            # An agent may turn the cancellation of a stopping gateway into an error: then the turn has not failed.
            await anyio.lowlevel.checkpoint_if_cancelled()
            return None, TurnEnded(outcome="failed", reason=Reason.AGENT_RAISED, detail=describe(error))
        finally:
            turn.end()
        text = plain_text(answer)
        if text is None and answer is not None:
            detail = f"the agent returned a value of type {type(answer).__name__} instead of a str or None"
            return None, TurnEnded(outcome="failed", reason=Reason.BAD_ANSWER, detail=detail)
        return text, None

    async def _finish(
        self, work: Work, session: SessionId, answer: str | None, failure: TurnEnded | None, started: int
    ) -> None:
        ctx = self._ctx
        intents: list[IntentRow] = []
        if answer is not None and work.reply_to is not None:
            what = TurnMessage(kind=IntentKind.REPLY, id=IntentId(f"{work.id}.reply"), text=answer, to=work.reply_to)
            try:
                row = await self._prepared(work, session, what, started)
            except InvalidSend as error:
                row, failure = None, TurnEnded(outcome="failed", reason=error.reason, detail=error.facts)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 -- a decision may be user code; the turn must end all the same
                row, failure = None, TurnEnded(outcome="failed", reason=Reason.BAD_ANSWER, detail=describe(error))
            intents = [row] if row is not None else []
        ended = failure or TurnEnded(outcome="replied" if intents else "silent")

        def story(new: tuple[IntentId, ...]) -> list[tuple[IntentRow, int]]:
            seq = ctx.events.record(ended, started, inbound=work.id, turn=work.turn)
            if not intents and failure is None:
                self._suppressed(work, answer, seq)
            reason = _REASONS.get(work.kind, work.reply_reason)
            if work.kind is WorkKind.CALLBACK and work.reply_reason is Reason.BOUND_DESTINATION:
                reason = work.reply_reason
            return [
                (row, ctx.record_prepared(row, targeted=False, reason=reason, cause=seq))
                for row in intents
                if row.id in new
            ]

        await ctx.store.write(FinishTurn(work=work, intents=intents, now=ctx.env.now()), story, then=self._deliver_all)

    def _deliver_all(self, prepared: list[tuple[IntentRow, int]]) -> None:
        for row, cause in prepared:
            self._deliver(row, cause)

    def _suppressed(self, work: Work, answer: str | None, cause: int) -> None:
        silent = answer is None or not answer.strip()
        self._ctx.events.record(
            IntentSuppressed(reason=Reason.NO_REPLY if silent else Reason.NO_ORIGIN, text=answer or ""),
            cause,
            inbound=work.id,
            turn=work.turn,
        )

    async def _prepared(self, work: Work, session: SessionId, what: TurnMessage, cause: int) -> IntentRow | None:
        """A prepared or cancelled intent; None if nothing is visible. Raises `InvalidSend`."""
        row = await self._preparer.prepare(self._drafts.of_turn(work, session, what), what.text, cause)
        return row if row.chunks or row.state is IntentState.CANCELLED else None

    async def tool_send(self, work: Work, call: int, text: str, asked: ToolSend, cause: int) -> None:
        """The message tool: queues an intent, which is durable on return."""
        ctx = self._ctx
        where = str(asked.to or work.reply_to or "nowhere")
        called = ctx.events.record(ToolCalled(tool="message", detail=where), cause, inbound=work.id, turn=work.turn)
        aim = await self._aim(work, asked, called)
        intent = IntentId(f"{work.id}.send{call}")
        if self._preparer.has_hooks and await ctx.store.read(FindIntentFate(intent=intent)) is not None:
            # The turn runs again after a crash, and the hooks have already seen the message.
            repeated = IntentSuppressed(reason=Reason.ALREADY_QUEUED, text=text)
            ctx.events.record(repeated, called if aim is None else aim.cause, turn=work.turn, intent=intent)
            return
        row = None if aim is None else await self._tool_intent(work, intent, text, asked, aim, called)
        if row is None:
            reason = Reason.NO_ORIGIN if aim is None else Reason.NO_REPLY
            ctx.events.record(IntentSuppressed(reason=reason, text=text), called, inbound=work.id, turn=work.turn)
            return
        await self._enqueue(work, row, text, asked, called if aim is None else aim.cause)

    async def _tool_intent(
        self, work: Work, intent: IntentId, text: str, asked: ToolSend, aim: ResolvedTarget, called: int
    ) -> IntentRow | None:
        """Prepare the tool's message. Raises `InvalidSend` to the agent."""
        what = TurnMessage(
            kind=IntentKind.TOOL,
            id=intent,
            text=text,
            to=aim.address,
            route=aim.route,
            session=aim.session,
        )
        try:
            return await self._prepared(work, asked.running, what, aim.cause)
        except InvalidSend as error:
            self.refuse(work, "message", error, refusal(error), called)
            raise

    async def _aim(self, work: Work, asked: ToolSend, called: int) -> ResolvedTarget | None:
        """The destination of a tool send; None: there is none. Raises `UsageError` to the agent for a bad target."""
        ids = {"inbound": work.id, "turn": work.turn}
        try:
            return await self._targets.aim(work.agent, asked, work.reply_to, called, ids)
        except UsageError as error:
            self.refuse(work, "message", error, refusal(error), called)
            raise

    def refuse(self, work: Work, tool: str, error: UsageError, reason: Reason, cause: int) -> None:
        """Record a refused tool call."""
        refused = ToolRefused(tool=tool, reason=reason, detail=error.facts)
        self._ctx.events.record(refused, cause, inbound=work.id, turn=work.turn)

    async def _enqueue(self, work: Work, row: IntentRow, text: str, asked: ToolSend, cause: int) -> None:
        """Store the tool's message and queue it for delivery."""
        ctx = self._ctx
        reason = Reason.EXPLICIT_TARGET if asked.to is not None else work.reply_reason

        def story(new: bool) -> int | None:
            if not new:
                ctx.events.record(
                    IntentSuppressed(reason=Reason.ALREADY_QUEUED, text=text), cause, turn=work.turn, intent=row.id
                )
                return None
            return ctx.record_prepared(row, targeted=asked.to is not None, reason=reason, cause=cause)

        def then(prepared: int | None) -> None:
            if prepared is not None:
                self._deliver(row, prepared)

        await ctx.store.write(Enqueue(intent=row, now=ctx.env.now()), story, then=then)

    async def history(self, session: SessionId) -> tuple[TranscriptLine, ...]:
        return await self._ctx.store.read(ReadTranscript(session=session))

    async def delegate(
        self, work: Work, session: SessionId, call: int, asked: DelegationRequest, cause: int
    ) -> DelegationId:
        """The delegation tool: refused before any work starts, or durable before the hand starts."""
        ctx, hand = self._ctx, asked.hand
        ids = {"inbound": work.id, "turn": work.turn}
        called = ctx.events.record(ToolCalled(tool="delegate", detail=f"{hand}: {asked.task}"), cause, **ids)
        try:
            with UserCode():
                known = ctx.hands.has(hand)
        except Exception as error:
            unknown = UnknownName(f"no hand {hand!r}: {describe(error)}")
            self.refuse(work, "delegate", unknown, Reason.UNKNOWN_HAND, called)
            raise unknown from error
        if not known:
            ctx.events.record(ToolRefused(tool="delegate", reason=Reason.UNKNOWN_HAND, detail=hand), called, **ids)
            raise UnknownName(f"no hand {hand!r} ({Reason.UNKNOWN_HAND.sentence})")
        try:
            return await self._delegate(work, session, call, asked, called)
        except BindingError as error:
            self.refuse(work, "delegate", error, error.reason, called)
            raise
