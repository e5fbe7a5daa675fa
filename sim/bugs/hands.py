"""Defects in how the results of hands are delivered."""

from __future__ import annotations

import msgspec

from trunkline.core.config import HandsConfig
from trunkline.core.events.gateway import CompletionStep
from trunkline.core.hands.completion_plan import DIRECT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.sim.bugs.base import bug, deciding


@bug("announce-busy-twice", deciding("plan_completion"), reports=("B001",), caught_by=("D2",))
def _announce_when_busy(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion that finds its requester busy is announced directly and again by the queued turn."""
    plan = plan_completion(done, config)
    if not done.requester_busy or done.origin is None:
        return plan
    extra = CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.origin)
    return CompletionPlan(steps=(extra, *plan.steps))


@bug("hand-announces-too", deciding("plan_completion"), reports=("B002",), caught_by=("D2",))
def _hand_announces_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion is announced by the requester and by the hand's own session, in the main channel."""
    plan = plan_completion(done, config)
    if done.origin is None:
        return plan
    room = done.origin.parent or done.origin.conversation
    main = msgspec.structs.replace(done.origin, conversation=room, parent=None)
    extra = CompletionStep(mode=DIRECT, reason=Reason.HAND_SESSION_ROUTE, address=main)
    return CompletionPlan(steps=(*plan.steps, extra))
