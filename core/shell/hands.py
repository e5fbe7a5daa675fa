"""Running hands: durable before the hand starts, one result, told by the plan of `core.hands.completion`."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.abc

from core.agent import CallbackFacts
from core.decisions import MirrorQuestion
from core.errors import HandError, InvariantBroken
from core.events.bodies import (
    CompletionPlanned,
    CompletionStep,
    DelegationAccepted,
    DelegationFinished,
    DelegationIgnored,
    DelegationStarted,
)
from core.hands.completion import DIRECT, Completed, CompletionPlan, plan_completion
from core.hands.port import HandTask
from core.reasons import Reason
from core.shell.context import Context
from core.shell.intake import tell_admitted
from core.shell.preparing import Preparing
from core.store.rows import DelegationRow, Finish, IntentRow, NewSession, Work
from core.text import well_formed
from core.values import (
    DelegationId,
    HandOutcome,
    HandResult,
    InboundId,
    IntentId,
    IntentKind,
    Peer,
    SessionId,
    WorkKind,
)


class Hands:
    """Runs delegations side by side and brings their results back."""

    def __init__(
        self,
        context: Context,
        *,
        deliver: Callable[[IntentRow, int | None], None],
        preparing: Preparing,
    ) -> None:
        self._ctx = context
        self._preparing = preparing
        self._deliver = deliver
        self._start_turn: Callable[[Work, SessionId, int], None] = _nobody
        self._busy: Callable[[str], bool] = _never
        self._group: anyio.abc.TaskGroup | None = None

    def tell(self, *, start_turn: Callable[[Work, SessionId, int], None], busy: Callable[[str], bool]) -> None:
        """Whom to tell results: turns and hands need each other, so this comes after construction."""
        self._start_turn = start_turn
        self._busy = busy

    def start(self, group: anyio.abc.TaskGroup) -> None:
        """Run hands inside a task group."""
        self._group = group

    async def delegate(
        self, work: Work, session: SessionId, call: int, hand: str, task: str, cause: int
    ) -> DelegationId:
        """Store the delegation with its session and its frozen origin, then start the hand."""
        ctx = self._ctx
        row = DelegationRow(
            id=DelegationId(f"{work.id}.hand{call}"),
            hand=hand,
            task=task,
            agent=work.agent,
            session_key=work.session_key,
            session=session,
            turn=work.turn,
            inbound=work.id,
            origin=work.reply_to,
            accepted_at=ctx.env.now(),
        )

        def story(new: bool) -> int | None:
            if not new:
                return None
            body = DelegationAccepted(hand=hand, task=task, origin=row.origin, session_key=row.session_key)
            return ctx.events.record(body, cause, **_ids(row))

        accepted = await ctx.store.accept_delegation(row, story)
        if accepted is not None:
            self._run_in_background(row, accepted)
        return row.id

    def recover(self, row: DelegationRow, cause: int) -> None:
        """A delegation whose process died: run again where that is allowed, else report it lost (S30)."""
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
        await ctx.store.start_delegation(row.id)
        started = ctx.events.record(DelegationStarted(hand=row.hand), cause, **_ids(row))
        result, reason = await self._work(row)
        await self._finish(row, result, reason, started)

    async def _work(self, row: DelegationRow) -> tuple[HandResult, Reason | None]:
        """Let the hand work until its deadline."""
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
        except Exception as error:  # noqa: BLE001 -- whatever a hand raises is reported to whoever asked
            return HandResult(outcome=HandOutcome.ERROR, text=f"{type(error).__name__}: {error}"), Reason.HAND_RAISED
        return HandResult(outcome=HandOutcome.OK, text=well_formed(text)), None

    async def _finish(self, row: DelegationRow, result: HandResult, reason: Reason | None, cause: int) -> None:
        """Store the result together with everything that tells it."""
        while not await self._told(row, result, reason, cause):
            # The requester's session was reset between the decision and the write: decide again.
            pass

    async def _requester(self, row: DelegationRow) -> tuple[str, bool]:
        """The key that the session which delegated has today, and whether it was replaced by another one."""
        if row.session is None:
            return row.session_key, False
        found = await self._ctx.store.session_by_id(row.session)
        return (row.session_key, True) if found is None else (found.key, False)

    async def _told(self, row: DelegationRow, result: HandResult, reason: Reason | None, cause: int) -> bool:
        """Decide how a result is told and store both; false when the decision came too late."""
        ctx = self._ctx
        key, replaced = await self._requester(row)
        done = Completed(
            delegation=row.id,
            hand=row.hand,
            agent=row.agent,
            session_key=key,
            origin=row.origin,
            result=result,
            requester_busy=row.session is not None and self._busy(row.session),
            requester_replaced=replaced,
        )
        plan = ctx.decisions.plan_completion(done, ctx.config.hands)
        if replaced and any(step.mode != DIRECT for step in plan.steps):
            # A rule of somebody's own that knows of no resets: the store would refuse its turn for ever (S5).
            plan = plan_completion(done, ctx.config.hands)
        callback = self._callback(row, key, result, plan)
        direct = [step for step in plan.steps if step.mode == DIRECT and step.address is not None]
        intents = [await self._announcement(row, result, step, n, cause) for n, step in enumerate(direct, 1)]

        def story(finish: Finish) -> list[tuple[IntentRow, int]] | None:
            if finish.replaced:
                return None
            if not finish.first:
                body = DelegationIgnored(hand=row.hand, reason=Reason.ALREADY_FINISHED, text=result.text)
                ctx.events.record(body, cause, **_ids(row))
                return []
            finished = DelegationFinished(hand=row.hand, outcome=result.outcome, text=result.text, reason=reason)
            seq = ctx.events.record(finished, cause, **_ids(row))
            body = CompletionPlanned(steps=plan.steps, requester_busy=done.requester_busy)
            planned = ctx.events.record(body, seq, **_ids(row))
            if callback is not None and finish.session is not None:
                admitted = tell_admitted(ctx, callback[0], finish.session, planned)
                started.append((callback[0], finish.session.id, admitted))
            return [
                (intent, ctx.tell_prepared(intent, targeted=False, reason=step.reason, cause=planned))
                for intent, step in zip(intents, direct, strict=True)
            ]

        def then(prepared: list[tuple[IntentRow, int]] | None) -> None:
            for intent, seq in prepared or ():
                self._deliver(intent, seq)
            for work in started:
                self._start_turn(*work)

        started: list[tuple[Work, SessionId, int]] = []
        now = ctx.env.now()
        told = await ctx.store.finish_delegation(row.id, result, callback, intents, now, story, then=then)
        return told is not None

    def _callback(
        self, row: DelegationRow, session_key: str, result: HandResult, plan: CompletionPlan
    ) -> tuple[Work, str, NewSession] | None:
        """The result as one message to the requester's agent, spoken by ``hand:<id>`` (seed 004)."""
        if all(step.mode == DIRECT for step in plan.steps):
            return None
        work = Work(
            id=InboundId(f"{row.id}.back"),
            kind=WorkKind.CALLBACK,
            agent=row.agent,
            session_key=session_key,
            peer=Peer(id=f"hand:{row.hand}", name=row.hand),
            text=result.text,
            message_id=f"callback:{row.id}",
            place=row.origin,
            reply_to=row.origin,
            reply_reason=Reason.CALLBACK_TURN,
            callback=CallbackFacts(delegation=row.id, hand=row.hand, outcome=result.outcome),
        )
        return work, f"callback/{row.id}", self._ctx.new_session(session_key, row.agent, row.origin)

    async def _announcement(
        self, row: DelegationRow, result: HandResult, step: CompletionStep, n: int, cause: int
    ) -> IntentRow:
        """The result as it is, to one place. One that is too long for a message is cut, visibly."""
        ctx, to = self._ctx, step.address
        assert to is not None
        # The session of the place, also when that of the requester was reset meanwhile.
        question = MirrorQuestion(
            kind=IntentKind.ANNOUNCE, agent=row.agent, running=row.session_key, origin=None, target=to
        )
        mirror = ctx.decisions.plan_mirror(question, ctx.config)
        draft = IntentRow(
            id=IntentId(f"{row.id}.post{n}"),
            kind=IntentKind.ANNOUNCE,
            address=to,
            chunks=(),
            agent=row.agent,
            mirror_key=mirror.key,
            turn=row.turn,
            inbound=row.inbound,
            delegation=row.id,
            created_at=ctx.env.now(),
        )
        return await self._preparing.prepare(draft, _fitting(result.text, ctx.config.delivery.max_text), cause)


def _fitting(text: str, most: int) -> str:
    """A text that is taken for sending: something to be seen, and not longer than allowed."""
    if not text.strip():
        return "(no text)"
    if len(text) <= most:
        return text
    note = f" [cut: {len(text)} characters]"
    return text[: max(most - len(note), 0)] + note[:most]


def _nobody(_work: Work, _session: SessionId, _cause: int) -> None:
    raise InvariantBroken("a hand ended before the turns were there")


def _never(_session: str) -> bool:
    return False


def _ids(row: DelegationRow) -> dict[str, str | None]:
    return {"delegation": row.id, "turn": row.turn, "inbound": row.inbound}
