"""Runs turns, one at a time per session in the order of admission; the agent's messages become intents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import cast

import anyio.lowlevel
import msgspec

from trunkline.core.delivery.answers import AnswerFacts, SaidInTurn
from trunkline.core.delivery.notes import NOTICE_SUFFIX
from trunkline.core.errors import AgentFailed, InvalidSend, StoreError, UsageError
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.events.gateway import ToolRefused, TurnEnded, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import TurnNote
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.callback_story import record_callback
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.task_turns import TaskTurns
from trunkline.core.runtime.heartbeat.replies import Replies
from trunkline.core.runtime.inbound.callback_turns import begin_callback
from trunkline.core.runtime.inbound.last_answers import LastAnswers
from trunkline.core.runtime.inbound.live_turn import Hands, LiveTurn
from trunkline.core.runtime.inbound.turn_prompts import UnusablePrompts, prompts_of
from trunkline.core.runtime.intent_drafts import IntentDrafts, TurnMessage
from trunkline.core.runtime.lanes import HELD, Lanes
from trunkline.core.runtime.live_bindings import Hold
from trunkline.core.runtime.message_tool.message_tool import MessageTool
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.runtime.suspects import Suspects
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.states.delegation import CallbackEvent
from trunkline.core.store.commands import BeginRun, FinishTurn, TurnFinish
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ReadTranscript
from trunkline.core.values import (
    IntentId,
    IntentKind,
    SessionId,
    TranscriptLine,
    WorkKind,
)
from trunkline.core.well_formed import describe, plain_text

#: number of concurrent turns
_WORKERS = 256
#: reasons for the destination of an answer, where the work does not state one
_REASONS = {WorkKind.CALLBACK: Reason.CALLBACK_TURN, WorkKind.CONTROL: Reason.CONTROL_REPLY}


class _Queued(msgspec.Struct, frozen=True, kw_only=True):
    """Work in the lane of its session."""

    work: Work
    session: SessionId
    cause: int
    #: its binding does not end before it is done
    hold: Hold
    #: how many counted runs ended with their process; None: no process has begun it
    runs: int | None = None

    @property
    def attempts(self) -> int:
        """Runs that ended with their process. The first is not counted in the store, so it is assumed."""
        return 0 if self.runs is None else self.runs + 1


class Turns:
    """Runs turns and stores their messages as intents."""

    def __init__(
        self,
        context: Context,
        *,
        deliver: Callable[[IntentRow, int | None], None],
        hands: Hands,
        tasks: TaskTurns,
        control: Callable[[Work, int], Awaitable[str]],
        message_tool: MessageTool,
        preparer: Preparer,
        suspects: Suspects,
        replies: Replies,
        settler: Settler,
    ) -> None:
        self._ctx = context
        self._control = control
        self._message_tool = message_tool
        self._preparer = preparer
        self._drafts = IntentDrafts(context)
        self._deliver = deliver
        self._hands = hands
        self._tasks = tasks
        self._suspects = suspects
        self._replies = replies
        self.answers = LastAnswers(context, settler)
        self.lanes: Lanes[str, _Queued] = Lanes("turns", self._handle, workers=_WORKERS, now=context.env.steady)

    def start(self, work: Work, session: SessionId, cause: int) -> None:
        """Queue work behind the other work of its session (by id: the key may have changed)."""
        self._queue(work, session, None, cause)

    def recover(self, work: Work, session: SessionId, runs: int, cause: int) -> None:
        """Queue work that an earlier process may have begun; `runs` counted ones ended with their process."""
        self._queue(work, session, runs, cause)

    def _queue(self, work: Work, session: SessionId, runs: int | None, cause: int) -> None:
        hold = self._ctx.bindings.hold(work.binding)
        self.lanes.put(session, _Queued(work=work, session=session, cause=cause, hold=hold, runs=runs))

    def session(self, session: SessionId) -> bool:
        """Whether a session has work."""
        return self.lanes.busy(session)

    def agent(self, agent: str, kind: WorkKind | None = None) -> bool:
        """Whether an agent has work, of a kind if one is given."""
        return any(one.work.agent == agent and kind in (None, one.work.kind) for one in self.lanes.heads())

    async def _handle(self, lane: str, item: _Queued) -> float | None:
        name, most = f"turn {item.work.turn}", self._ctx.config.turns.max_attempts
        if item.runs and item.attempts < most:
            self._suspects.run(lambda: self._run_apart(lane, item), name=name, runs=item.runs, most=most)
        elif item.work.serves is not None:
            # Tasks of hands are bounded by `hands.limits`, and do not take the places of people's turns.
            self._tasks.apart(lambda: self._run_apart(lane, item), name)
        else:
            await self._proceed(item)
            return None
        return HELD

    async def _proceed(self, item: _Queued) -> None:
        if item.runs is None:
            await self._run(item, 1)
        elif item.attempts >= self._ctx.config.turns.max_attempts:
            await self._give_up(item)
        else:
            await self._run_again(item)

    async def _run_apart(self, lane: str, item: _Queued) -> None:
        """Run a turn outside of the workers, whom its wait must not occupy."""
        await self._proceed(item)
        self.lanes.done(lane)

    async def _run_again(self, item: _Queued) -> None:
        # Stored before the run, which may end the process. A first run has no such mark, and costs no commit for it.
        await self._ctx.store.write(BeginRun(work=item.work.id), answer)
        await self._run(item, item.attempts + 1)

    async def _run(self, item: _Queued, attempt: int) -> None:
        ctx, session = self._ctx, item.session
        if item.work.serves is not None and self._tasks.is_over(item.work):
            with item.hold:
                await self._tasks.drop(item.work, item.cause)
            return
        await self.answers.known(session)
        work = await begin_callback(ctx, item.work, item.cause)
        if work is None:
            item.hold.release(item.cause)
            self._tasks.discarded(item.work)
            return
        started = ctx.events.record(
            TurnStarted(
                agent=work.agent,
                session_id=session,
                session_key=work.session_key,
                work=work.kind,
                origin=work.place,
                attempt=attempt,
            ),
            item.cause,
            inbound=work.id,
            turn=work.turn,
            delegation=None if work.callback is None else work.callback.delegation,
        )
        with item.hold as hold:
            hold.cause = started
            said: list[SaidInTurn] = []
            answer, failure = await self._ask(work, started, session, attempt, said)
            if work.serves is not None:
                await self._tasks.finish(work, answer, failure, started)
            elif work.heartbeat is None:
                await self._finish(work, session, answer, failure, started, said)
            else:
                await self._replies.finish(work, session, answer, failure, started)

    async def _give_up(self, item: _Queued) -> None:
        """End a turn that every run of it has ended with the process, and notify the person."""
        ctx, work, count = self._ctx, item.work, item.attempts
        ended = TurnEnded(outcome="failed", reason=Reason.RUNS_EXHAUSTED, attempts=count)
        if work.serves is not None:
            with item.hold:
                await self._tasks.finish(work, None, ended, item.cause)
            return
        row = None
        if count == ctx.config.turns.max_attempts:
            # Hooks see the notice too. If they are what ends the process, the next one does without it.
            await ctx.store.write(BeginRun(work=work.id), answer)
            row = await self._notice(work, item.session, ctx.config.turns.failed_notice, item.cause)

        def story(done: TurnFinish) -> list[tuple[IntentRow, int]]:
            seq = ctx.events.record(ended, item.cause, inbound=work.id, turn=work.turn)
            record_callback(ctx.events, done.callback, seq, inbound=work.id, turn=work.turn)
            self._replies.ended(work, ended, seq)
            if row is None or row.id not in done.new:
                return []
            return [(row, ctx.record_prepared(row, targeted=False, reason=Reason.RUNS_NOTICE, cause=seq))]

        intents = [] if row is None else [row]
        with item.hold as hold:
            hold.cause = item.cause
            finish = FinishTurn(
                work=work,
                intents=intents,
                now=ctx.env.now(),
                ended=TurnNote(outcome=ended.outcome, reason=ended.reason),
                callback=None if work.callback is None else CallbackEvent.FAIL,
                callback_reason=None if work.callback is None else ended.reason,
            )
            await ctx.store.write(finish, story, then=partial(self._deliver_all, item.session))

    async def _notice(self, work: Work, session: SessionId, text: str, cause: int) -> IntentRow | None:
        """A notice to the person whose message is not answered; None if there is nothing to say, or no place for it."""
        if work.reply_to is None or not text.strip():
            return None
        what = TurnMessage(
            kind=IntentKind.NOTICE, id=IntentId(f"{work.id}{NOTICE_SUFFIX}"), text=text, to=work.reply_to
        )
        try:
            return await self._prepared(work, session, what, cause)
        except StoreError:
            raise
        except Exception:  # noqa: BLE001 -- what makes answers unusable may do so with notices; the turn must end all the same
            return None

    async def _ask(
        self, work: Work, started: int, session: SessionId, attempt: int, said: list[SaidInTurn]
    ) -> tuple[str | None, TurnEnded | None]:
        """Run the agent; returns its answer, or how it failed. `said` gets what it sends with the message tool."""
        if work.kind is WorkKind.CONTROL:
            return await self._control(work, started), None
        ctx = self._ctx
        agent = ctx.agents.get(work.agent)
        if agent is None:
            return None, TurnEnded(outcome="failed", reason=Reason.UNKNOWN_AGENT, detail=work.agent)
        try:
            prompts = prompts_of(work, ctx)
        except UnusablePrompts as error:
            # Never without its prompts: a result would pass for the words of a person.
            return None, TurnEnded(outcome="failed", reason=Reason.PROMPT_FAILED, detail=error.facts)
        turn = LiveTurn(
            self,
            self._message_tool,
            self._hands,
            work,
            started,
            session,
            again=attempt > 1,
            prompts=prompts,
            said=said,
        )
        answer: object = None
        try:
            if work.serves is None:
                with UserCode():
                    answer = await agent.turn(turn)
            else:
                with self._tasks.running(work) as scope, UserCode():
                    answer = await agent.turn(turn)
                if scope.cancelled_caught:
                    return None, TurnEnded(outcome="silent", reason=Reason.PARENT_ENDED)
        except Exception as error:  # noqa: BLE001 -- any error of an agent is recorded and ends the turn
            # An agent may turn the cancellation of a stopping gateway into an error: then the turn has not failed.
            await anyio.lowlevel.checkpoint_if_cancelled()
            if isinstance(error, AgentFailed):
                return None, TurnEnded(outcome="failed", reason=error.reason, detail=error.facts)
            return None, TurnEnded(outcome="failed", reason=Reason.AGENT_RAISED, detail=describe(error))
        finally:
            turn.end()
        text = plain_text(answer)
        if text is None and answer is not None:
            detail = f"the agent returned a value of type {type(answer).__name__} instead of a str or None"
            return None, TurnEnded(outcome="failed", reason=Reason.BAD_ANSWER, detail=detail)
        return text, None

    async def _finish(
        self,
        work: Work,
        session: SessionId,
        answer: str | None,
        failure: TurnEnded | None,
        started: int,
        said: Sequence[SaidInTurn],
    ) -> None:
        ctx, silent = self._ctx, None
        intents: list[IntentRow] = []
        if failure is None:
            silent, failure = self._silent(work, answer, said)
        if answer is not None and work.reply_to is not None and silent is None and failure is None:
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
        if failure is not None:
            row = await self._notice(work, session, ctx.config.turns.error_notice, started)
            intents = [] if row is None else [row]
        ended = failure or TurnEnded(outcome="replied" if intents else "silent")

        def story(done: TurnFinish) -> list[tuple[IntentRow, int]]:
            seq = ctx.events.record(ended, started, inbound=work.id, turn=work.turn)
            if not intents and failure is None:
                why = silent or Reason.NO_REPLY
                body = IntentSuppressed(reason=why, text=answer or "")
                ctx.events.record(body, seq, inbound=work.id, turn=work.turn)
            record_callback(ctx.events, done.callback, seq, inbound=work.id, turn=work.turn)
            reason = _REASONS.get(work.kind, work.reply_reason)
            if work.kind is WorkKind.CALLBACK and work.reply_reason is Reason.BOUND_DESTINATION:
                reason = work.reply_reason
            if failure is not None:
                reason = Reason.ERROR_NOTICE
            return [
                (row, ctx.record_prepared(row, targeted=False, reason=reason, cause=seq))
                for row in intents
                if row.id in done.new
            ]

        finish = FinishTurn(
            work=work,
            intents=intents,
            now=ctx.env.now(),
            ended=_note(ended, silent, replied=bool(intents)),
            callback=None if work.callback is None else _callback_event(intents, failure),
            callback_reason=_callback_reason(intents, failure, silent),
        )
        await ctx.store.write(finish, story, then=partial(self._deliver_all, session))

    def _deliver_all(self, session: SessionId, prepared: list[tuple[IntentRow, int]]) -> None:
        for row, cause in prepared:
            self.answers.queued(session, row)
            self._deliver(row, cause)

    def _silent(
        self, work: Work, answer: str | None, said: Sequence[SaidInTurn]
    ) -> tuple[Reason | None, TurnEnded | None]:
        """Why the answer of a turn is not sent, if it is not; or how deciding on it failed."""
        facts = AnswerFacts(work=work.kind, answer=answer, reply_to=work.reply_to, said=said)
        try:
            why = cast("object", self._ctx.decisions.decide_answer(facts))
        except Exception as error:  # noqa: BLE001 -- a decision may be user code; the turn must end all the same
            return None, TurnEnded(outcome="failed", reason=Reason.BAD_ANSWER, detail=describe(error))
        if why is None or isinstance(why, Reason):
            return why, None
        detail = f"the decision on the answer is of type {type(why).__name__} instead of a Reason or None"
        return None, TurnEnded(outcome="failed", reason=Reason.BAD_ANSWER, detail=detail)

    async def _prepared(self, work: Work, session: SessionId, what: TurnMessage, cause: int) -> IntentRow | None:
        """A prepared or cancelled intent; None if nothing is visible. Raises `InvalidSend`."""
        draft = self._drafts.of_turn(work, session, what)
        mark = None if work.origin is None else work.origin.mark_at(draft.address)
        row = await self._preparer.prepare(draft, what.text, cause, mark, work)
        return None if row.is_invisible else row

    def refuse(self, work: Work, tool: str, error: UsageError, reason: Reason, cause: int) -> None:
        """Record a refused tool call."""
        refused = ToolRefused(tool=tool, reason=reason, detail=error.facts)
        self._ctx.events.record(refused, cause, inbound=work.id, turn=work.turn)

    async def history(self, session: SessionId, last: int | None) -> tuple[TranscriptLine, ...]:
        return await self._ctx.store.read(ReadTranscript(session=session, last=last, authors=True))


def _note(ended: TurnEnded, silent: Reason | None, *, replied: bool) -> TurnNote:
    """How a turn ended, as it is stored with its message."""
    # A turn that failed has its reason also if the person got a notice.
    reason = ended.reason or (None if replied else silent or Reason.NO_REPLY)
    return TurnNote(outcome=ended.outcome, reason=reason, detail=ended.detail)


def _callback_event(intents: list[IntentRow], failure: TurnEnded | None) -> CallbackEvent:
    """What the end of a callback turn means for the callback."""
    if failure is not None:
        return CallbackEvent.FAIL
    return CallbackEvent.ENQUEUE if intents else CallbackEvent.SUPPRESS


def _callback_reason(intents: list[IntentRow], failure: TurnEnded | None, silent: Reason | None) -> Reason | None:
    """Why the end of a callback turn leaves its callback without a message."""
    if failure is not None:
        return failure.reason
    return None if intents else silent or Reason.NO_REPLY
