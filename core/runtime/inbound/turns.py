"""Runs turns, one at a time per session in the order of admission; the agent's messages become intents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from trunkline.core.agent import CALLBACK_PROMPT, CallbackFacts
from trunkline.core.errors import BindingError, InvalidSend, UnknownName, UsageError
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.events.gateway import ToolCalled, ToolRefused, TurnEnded, TurnStarted
from trunkline.core.hands.port import DelegationRequest
from trunkline.core.reasons import Reason
from trunkline.core.runtime.client_sends.target_resolution import ResolvedTarget, TargetResolver, ToolSend, refusal
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.inbound.intent_drafts import IntentDrafts, TurnMessage
from trunkline.core.runtime.lanes import Lanes
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import Enqueue, FinishTurn
from trunkline.core.store.queries import FindIntentFate, ReadTranscript
from trunkline.core.store.records import IntentRow, Work
from trunkline.core.values import (
    Address,
    DelegationId,
    IntentId,
    IntentKind,
    IntentState,
    Peer,
    SessionId,
    TranscriptLine,
    TurnId,
    WorkKind,
)
from trunkline.core.well_formed import well_formed

#: number of concurrent turns
_WORKERS = 256
#: reasons for the destination of an answer, where the work does not state one
_REASONS = {WorkKind.CALLBACK: Reason.CALLBACK_TURN, WorkKind.CONTROL: Reason.CONTROL_REPLY}


class LiveTurn:
    """The `trunkline.core.agent.Turn` of a running agent."""

    def __init__(self, turns: Turns, work: Work, started: int, session_id: SessionId) -> None:
        self._turns = turns
        self._work = work
        self._started = started
        self._calls = 0
        self.id: TurnId = work.turn
        self.agent: str = work.agent
        self.session_key: str = work.session_key
        self.session_id: SessionId = session_id
        self.work: WorkKind = work.kind
        self.text: str = work.text
        self.peer: Peer = work.peer
        self.place: Address | None = work.place
        self.callback: CallbackFacts | None = work.callback
        self.prompt: str | None = None if work.callback is None else CALLBACK_PROMPT

    async def send(
        self,
        text: str,
        to: Address | str | None = None,
        *,
        channel: str | None = None,
        account: str | None = None,
        thread: str | None = None,
        session: str | None = None,
    ) -> None:
        self._calls += 1
        asked = ToolSend(
            running=self.session_id, to=to, channel=channel, account=account, thread=thread, session=session
        )
        await self._turns.tool_send(self._work, self._calls, text, asked, self._started)

    async def delegate(self, hand: str, task: str, *, thread: bool | None = None) -> DelegationId:
        self._calls += 1
        asked = DelegationRequest(hand=hand, task=task, thread=thread)
        return await self._turns.delegate(self._work, self.session_id, self._calls, asked, self._started)

    async def history(self) -> tuple[TranscriptLine, ...]:
        return await self._turns.history(self.session_id)


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
        try:
            answer = await agent.turn(LiveTurn(self, work, started, session))
            return (None if answer is None else well_formed(answer)), None
        except Exception as error:  # noqa: BLE001 -- any error of an agent is recorded and ends the turn
            detail = f"{type(error).__name__}: {error}"
            return None, TurnEnded(outcome="failed", reason=Reason.AGENT_RAISED, detail=detail)

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
        ctx, text = self._ctx, well_formed(text)
        where = well_formed(str(asked.to or work.reply_to or "nowhere"))
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
            self._refused(work, error, called)
            raise

    async def _aim(self, work: Work, asked: ToolSend, called: int) -> ResolvedTarget | None:
        """The destination of a tool send; None: there is none. Raises `UsageError` to the agent for a bad target."""
        ids = {"inbound": work.id, "turn": work.turn}
        try:
            return await self._targets.aim(work.agent, asked, work.reply_to, called, ids)
        except UsageError as error:
            self._refused(work, error, called)
            raise

    def _refused(self, work: Work, error: UsageError, called: int) -> None:
        refused = ToolRefused(tool="message", reason=refusal(error), detail=well_formed(error.facts))
        self._ctx.events.record(refused, called, inbound=work.id, turn=work.turn)

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
        ctx, task, hand = self._ctx, well_formed(asked.task), asked.hand
        ids = {"inbound": work.id, "turn": work.turn}
        called = ctx.events.record(ToolCalled(tool="delegate", detail=f"{hand}: {task}"), cause, **ids)
        if not ctx.hands.has(hand):
            ctx.events.record(ToolRefused(tool="delegate", reason=Reason.UNKNOWN_HAND, detail=hand), called, **ids)
            raise UnknownName(f"no hand {hand!r} ({Reason.UNKNOWN_HAND.sentence})")
        try:
            return await self._delegate(
                work, session, call, DelegationRequest(hand=hand, task=task, thread=asked.thread), called
            )
        except BindingError as error:
            refused = ToolRefused(tool="delegate", reason=error.reason, detail=well_formed(error.facts))
            ctx.events.record(refused, called, **ids)
            raise
