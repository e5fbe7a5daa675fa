"""Runs delegations: functions in the process, and agents of the gateway; workers outside only have a deadline here."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
import anyio.lowlevel
import msgspec

from trunkline.core.declared import filled
from trunkline.core.errors import HandError, IllegalTransition
from trunkline.core.events.hands import DelegationAccepted, DelegationProgressed, DelegationStarted
from trunkline.core.hands.deadlines import TimeLimits
from trunkline.core.hands.port import HandRunner, HandTask, task_of
from trunkline.core.hands.result_limits import LONGEST_PROGRESS, bounded_result, cut
from trunkline.core.keys import SessionKey
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow, HandKind, HandResult
from trunkline.core.records.reserved_sender import caller_sender
from trunkline.core.records.rows import Admission, Work
from trunkline.core.runtime.context import Context, record_admitted
from trunkline.core.runtime.delegation.completions import CompletionReporter, Ending, ids_of_delegation
from trunkline.core.runtime.delegation.endings import Endings
from trunkline.core.runtime.delegation.open_delegations import OpenDelegation
from trunkline.core.runtime.delegation.posts import Posts
from trunkline.core.runtime.suspects import Suspects
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.states.delegation import HandOutcome, WorkState
from trunkline.core.store.commands import Admit
from trunkline.core.store.delegations import AcceptDelegation, NoteProgress, StartDelegation
from trunkline.core.values import InboundId, SessionId, WorkKind
from trunkline.core.well_formed import describe, plain_text


class DelegationRunner:
    """Runs delegations concurrently, and recovers delegations of an earlier process."""

    def __init__(
        self, context: Context, *, reporter: CompletionReporter, suspects: Suspects, posts: Posts, turns: TurnQueue
    ) -> None:
        self._ctx = context
        self._suspects = suspects
        self._turns = turns
        self._posts = posts
        self.endings = Endings(context, reporter, posts, self._run_in_background)
        self.open = self.endings.open

    def limits_of(self, row: DelegationRow) -> TimeLimits:
        parent = self.open.find(row.parent)
        return TimeLimits(
            accepted_at=row.accepted_at,
            timeout=row.timeout,
            max_age=self._ctx.config.hands.limits.max_age,
            parent=None if parent is None else parent.row.deadline,
        )

    def begin(self, delegation: OpenDelegation) -> None:
        """Begin the work of a delegation that is durable now: at once, or when a place for a run is free."""
        row = delegation.row
        if row.parent is not None and self.open.find(row.parent) is None:
            # The task that it was delegated for has ended while it was being stored.
            self.endings.end_soon(delegation, HandOutcome.CANCELLED, Reason.PARENT_ENDED)
            return
        self.endings.clock.set(row.id, self._deadline(row))
        if row.kind is not HandKind.WORKER:
            self.endings.slots.enqueue(delegation)

    async def accept(
        self, row: DelegationRow, cause: int, complete: Callable[[DelegationRow], Awaitable[DelegationRow]]
    ) -> None:
        """Store a task and have its hand begin. It counts from now on, so that no other call takes its place.

        `complete`: what is done between the two, and the row after it.
        """
        if row.kind is HandKind.WORKER:
            row = msgspec.structs.replace(row, deadline=self.limits_of(row).of_run(row.accepted_at))
        delegation = OpenDelegation(row=row, cause=cause)
        self.open.add(delegation)
        try:
            delegation.row = row = await complete(row)
        except BaseException:
            self.open.remove(delegation)
            raise

        body = accepted_event(row, self.limits_of(row).of_run(row.accepted_at))

        def story(new: bool) -> int | None:
            return self._ctx.events.record(body, cause, **ids_of_delegation(row)) if new else None

        def then(accepted: int | None) -> None:
            # Also for a caller that was cancelled during the write: the task is stored.
            if accepted is None:
                self.open.remove(delegation)
                return
            delegation.stored, delegation.cause = True, accepted
            self.begin(delegation)

        try:
            await self._ctx.store.write(AcceptDelegation(row=row), story, then=then)
        except Exception:
            self.open.remove(delegation)
            raise

    async def cancel(
        self, delegation: OpenDelegation, reason: Reason, by: str, cause: int | None, post: int | None = None
    ) -> bool:
        """End a delegation, with its children; answers whether that is what has ended it.

        An answer that a worker has left before counts.
        """
        if delegation.row.kind is HandKind.WORKER and post is None:
            await self._posts.take_all(None)
            if self.open.find(delegation.row.id) is not delegation:
                return False
        result = HandResult(outcome=HandOutcome.CANCELLED, text=reason.sentence)
        after = delegation.cause if cause is None else cause
        ending = Ending(row=delegation.row, result=result, reason=reason, by=by, cause=after, post=post)
        return await self.endings.end_for(delegation, ending)

    def adopt(self, rows: Sequence[DelegationRow], works: Sequence[tuple[Work, SessionId]], cause: int) -> None:
        """Know the open delegations of an earlier process, before anything of that process goes on."""
        for row in rows:
            self.open.add(OpenDelegation(row=row, cause=cause, stored=True))
        for work, _ in works:
            served = self.open.find(work.serves)
            if served is not None:
                served.turns += 1

    def recover(self, row: DelegationRow, runs: int, cause: int) -> None:
        """Go on with a delegation whose process died: run it again if that is allowed, else report it as lost.

        `runs`: how many of its runs ended with their process.
        """
        delegation = self.open.find(row.id)
        if delegation is None:
            # A worker has answered while no process ran.
            return
        row = delegation.row
        if row.parent is not None and self.open.find(row.parent) is None:
            self.endings.end_soon(delegation, HandOutcome.CANCELLED, Reason.PARENT_ENDED)
        elif row.kind is HandKind.FUNCTION:
            self._recover_function(delegation, runs)
        elif self._is_late(delegation):
            self.endings.expire(delegation)
        elif row.kind is HandKind.AGENT and row.state is WorkState.RUNNING:
            self.endings.clock.set(row.id, self._deadline(row))
            self.endings.settle(delegation)
        else:
            self.begin(delegation)

    def _deadline(self, row: DelegationRow) -> float:
        return self.limits_of(row).latest if row.deadline is None else row.deadline

    def _is_late(self, delegation: OpenDelegation) -> bool:
        """Whether its deadline passed while no process ran: then nothing of it runs again."""
        return self._deadline(delegation.row) <= self._ctx.env.now()

    def _recover_function(self, delegation: OpenDelegation, runs: int) -> None:
        row, settings = delegation.row, self._ctx.config.hands.of(delegation.row.hand)
        allowed = settings.on_restart == "rerun" or row.state is WorkState.ACCEPTED
        if not allowed or runs >= settings.max_attempts:
            reason = Reason.RUNS_EXHAUSTED if allowed else Reason.PROCESS_DIED
            self.endings.end_soon(delegation, HandOutcome.LOST, reason)
            return
        # A new run has a new deadline, within the age that the delegation may have.
        delegation.row = msgspec.structs.replace(row, deadline=self.limits_of(row).latest)
        if self._is_late(delegation):
            self.endings.expire(delegation)
        elif runs:
            self.endings.clock.set(row.id, self._deadline(delegation.row))
            self.endings.slots.occupy(delegation)
            self._suspects.run(
                lambda: self._run(delegation),
                name=f"hand {row.id}",
                runs=runs,
                most=settings.max_attempts,
                since=row.started_at or row.accepted_at,
            )
        else:
            self.begin(delegation)

    def _run_in_background(self, delegation: OpenDelegation) -> None:
        self._ctx.run_apart(self._run, delegation, name=f"hand {delegation.row.id}")

    async def _run(self, delegation: OpenDelegation) -> None:
        if self.open.find(delegation.row.id) is not delegation:
            # It has ended before it began.
            return
        try:
            if delegation.row.kind is HandKind.AGENT:
                await self._run_agent(delegation)
            else:
                await self._run_function(delegation)
        except IllegalTransition:
            # It has ended while its start was being stored.
            return

    def _started(self, delegation: OpenDelegation, now: float) -> DelegationRow:
        deadline = self.limits_of(delegation.row).of_run(now)
        return msgspec.structs.replace(delegation.row, state=WorkState.RUNNING, started_at=now, deadline=deadline)

    def _record_started(self, delegation: OpenDelegation, row: DelegationRow) -> int:
        return self._ctx.events.record(DelegationStarted(hand=row.hand), delegation.cause, **ids_of_delegation(row))

    def _note_started(self, delegation: OpenDelegation, row: DelegationRow, started: int) -> bool:
        """Take over the row of a run that has begun; False if it has ended during the write."""
        if self.open.find(row.id) is not delegation:
            return False
        delegation.row, delegation.cause = row, started
        if row.deadline is not None:
            self.endings.clock.set(row.id, row.deadline)
        return True

    async def _run_function(self, delegation: OpenDelegation) -> None:
        ctx, now = self._ctx, self._ctx.env.now()
        row = self._started(delegation, now)
        command = StartDelegation(delegation=row.id, now=now, deadline=row.deadline)
        started = await ctx.store.write(command, lambda _: self._record_started(delegation, row))
        if not self._note_started(delegation, row, started):
            return
        task = task_of(row, row.timeout, lambda text: self.progress(delegation, text))
        ended: tuple[HandResult, Reason | None] | None = None
        with anyio.CancelScope() as scope:
            delegation.scope = scope
            ended = await _run_hand(ctx.hands, task, ctx.config.hands.limits.max_result)
        delegation.scope = None
        if ended is not None:
            # One that returns although it was cancelled is late: its result is kept.
            result, reason = ended
            await self.endings.end(delegation, Ending(row=row, result=result, reason=reason, cause=started))

    async def _run_agent(self, delegation: OpenDelegation) -> None:
        """Give the task to the agent, as the first turn of a session of its own."""
        ctx, now = self._ctx, self._ctx.env.now()
        row = self._started(delegation, now)
        key = row.child_key or ctx.key_text(SessionKey(agent=row.hand, subagent=row.id))
        work = Work(
            id=InboundId(f"{row.id}.task"),
            kind=WorkKind.TASK,
            agent=row.hand,
            session_key=key,
            peer=caller_sender(row.agent),
            text=row.task,
            origin=row.origin,
            serves=row.id,
            depth=row.depth,
            chain=0 if row.origin is None else row.origin.chain,
        )
        admit = Admit(work=work, identity=f"task/{row.id}", session=ctx.new_session(key, row.hand, None), now=now)
        delegation.turns += 1

        def story(admission: Admission | None) -> tuple[SessionId, int, int] | None:
            if admission is None or admission.session is None:
                return None
            started = self._record_started(delegation, row)
            return admission.session.id, started, record_admitted(ctx, work, admission.session, started)

        def then(admitted: tuple[SessionId, int, int] | None) -> None:
            if admitted is None:
                delegation.turns -= 1
                return
            session, started, seq = admitted
            self._note_started(delegation, row, started)
            self._turns.enqueue(work, session, seq)

        command = StartDelegation(delegation=row.id, now=now, deadline=row.deadline, admit=admit)
        await ctx.store.write(command, story, then=then)

    async def progress(
        self, delegation: OpenDelegation, text: object, *, ticket: str | None = None, post: int | None = None
    ) -> bool:
        """Store and show what a hand reports of its progress; False if it has ended. Raises `AnswerRefused`."""
        ctx, said = self._ctx, cut(plain_text(text) or "", LONGEST_PROGRESS)
        row = delegation.row

        def story(open_still: bool) -> bool:
            if open_still:
                body = DelegationProgressed(hand=row.hand, text=said)
                ctx.events.record(body, delegation.cause, **ids_of_delegation(row))
            return open_still

        if not await ctx.store.write(NoteProgress(delegation=row.id, text=said, ticket=ticket, post=post), story):
            return False
        delegation.row = msgspec.structs.replace(delegation.row, progress=said)
        return True


def accepted_event(row: DelegationRow, deadline: float | None) -> DelegationAccepted:
    origin = row.origin
    return filled(
        DelegationAccepted,
        row,
        origin=row.reply_to,
        deadline=deadline,
        hand_kind=row.kind.value,
        asked_by=None if origin is None else origin.asked_by,
        message_id="" if origin is None else origin.message_id,
    )


async def _run_hand(hands: HandRunner, task: HandTask, most: int) -> tuple[HandResult, Reason | None]:
    """Run a hand; returns its result of at most `most` characters, and why it is none of its own."""
    try:
        with UserCode():
            if not hands.has(task.hand):
                # Accepted by an earlier process, which had it.
                text = f"no hand {task.hand!r} is installed any more"
                return HandResult(outcome=HandOutcome.ERROR, text=text), Reason.UNKNOWN_HAND
            result: object = await hands.run(task)
    except HandError as error:
        return _bounded(HandResult(outcome=HandOutcome.ERROR, text=error.facts), Reason.HAND_RAISED, most)
    except Exception as error:  # noqa: BLE001 -- any error of a hand is reported to the requester
        # A hand may turn a cancellation into an error: then it is not the hand that failed.
        await anyio.lowlevel.checkpoint_if_cancelled()
        return HandResult(outcome=HandOutcome.ERROR, text=describe(error)), Reason.HAND_RAISED
    text = plain_text(result)
    if text is None:
        text = f"the hand returned a value of type {type(result).__name__} instead of a str"
        return HandResult(outcome=HandOutcome.ERROR, text=text), Reason.BAD_RESULT
    return _bounded(HandResult(outcome=HandOutcome.OK, text=text), None, most)


def _bounded(result: HandResult, reason: Reason | None, most: int) -> tuple[HandResult, Reason | None]:
    shorter = bounded_result(result, most)
    return (result, reason) if shorter is None else (shorter, Reason.RESULT_TOO_LARGE)
