"""Ends the turns of heartbeats and of the schedule: the outcome of the text is stored with the end of the turn."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.config.heartbeat import HeartbeatConfig
from trunkline.core.errors import InvalidSend, StoreError
from trunkline.core.events.delivery import IntentSuppressed
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.events.heartbeat import CronEnded, HeartbeatEnded
from trunkline.core.heartbeat.reply import PREVIEW, Indicator, ReplyDecision, ReplyFacts
from trunkline.core.heartbeat.settings import heartbeat_of
from trunkline.core.heartbeat.visibility import Visibility
from trunkline.core.heartbeat.wake import WakeKind
from trunkline.core.reasons import Reason
from trunkline.core.records.heartbeat import HeartbeatRun, HeartbeatText
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.heartbeat.facts import Destination, readiness_of
from trunkline.core.runtime.intent_drafts import IntentDrafts, TurnMessage
from trunkline.core.runtime.outbound.heartbeat_outcome import in_hours, visibility_of
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.store.commands import FinishTurn, TurnFinish
from trunkline.core.store.schedule import FindSaid
from trunkline.core.values import IntentId, IntentKind, SessionId, WorkKind
from trunkline.core.well_formed import describe

#: statuses of runs whose text goes nowhere, by the reason; else it is skipped
_STATUS = {Reason.OK_EMPTY: "ok-empty", Reason.OK_TOKEN: "ok-token"}
_NOBODY = Visibility()


class _Answer:
    """The outcome of an answer: its decision, the intent if it is sent, and why not if it is not."""

    __slots__ = ("decision", "detail", "failed", "reason", "row", "said")

    def __init__(self, decision: ReplyDecision) -> None:
        self.decision = decision
        self.reason: Reason = decision.reason
        self.detail = ""
        self.failed = False
        self.row: IntentRow | None = None
        self.said: HeartbeatText | None = None

    def stop(self, reason: Reason, detail: str = "", *, failed: bool = False) -> _Answer:
        """Note why the answer is not sent."""
        self.reason, self.detail, self.failed = reason, detail, failed
        return self


class Replies:
    """Decides on the answers of heartbeats and of the schedule, and stores them."""

    def __init__(self, context: Context, preparer: Preparer, deliver: Callable[[IntentRow, int | None], None]) -> None:
        self._ctx = context
        self._preparer = preparer
        self._deliver = deliver
        self._drafts = IntentDrafts(context)

    async def finish(
        self, work: Work, session: SessionId, text: str | None, failure: TurnEnded | None, started: int
    ) -> None:
        """End a turn of a heartbeat or of the schedule."""
        ctx, run = self._ctx, work.heartbeat or HeartbeatRun(wake="")
        answer: _Answer | None = None
        if failure is None:
            try:
                answer = await self._answer(work, run, session, text, started)
            except StoreError:
                raise
            except Exception as error:  # noqa: BLE001 -- decisions may be user code; the turn must end anyway
                failure = TurnEnded(outcome="failed", reason=Reason.BAD_ANSWER, detail=describe(error))
        row = None if answer is None else answer.row
        ended = failure or TurnEnded(outcome="silent" if row is None else "replied")

        def story(done: TurnFinish) -> tuple[IntentRow, int] | None:
            seq = ctx.events.record(ended, started, inbound=work.id, turn=work.turn)
            stored = row is not None and row.id in done.new
            if failure is None and not stored:
                reason = Reason.NO_REPLY if answer is None or not (text or "").strip() else answer.reason
                body = IntentSuppressed(reason=reason, text=text or "")
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
                self._deliver(*prepared)

        intents = () if row is None else (row,)
        said = None if answer is None else answer.said
        await ctx.store.write(FinishTurn(work=work, intents=intents, now=ctx.env.now(), said=said), story, then=then)

    # ------------------------------------------------------------ decisions

    async def _answer(
        self, work: Work, run: HeartbeatRun, session: SessionId, text: str | None, started: int
    ) -> _Answer:
        """The outcome of an answer."""
        decision = self._decide(work, run, text)
        answer = _Answer(decision)
        if not decision.delivers or run.target is None:
            return answer
        if work.kind is WorkKind.HEARTBEAT:
            now = self._ctx.env.now()
            if decision.says and await self._is_repeated(work.agent, run, decision.says, now):
                return answer.stop(Reason.DUPLICATE)
            if not in_hours(self._ctx, work.agent, now):
                return answer.stop(Reason.QUIET_HOURS)
            ready: Destination = await readiness_of(self._ctx, run.target)
            if ready.address is None:
                return answer.stop(ready.reason or Reason.NOT_READY, ready.detail)
        return await self._prepare(answer, work, run, session, started)

    def _decide(self, work: Work, run: HeartbeatRun, text: str | None) -> ReplyDecision:
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
            undeliverable=undeliverable,
            by=ctx.config.rules,
        )
        return ctx.decisions.decide_reply(text, facts)

    async def _is_repeated(self, agent: str, run: HeartbeatRun, says: str, now: float) -> bool:
        """Whether the same text was said in the place within a day, or waits there."""
        assert run.target is not None
        said = await self._ctx.store.read(FindSaid(agent=agent, address=run.target, text=says.strip()))
        if said is None:
            return False
        return self._ctx.decisions.is_duplicate(says, says, now if said.at is None else said.at, now)

    async def _prepare(
        self, answer: _Answer, work: Work, run: HeartbeatRun, session: SessionId, started: int
    ) -> _Answer:
        """The answer with its intent."""
        assert run.target is not None
        decision, is_heartbeat = answer.decision, work.kind is WorkKind.HEARTBEAT
        whole = "\n\n".join(part for part in (decision.reasoning, decision.text) if part)
        what = TurnMessage(
            kind=IntentKind.HEARTBEAT if is_heartbeat else IntentKind.REPLY,
            id=IntentId(f"{work.id}.reply"),
            text=whole,
            to=run.target,
        )
        try:
            row = await self._preparer.prepare(self._drafts.of_turn(work, session, what), whole, started)
        except InvalidSend as error:
            return answer.stop(error.reason, error.facts, failed=True)
        if row.is_invisible:
            return answer.stop(Reason.NO_REPLY)
        answer.row = row
        if row.is_cancelled:
            return answer.stop(row.progress.reason or Reason.CANCELLED_BY_HOOK)
        if is_heartbeat and decision.says:
            answer.said = HeartbeatText(agent=work.agent, address=run.target, text=decision.says.strip(), intent=row.id)
        return answer

    # ------------------------------------------------------------ records

    def record_end(self, work: Work, ended: TurnEnded, cause: int, answer: _Answer | None = None) -> None:
        """Record the end of a run that sends nothing, or of a turn of the schedule. Called with its commit."""
        ctx, run = self._ctx, work.heartbeat or HeartbeatRun(wake="")
        if work.kind is WorkKind.CRON:
            entry = run.wake.partition(":")[2]
            body = CronEnded(entry=entry, agent=work.agent, outcome=ended.outcome, reason=ended.reason)
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
        body = HeartbeatEnded(
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
    """The kind of a wake-up by its reason as text."""
    head = wake.partition(":")[0]
    return WakeKind(head) if head in set(WakeKind) else WakeKind.WAKE
