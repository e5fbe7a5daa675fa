"""Ends the turns of heartbeats and of the schedule: the outcome of the text is stored with the end of the turn."""

from trunkline.core.config.heartbeat import HeartbeatConfig
from trunkline.core.delivery.answers import AnswerFacts, undecided
from trunkline.core.errors import InvalidSend, StoreError
from trunkline.core.events import delivery, gateway, heartbeat
from trunkline.core.heartbeat.reply import PREVIEW, Indicator, ReplyDecision, ReplyFacts
from trunkline.core.heartbeat.settings import heartbeat_of
from trunkline.core.heartbeat.visibility import Visibility
from trunkline.core.heartbeat.wake import WakeKind
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatRun, HeartbeatText
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.heartbeat.facts import Destination, readiness_of
from trunkline.core.runtime.message_tool.results import SaidInTurns, TurnReply
from trunkline.core.runtime.outbound.heartbeat_outcome import heartbeat_text, in_hours, is_repeated, visibility_of
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import FinishTurn, TurnFinish
from trunkline.core.text.model_text import ModelText
from trunkline.core.values import Address, IntentId, IntentKind, SessionId, WorkKind
from trunkline.core.well_formed import describe

#: statuses of runs whose text goes nowhere, by the reason; else it is skipped
_STATUS = {Reason.OK_EMPTY: "ok-empty", Reason.OK_TOKEN: "ok-token"}
_NOBODY = Visibility()


class _Answer:
    """The outcome of an answer: its decision, the intent if it is sent, and why not if it is not."""

    __slots__ = ("decision", "detail", "failed", "reason", "row", "said", "unless")

    def __init__(self, decision: ReplyDecision) -> None:
        self.decision = decision
        self.reason: Reason = decision.reason
        self.detail = ""
        self.failed = False
        self.row: IntentRow | None = None
        self.said: HeartbeatText | None = None
        self.unless: tuple[IntentId, ...] = ()

    def stop(self, reason: Reason, detail: str = "", *, failed: bool = False) -> "_Answer":
        self.reason, self.detail, self.failed = reason, detail, failed
        return self


class Replies:
    def __init__(self, context: Context, preparer: Preparer) -> None:
        self._ctx = context
        self._said = SaidInTurns(context, preparer.intents)
        self._preparer = preparer
        self._drafts = preparer.drafts

    async def finish(self, work: Work, session: SessionId, reply: TurnReply, started: int) -> None:
        ctx, run = self._ctx, work.heartbeat or HeartbeatRun(wake="")
        said, failure, text = reply.answer, reply.failure, reply.text or ""
        answer: _Answer | None = None
        if failure is None:
            try:
                answer = await self._answer(work, run, session, reply, started)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 -- decisions may be user code; the turn must end anyway
                failure = gateway.TurnEnded(outcome="failed", reason=Reason.BAD_ANSWER, detail=describe(error))
        row = None if answer is None else answer.row
        ended = failure or gateway.TurnEnded(outcome="silent" if row is None else "replied")

        def story(done: TurnFinish) -> tuple[IntentRow, int] | None:
            seq = ctx.events.record(ended, started, inbound=work.id, turn=work.turn)
            stored = row is not None and row.id in done.new
            if failure is None and not stored:
                reason = Reason.NO_REPLY if answer is None or said is None or said.is_empty else answer.reason
                body = delivery.IntentSuppressed(reason=reason, text=text)
                ctx.events.record(body, seq, inbound=work.id, turn=work.turn)
            prepared = None
            if row is not None and stored:
                reason = Reason.HEARTBEAT_TARGET if work.kind is WorkKind.HEARTBEAT else Reason.CRON_DUE
                prepared = row, ctx.record_prepared(row, targeted=False, reason=reason, cause=seq)
            if work.kind is WorkKind.CRON or not stored or (row and row.is_cancelled):
                self.record_end(work, ended, seq, answer)
            return prepared

        def then(prepared: tuple[IntentRow, int] | None) -> None:
            if prepared is not None:
                self._preparer.deliver(*prepared)

        intents = () if row is None else (row,)
        noted = None if answer is None else answer.said
        await ctx.store.write(FinishTurn(work=work, intents=intents, now=ctx.env.now(), said=noted), story, then=then)

    async def _answer(
        self, work: Work, run: HeartbeatRun, session: SessionId, reply: TurnReply, started: int
    ) -> _Answer:
        said = reply.answer or ModelText(text="")
        decision = self._decide(work, run, said)
        answer = _Answer(decision)
        if not decision.delivers or run.target is None:
            return answer
        why, answer.unless = await self._why_suppressed(work, decision, reply, run.target)
        if why is not None:
            return answer.stop(why)
        if work.kind is WorkKind.HEARTBEAT:
            ctx, now = self._ctx, self._ctx.env.now()
            # An open send of this turn is about to say the same, and has noted that.
            fresh = decision.says and not decision.media and not answer.unless
            if fresh and await is_repeated(ctx, work.agent, run.target, decision.says):
                return answer.stop(Reason.DUPLICATE)
            if not in_hours(self._ctx, work.agent, now):
                return answer.stop(Reason.QUIET_HOURS)
            ready: Destination = await readiness_of(self._ctx, run.target)
            if ready.address is None:
                return answer.stop(ready.reason or Reason.NOT_READY, ready.detail)
        return await self._prepare(answer, work, run, session, said, started)

    def _decide(self, work: Work, run: HeartbeatRun, said: ModelText) -> ReplyDecision:
        ctx = self._ctx
        undeliverable = None if run.target is not None else run.why or Reason.NO_TARGET
        if work.kind is WorkKind.CRON:
            settings, visibility = HeartbeatConfig(), _NOBODY
        else:
            settings = heartbeat_of(ctx.config, work.agent) or HeartbeatConfig()
            visibility = visibility_of(ctx.config, run.target)
        facts = ReplyFacts(
            kind=_kind(run.wake),
            ack_max_chars=settings.ack_max_chars,
            include_reasoning=settings.include_reasoning,
            response_prefix=settings.response_prefix,
            visibility=visibility,
            media=said.media,
            undeliverable=undeliverable,
            by=ctx.config.rules,
        )
        return ctx.decisions.decide_reply(said.text, facts)

    async def _why_suppressed(
        self, work: Work, decision: ReplyDecision, reply: TurnReply, to: Address
    ) -> tuple[Reason | None, tuple[IntentId, ...]]:
        """Why an answer is not sent, since the turn has said the same there; or the open sends to wait for."""
        if not decision.says:
            return None, ()
        said = ModelText(text=decision.says, media=decision.media)
        repeated = await self._said.find_repeated(work, reply, said, to)
        unless = undecided(repeated)
        facts = AnswerFacts(
            work=work.kind, answer=said.text, media=said.media, reply_to=to, said=() if unless else repeated
        )
        return self._ctx.decisions.decide_answer(facts), unless

    async def _prepare(
        self, answer: _Answer, work: Work, run: HeartbeatRun, session: SessionId, said: ModelText, started: int
    ) -> _Answer:
        assert run.target is not None
        decision, is_heartbeat = answer.decision, work.kind is WorkKind.HEARTBEAT
        whole = "\n\n".join(part for part in (decision.reasoning, decision.text) if part)
        whole_answer = ModelText(text=whole, media=decision.media, reply_to=said.reply_to)
        try:
            kind = IntentKind.HEARTBEAT if is_heartbeat else IntentKind.REPLY
            what = await self._drafts.make_answer(work, whole_answer, run.target, kind, answer.unless)
            row = await self._preparer.prepare(self._drafts.of_turn(work, session, what), what.text, started)
        except InvalidSend as error:
            return answer.stop(error.reason, error.facts, failed=True)
        if row.is_invisible:
            return answer.stop(Reason.NO_REPLY)
        answer.row = row
        if row.is_cancelled:
            return answer.stop(row.progress.reason or Reason.CANCELLED_BY_HOOK)
        if is_heartbeat and decision.says and not decision.media and not answer.unless:
            answer.said = heartbeat_text(row, decision.says)
        return answer

    def record_end(self, work: Work, ended: gateway.TurnEnded, cause: int, answer: _Answer | None = None) -> None:
        """Record the end of a run that sends nothing, or of a turn of the schedule. Called with its commit."""
        ctx, run = self._ctx, work.heartbeat or HeartbeatRun(wake="")
        if work.kind is WorkKind.CRON:
            entry = run.wake.partition(":")[2]
            body = heartbeat.CronEnded(entry=entry, agent=work.agent, outcome=ended.outcome, reason=ended.reason)
            ctx.events.record(body, cause, inbound=work.id, turn=work.turn)
            return
        if work.kind is not WorkKind.HEARTBEAT:
            return
        now = ctx.env.now()
        began = ctx.heartbeats.pop(work.id, now)
        failed = answer is None or answer.failed
        status = "failed" if answer is None or answer.failed else _STATUS.get(answer.reason, "skipped")
        visibility = visibility_of(ctx.config, run.target)
        # What was stopped afterwards, such as a repetition, is no alert.
        decided = None if answer is None or answer.reason is not answer.decision.reason else answer.decision
        shown = None if decided is None else decided.indicator
        if failed and visibility.use_indicator:
            shown = Indicator.ERROR
        body = heartbeat.HeartbeatEnded(
            agent=work.agent,
            status=status,
            reason=(ended.reason or Reason.AGENT_RUNNER_FAILURE) if answer is None else answer.reason,
            to=run.target,
            preview="" if answer is None else answer.decision.preview[:PREVIEW],
            duration_ms=max(0, round((now - began) * 1000)),
            channel="" if run.target is None else run.target.channel,
            silent=True,
            indicator="" if shown is None else shown.value,
            detail=ended.detail if answer is None else answer.detail,
        )
        ctx.events.record(body, cause, inbound=work.id, turn=work.turn)


def _kind(wake: str) -> WakeKind:
    head = wake.partition(":")[0]
    return WakeKind(head) if head in set(WakeKind) else WakeKind.WAKE
