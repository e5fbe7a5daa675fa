"""Runs turns, one at a time per session in the order of admission; the agent's messages become intents."""

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import anyio
import anyio.abc
import anyio.lowlevel
import msgspec

from trunkline.core.delivery.answers import AnswerFacts, SaidInTurn, undecided
from trunkline.core.delivery.notes import NOTICE_SUFFIX
from trunkline.core.errors import AgentFailed, InvalidSend, StoreError, TrunklineError
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.events.gateway import TurnEnded, TurnStarted
from trunkline.core.prompts import Prompt, PromptQuestion, check_prompts
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import TurnNote
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.context import Context, record_callback
from trunkline.core.runtime.delegation.hand_tools import HandTools
from trunkline.core.runtime.delegation.task_turns import TaskTurns
from trunkline.core.runtime.heartbeat.replies import Replies
from trunkline.core.runtime.inbound.live_turn import LiveTurn
from trunkline.core.runtime.intent_drafts import TurnMessage
from trunkline.core.runtime.lanes import HELD
from trunkline.core.runtime.message_tool.message_tool import MessageTool
from trunkline.core.runtime.message_tool.results import SaidInTurns, TurnReply
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.own_notices import UnheardNotices
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.suspects import PROBATION, Suspects
from trunkline.core.runtime.turn_queue import QueuedTurn, TurnQueue
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.states.delegation import CallbackEvent
from trunkline.core.store.commands import BeginRun, FinishTurn, TurnFinish
from trunkline.core.store.delegations import BeginCallback, CallbackBegun
from trunkline.core.store.port import answer
from trunkline.core.store.queries import OpenIntent
from trunkline.core.text.model_text import ModelText
from trunkline.core.values import Address, IntentId, IntentKind, IntentState, SessionId, WorkKind
from trunkline.core.well_formed import describe, plain_text

#: answers on their way at which those that have ended are forgotten
_MANY = 256
#: reasons for the destination of an answer, where the work does not state one
_REASONS = {WorkKind.CALLBACK: Reason.CALLBACK_TURN, WorkKind.CONTROL: Reason.CONTROL_REPLY}


class UnusablePrompts(TrunklineError):
    """The system prompts of a turn cannot be composed."""


class _TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn, decided: what is recorded of it, and the message that is stored with it."""

    ended: TurnEnded
    #: the answer, or a notice instead of it; none: no message is sent
    row: IntentRow | None = None
    #: why the message has its destination
    reason: Reason = Reason.REPLY_TO_ORIGIN
    #: why the answer `text` is not sent; none: there is no answer, or it is sent
    suppressed: Reason | None = None
    text: str = ""

    @property
    def failed(self) -> bool:
        return self.ended.outcome == "failed"

    @property
    def note(self) -> TurnNote:
        # A turn that failed has its reason also if the person got a notice.
        return TurnNote(
            outcome=self.ended.outcome, reason=self.ended.reason or self.suppressed, detail=self.ended.detail
        )

    @property
    def callback_event(self) -> CallbackEvent:
        if self.failed:
            return CallbackEvent.FAIL
        return CallbackEvent.SUPPRESS if self.row is None else CallbackEvent.ENQUEUE


class Turns:
    def __init__(
        self,
        context: Context,
        *,
        queue: TurnQueue,
        hands: HandTools,
        tasks: TaskTurns,
        control: Callable[[Work, int], Awaitable[str]],
        message_tool: MessageTool,
        preparer: Preparer,
        unheard: UnheardNotices,
        suspects: Suspects,
        replies: Replies,
    ) -> None:
        self._ctx = context
        self._queue = queue
        self._control = control
        self._message_tool = message_tool
        self._preparer = preparer
        self._drafts = preparer.drafts
        self._hands = hands
        self._tasks = tasks
        self._unheard = unheard
        self._suspects = suspects
        self._replies = replies
        self._said = SaidInTurns(context, preparer.intents)
        self.answers = LastAnswers(context, preparer.intents)

    def start(self, group: anyio.abc.TaskGroup) -> None:
        self._queue.lanes.start(group, self._handle)

    async def _handle(self, lane: str, turn: QueuedTurn) -> float | None:
        """Decide on the turn at the head of a session: whether it runs, and where.

        A first run and a later one are runs; a turn that every allowed run has ended with its process is given up.
        """
        most, serves = self._ctx.config.turns.max_attempts, turn.work.serves
        given_up = turn.excess(most) is not None
        end_or_run = self._give_up if given_up else self._run

        async def run_apart() -> None:
            # Outside the worker pool, so that its wait does not occupy a worker.
            await end_or_run(turn)
            self._queue.lanes.finish_head(lane)

        name = f"turn {turn.work.turn}"
        if turn.runs is not None and turn.runs.ended and not given_up:
            self._suspects.run(run_apart, name=name, runs=turn.runs.ended, most=most)
        elif serves is not None:
            # Tasks of hands are bounded by `hands.limits`, and do not take the places of people's turns.
            self._ctx.run_apart(run_apart, name=name)
        else:
            await end_or_run(turn)
            return None
        return HELD

    async def _run(self, turn: QueuedTurn) -> None:
        """Run a turn: from what has to be known before it, to its end with everything that it says."""
        ctx, session, cause, attempt = self._ctx, turn.session, turn.cause, turn.attempts + 1
        # A process that ends in this wait has not run the turn.
        await self.answers.wait_for_last(session)
        if turn.runs is not None:
            # Stored before the run, which may end the process. A first run has no mark, which would cost a commit.
            await ctx.store.write(BeginRun(work=turn.work.id), answer)
            self._note_outlived(turn)
        asked = self._queue.begin(turn.work)
        if asked is None:
            turn.hold.release(cause)
            return
        turn = msgspec.structs.replace(turn, work=asked)
        if turn.work.serves is not None and self._tasks.is_over(turn.work):
            with turn.hold:
                await self._tasks.drop(turn.work, cause)
            return
        work = await self._begin_callback(turn.work, cause)
        if work is None:
            turn.hold.release(cause)
            self._tasks.note_discarded(turn.work)
            return
        body = TurnStarted(
            agent=work.agent,
            session_id=session,
            session_key=work.session_key,
            work=work.kind,
            origin=work.place,
            attempt=attempt,
        )
        delegation = None if work.callback is None else work.callback.delegation
        started = ctx.events.record(body, cause, inbound=work.id, turn=work.turn, delegation=delegation)
        with turn.hold as hold:
            hold.cause = started
            await self._repeat_notices(work, started)
            reply = await self._ask_agent(work, session, started, again=attempt > 1)
            if work.serves is not None:
                result = None if reply.answer is None else reply.answer.as_result
                await self._tasks.finish(work, result, reply.failure, started)
            elif work.heartbeat is not None:
                await self._replies.finish(work, session, reply, started)
            else:
                await self._store_end(work, session, await self._end_of(work, session, reply, started), started)

    def _note_outlived(self, turn: QueuedTurn) -> None:
        """Note in the background when a run has lasted for a while: a later death does not follow the start at once."""
        work = turn.work.id

        async def note() -> None:
            await anyio.sleep(PROBATION)
            if self._queue.has_session(turn.session):
                self._ctx.store.submit(BeginRun(work=work, outlived=True), answer)

        self._ctx.run_apart(note, name=f"outlived {work}")

    async def _give_up(self, turn: QueuedTurn) -> None:
        """End a turn that every run of it has ended with the process, and notify the person."""
        ctx, work, cause = self._ctx, self._queue.begin(turn.work), turn.cause
        if work is None:
            turn.hold.release(cause)
            return
        ended = TurnEnded(outcome="failed", reason=Reason.RUNS_EXHAUSTED, attempts=turn.attempts)
        if work.serves is not None:
            with turn.hold:
                await self._tasks.finish(work, None, ended, cause)
            return
        if await self._begin_callback(work, cause) is None:
            # Nobody waits for a discarded report.
            turn.hold.release(cause)
            return
        await self._repeat_notices(work, cause)
        row = None
        if turn.excess(ctx.config.turns.max_attempts) == 0:
            # Hooks run on the notice too. If a hook ends the process, the next process sends no notice.
            await ctx.store.write(BeginRun(work=work.id), answer)
            row = await self._prepare_notice(
                work, turn.session, ctx.config.turns.failed_notice, cause, Reason.RUNS_EXHAUSTED
            )
        with turn.hold as hold:
            hold.cause = cause
            await self._store_end(work, turn.session, _TurnEnd(ended=ended, row=row, reason=Reason.RUNS_NOTICE), cause)

    async def _repeat_notices(self, work: Work, cause: int) -> None:
        if work.kind is WorkKind.MESSAGE and work.place is not None:
            await self._unheard.repeat(work.place, cause)

    async def _begin_callback(self, work: Work, cause: int) -> Work | None:
        """Put a report into the hands of its agent; returns its work with the whole text of the result.

        None if an operator has discarded the callback. Work that is no callback is returned unchanged.
        """
        if work.callback is None:
            return work

        delegation = work.callback.delegation

        def story(begun: CallbackBegun) -> CallbackBegun:
            record_callback(self._ctx.events, begun.change, cause, inbound=work.id, turn=work.turn)
            if not begun.due:
                ended = TurnEnded(outcome="silent", reason=Reason.DISCARDED)
                self._ctx.events.record(ended, cause, inbound=work.id, turn=work.turn, delegation=delegation)
            return begun

        begun = await self._ctx.store.write(BeginCallback(delegation=delegation, work=work), story)
        if not begun.due:
            return None
        return work if begun.text is None else msgspec.structs.replace(work, text=begun.text)

    async def _ask_agent(self, work: Work, session: SessionId, started: int, *, again: bool) -> TurnReply:
        """Run the agent. `again`: an earlier process may have made the calls of this turn."""
        if work.kind is WorkKind.CONTROL:
            return TurnReply(answer=ModelText(text=await self._control(work, started)))
        agent = self._ctx.agents.get(work.agent)
        if agent is None:
            return _failed(Reason.UNKNOWN_AGENT, work.agent)
        try:
            prompts = self._compose_prompts(work)
        except UnusablePrompts as error:
            # Without its prompts, the model would take a hand's result for a user message.
            return _failed(Reason.PROMPT_FAILED, error.facts)
        said: list[SaidInTurn] = []
        turn = LiveTurn(
            self._ctx, self._message_tool, self._hands, work, started, session, again=again, prompts=prompts, said=said
        )
        reply: object = None
        try:
            if work.serves is None:
                with UserCode():
                    reply = await agent.turn(turn)
            else:
                with self._tasks.running(work) as scope, UserCode():
                    reply = await agent.turn(turn)
                if scope.cancelled_caught:
                    return TurnReply(failure=TurnEnded(outcome="silent", reason=Reason.PARENT_ENDED))
        except Exception as error:  # noqa: BLE001 -- any error of an agent is recorded and ends the turn
            # An agent may turn the cancellation of a stopping gateway into an error: then the turn has not failed.
            await anyio.lowlevel.checkpoint_if_cancelled()
            if isinstance(error, AgentFailed):
                return _failed(error.reason, error.facts)
            return _failed(Reason.AGENT_RAISED, describe(error))
        finally:
            turn.end()
        text = plain_text(reply)
        if text is None and reply is not None:
            what = f"the agent returned a value of type {type(reply).__name__} instead of a str or None"
            return _failed(Reason.BAD_ANSWER, what)
        return self._read_answer(text, said, again=again)

    def _read_answer(self, text: str | None, said: Sequence[SaidInTurn], *, again: bool) -> TurnReply:
        if text is None:
            return TurnReply(said=said, again=again)
        try:
            answer = cast("object", self._ctx.decisions.read_answer(text, self._ctx.config.rules))
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; the turn must end anyway
            return _failed(Reason.BAD_ANSWER, describe(error))
        if not isinstance(answer, ModelText):
            return _failed(Reason.BAD_ANSWER, f"the answer was read as a {type(answer).__name__}")
        return TurnReply(answer=answer, said=said, again=again)

    def _compose_prompts(self, work: Work) -> tuple[Prompt, ...]:
        """The prompts of a turn from the configuration of this moment. Raises `UnusablePrompts`."""
        ctx = self._ctx
        question = PromptQuestion(agent=work.agent, reply_to=work.reply_to, callback=work.callback is not None)
        try:
            # The decision may be user code.
            with UserCode():
                prompts: object = ctx.decisions.compose_prompts(question, ctx.config)
        except Exception as error:
            raise UnusablePrompts(describe(error)) from error
        wrong = check_prompts(prompts)
        if wrong:
            raise UnusablePrompts(wrong)
        assert isinstance(prompts, tuple)
        return prompts

    async def _end_of(self, work: Work, session: SessionId, reply: TurnReply, started: int) -> _TurnEnd:
        """The end of a turn by the reply of its agent: with an answer, silent, or failed, perhaps with a notice."""
        failure, suppressed, row = reply.failure, None, None
        unless: tuple[IntentId, ...] = ()
        if failure is None:
            said = await self._said.find_repeated(work, reply, reply.answer, work.reply_to)
            unless = undecided(said)
            suppressed, failure = self._why_suppressed(work, reply, () if unless else said)
            if suppressed is Reason.ALREADY_SENT and said and all(sent.state is IntentState.UNKNOWN for sent in said):
                row = await self._prepare_notice(
                    work, session, self._ctx.config.delivery.doubt_notice, started, suppressed
                )
                return _TurnEnd(
                    ended=TurnEnded(outcome="silent"),
                    row=row,
                    reason=Reason.DOUBT_NOTICE,
                    suppressed=suppressed,
                    text=reply.text or "",
                )
        if failure is None and suppressed is None and reply.answer is not None and work.reply_to is not None:
            row, failure = await self._prepare_answer(work, session, reply.answer, work.reply_to, started, unless)
        if failure is not None:
            row = await self._prepare_notice(
                work, session, self._ctx.config.turns.error_notice, started, failure.reason
            )
            return _TurnEnd(ended=failure, row=row, reason=Reason.ERROR_NOTICE)
        if row is None:
            suppressed = suppressed or Reason.NO_REPLY
            return _TurnEnd(ended=TurnEnded(outcome="silent"), suppressed=suppressed, text=reply.text or "")
        reason = _REASONS.get(work.kind, work.reply_reason)
        if work.reply_reason is Reason.BOUND_DESTINATION and work.kind is WorkKind.CALLBACK:
            reason = work.reply_reason
        return _TurnEnd(ended=TurnEnded(outcome="replied"), row=row, reason=reason)

    def _why_suppressed(
        self, work: Work, reply: TurnReply, said: Sequence[SaidInTurn]
    ) -> tuple[Reason | None, TurnEnded | None]:
        """Why the answer of a turn is not sent, if it is not; or how deciding on it failed."""
        media = () if reply.answer is None else reply.answer.media
        facts = AnswerFacts(work=work.kind, answer=reply.text, media=media, reply_to=work.reply_to, said=said)
        try:
            why = cast("object", self._ctx.decisions.decide_answer(facts))
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; the turn must end anyway
            return None, _failed(Reason.BAD_ANSWER, describe(error)).failure
        if why is None or isinstance(why, Reason):
            return why, None
        what = f"the decision on the answer is of type {type(why).__name__} instead of a Reason or None"
        return None, _failed(Reason.BAD_ANSWER, what).failure

    async def _prepare_answer(
        self, work: Work, session: SessionId, answer: ModelText, to: Address, cause: int, unless: tuple[IntentId, ...]
    ) -> tuple[IntentRow | None, TurnEnded | None]:
        """The prepared answer, None if nothing of it is visible; or how preparing it failed."""
        try:
            what = await self._drafts.make_answer(work, answer, to, unless=unless)
            return await self._prepare(work, session, what, cause), None
        except InvalidSend as error:
            return None, _failed(error.reason, error.facts).failure
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; the turn must end anyway
            return None, _failed(Reason.BAD_ANSWER, describe(error)).failure

    async def _prepare_notice(
        self, work: Work, session: SessionId, text: str, cause: int, why: Reason | None
    ) -> IntentRow | None:
        """A notice to the person whose message is not answered; None if there is nothing to say, or no place for it."""
        if work.reply_to is None or not text.strip():
            return None
        name = IntentId(f"{work.id}{NOTICE_SUFFIX}")
        try:
            what = TurnMessage(kind=IntentKind.NOTICE, id=name, text=text, to=work.reply_to)
            return await self._prepare(work, session, what, cause)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 -- what makes answers unusable may do so with notices
            # The turn must end anyway, and the operator learns why nobody was notified.
            failed = IntentSuppressed(
                reason=why or Reason.BAD_ANSWER, text=text, detail=f"no notice: {describe(error)}"
            )
            self._ctx.events.record(failed, cause, inbound=work.id, turn=work.turn, intent=name)
            return None

    async def _prepare(self, work: Work, session: SessionId, what: TurnMessage, cause: int) -> IntentRow | None:
        """A prepared or cancelled intent; None if nothing is visible. Raises `InvalidSend`."""
        draft = self._drafts.of_turn(work, session, what)
        mark = None if work.origin is None else work.origin.mark_at(draft.address)
        row = await self._preparer.prepare(draft, what.text, cause, mark, work)
        return None if row.is_invisible else row

    async def _store_end(self, work: Work, session: SessionId, end: _TurnEnd, cause: int) -> None:
        """Store the end of a turn together with the message, record both, and queue the message."""
        ctx, row = self._ctx, end.row

        def story(done: TurnFinish) -> tuple[IntentRow, int] | None:
            ids = {"inbound": work.id, "turn": work.turn}
            seq = ctx.events.record(end.ended, cause, **ids)
            if end.suppressed is not None:
                ctx.events.record(IntentSuppressed(reason=end.suppressed, text=end.text), seq, **ids)
            record_callback(ctx.events, done.callback, seq, **ids)
            self._replies.record_end(work, end.ended, seq)
            if row is None or row.id not in done.new:
                return None
            return row, ctx.record_prepared(row, targeted=False, reason=end.reason, cause=seq)

        def then(prepared: tuple[IntentRow, int] | None) -> None:
            if prepared is not None:
                self.answers.note_queued(session, prepared[0])
                self._preparer.deliver(*prepared)

        finish = FinishTurn(
            work=work,
            intents=() if row is None else (row,),
            now=ctx.env.now(),
            ended=end.note,
            callback=None if work.callback is None else end.callback_event,
            callback_reason=None if work.callback is None else end.note.reason,
        )
        await ctx.store.write(finish, story, then=then)


def _failed(reason: Reason, detail: str) -> TurnReply:
    return TurnReply(failure=TurnEnded(outcome="failed", reason=reason, detail=detail))


class LastAnswers:
    """Remembers the last answer of each session, whose end its next turn waits for. See `turns.await_answer`.

    So an agent is shown of its own answers what the platform has accepted.
    """

    def __init__(self, context: Context, intents: OpenIntents) -> None:
        self._ctx, self._intents = context, intents
        #: the intent of the answer, and an event that is set when it has ended
        self._last: dict[SessionId, tuple[IntentId, anyio.Event]] = {}
        self._many = _MANY

    def note_queued(self, session: SessionId, row: IntentRow) -> None:
        if not row.is_cancelled:
            self._remember(session, row.id)

    def note_left(self, intent: OpenIntent) -> None:
        """Have the first turn of a session wait for an answer that an earlier process left open."""
        if intent.answers is not None:
            self._remember(intent.answers, intent.id)

    def _remember(self, session: SessionId, intent: IntentId) -> None:
        if not self._ctx.config.turns.await_answer:
            return
        if len(self._last) >= self._many:
            self._last = {key: known for key, known in self._last.items() if not known[1].is_set()}
            # A restart may leave many: they are not looked through for each new one.
            self._many = max(_MANY, 2 * len(self._last))
        self._forget(session)
        self._last[session] = intent, self._intents.wait_for(intent)

    async def wait_for_last(self, session: SessionId) -> None:
        """Wait for the end of the last answer of a session, at most for the configured time."""
        last = self._last.get(session)
        if last is None:
            return
        with anyio.move_on_after(self._ctx.config.turns.await_answer):
            await last[1].wait()
        self._forget(session)

    def _forget(self, session: SessionId) -> None:
        last = self._last.pop(session, None)
        if last is not None:
            self._intents.forget(*last)
