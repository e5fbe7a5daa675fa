"""Defects of completions: results announced twice, missed or forgotten, hands and messages lost at a restart."""

import sqlite3
from typing import Any

import anyio
import anyio.abc
import msgspec

from trunkline.core.config import HandsConfig
from trunkline.core.events.hands import CompletionStep
from trunkline.core.gateway import Gateway
from trunkline.core.hands.completion_plan import DIRECT, TURN, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import Admission, Unfinished, Work
from trunkline.core.store.commands import AckChunk, Admit, FinishTurn
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation
from trunkline.core.store.port import answer
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.sqlite.handlers import RunSql, execute
from trunkline.core.values import SessionId
from trunkline.sim.bugs.base import bug, changing_write, deciding, making, replacing_read, replacing_write
from trunkline.sim.store.rewired import RewiredStore

#: seconds between the two scans of a start
_LATER = 0.01
#: the channel whose listener gives up at a conflict
_GIVES_UP = "telegram"


@bug("announce-busy-twice", deciding("plan_completion"), reports=("B001", "004-D13"), caught_by=("D2",))
def _announce_when_busy(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion that finds its requester busy is announced directly and again by the queued turn."""
    plan = plan_completion(done, config)
    if not done.requester_busy or done.reply_to is None:
        return plan
    extra = CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.reply_to)
    return CompletionPlan(steps=(extra, *plan.steps))


@bug("hand-announces-too", deciding("plan_completion"), reports=("B002",), caught_by=("D2",))
def _hand_announces_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion is announced by the requester and by the hand's own session, in the main channel."""
    plan = plan_completion(done, config)
    if done.reply_to is None:
        return plan
    room = done.reply_to.parent or done.reply_to.conversation
    main = msgspec.structs.replace(done.reply_to, conversation=room, parent=None)
    extra = CompletionStep(mode=DIRECT, reason=Reason.HAND_SESSION_ROUTE, address=main)
    return CompletionPlan(steps=(*plan.steps, extra))


@bug("parent-never-learns", changing_write(FinishDelegation), reports=("B138",), caught_by=("L2",))
def _without_a_line(command: FinishDelegation) -> FinishDelegation:
    """A result that is posted in the work's own thread is not in the transcript of the session that delegated."""
    return msgspec.structs.replace(command, line=None)


@bug("opening-not-stored", changing_write(AcceptDelegation), caught_by=("R4",))
def _forgets_the_opening(command: AcceptDelegation) -> AcceptDelegation:
    """After a restart nobody knows that the thread of an answer must be opened, and a result is refused there."""
    return msgspec.structs.replace(command, row=msgspec.structs.replace(command.row, open_on=None))


@bug("mirror-in-left-session", changing_write(AckChunk), caught_by=("M1",))
def _where_it_was_decided(command: AckChunk) -> AckChunk:
    """An answer is remembered in the session of its turn, although its conversation has left that one meanwhile."""
    if command.mirror is None or command.intent.session is None:
        return command
    return msgspec.structs.replace(command, mirror=msgspec.structs.replace(command.mirror, address=None))


@bug("posted-and-forwarded", deciding("plan_completion"), reports=("B011",), caught_by=("D2",))
def _forwarded_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A result that is posted is handed to the main agent too, which forwards it to the same place."""
    plan = plan_completion(done, config)
    if done.requester_replaced or all(step.mode == TURN for step in plan.steps):
        return plan
    extra = CompletionStep(mode=TURN, reason=Reason.CALLBACK_TURN, address=done.reply_to)
    return CompletionPlan(steps=(*plan.steps, extra))


@bug("orphans-scanned-twice", making("gateway"), reports=("B020",), caught_by=("D5",))
class ScanningTwice(Gateway):
    """Two scanners with marks of their own look for interrupted hands, and each resumes what it finds."""

    async def _recover(self, started: int, group: anyio.abc.TaskGroup) -> None:
        left = await self._ctx.store.read(LoadUnfinished())
        await super()._recover(started, group)
        group.start_soon(self._scan_too, left.delegations, started, name="second scan")

    async def _scan_too(self, orphans: tuple[DelegationRow, ...], cause: int) -> None:
        await anyio.sleep(_LATER)
        for orphan in orphans:
            self._delegations.recover(orphan, 0, cause)


@bug("busy-requester-misses-result", deciding("plan_completion"), reports=("B022",), caught_by=("L2",))
def _busy_is_gone(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion that finds its requester in the middle of a turn is given up, and never retried."""
    return CompletionPlan(steps=()) if done.requester_busy else plan_completion(done, config)


@bug("steered-is-read", making("gateway"), reports=("B023",), caught_by=("L1", "L2"))
class Steering(Gateway):
    """A result is put into the run that is about to end, and counts as delivered, but is never read."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._delegations.endings.reporter.start_turn = self._hand_over

    def _hand_over(self, work: Work, session: SessionId, cause: int) -> None:
        if not self._turn_queue.has_session(session):
            self._turn_queue.enqueue(work, session, cause)
        elif self._group is not None:
            self._group.start_soon(self._count_as_read, work, name=f"steer {work.id}")

    async def _count_as_read(self, work: Work) -> None:
        await self._ctx.store.write(FinishTurn(work=work, intents=(), now=self._ctx.env.now()), lambda _: None)


@bug("orphans-pruned", replacing_read(LoadUnfinished), reports=("B025",), caught_by=("L2",))
async def _without_orphans(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """Running work whose session entry is missing at the start is deleted silently."""
    await store.inner.write(RunSql(op=_prune), answer)
    return await store.inner.read(query)


def _prune(c: sqlite3.Connection) -> None:
    c.execute(
        "DELETE FROM delegations WHERE state IN ('accepted', 'running')"
        " AND session_id NOT IN (SELECT session_id FROM session_map)"
    )


@bug("conflict-drops-message", replacing_write(Admit), reports=("B041",), caught_by=("L1", "V1"))
async def _admit_once(store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
    """A message whose admission meets a conflict is tried again on one channel, and dropped on another."""
    if command.work.place is None or command.work.place.channel != _GIVES_UP:
        return await store.inner.write(command, story, then)
    tries = 0

    def write(c: sqlite3.Connection) -> Admission | None:
        nonlocal tries
        tries += 1
        return execute(c, command) if tries == 1 else None

    def record(admission: Admission | None) -> Any:
        return (Admission(session=None), 0) if admission is None else story(admission)

    return await store.inner.write(RunSql(op=write), record, then)
