"""Defects in how the results of hands are delivered."""

from __future__ import annotations

import msgspec

from trunkline.core.config import HandsConfig
from trunkline.core.events.hands import CompletionStep
from trunkline.core.hands.completion_plan import DIRECT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.core.store.commands import AckChunk
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation
from trunkline.sim.bugs.base import bug, changing_write, deciding


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
