"""Defects in how the results of hands are delivered."""

from __future__ import annotations

import msgspec

from trunkline.core.config import HandsConfig
from trunkline.core.events.gateway import CompletionStep
from trunkline.core.hands.completion_plan import DIRECT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.sim.bugs.base import Bug, deciding


def _announce_when_busy(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """Announce to a busy requester directly, and again by the queued turn: the two paths share no marker."""
    plan = plan_completion(done, config)
    if not done.requester_busy or done.origin is None:
        return plan
    extra = CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.origin)
    return CompletionPlan(steps=(extra, *plan.steps))


def _hand_announces_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """Resolve a second route for the hand, and post to that channel as well."""
    plan = plan_completion(done, config)
    if done.origin is None:
        return plan
    room = done.origin.parent or done.origin.conversation
    main = msgspec.structs.replace(done.origin, conversation=room, parent=None)
    extra = CompletionStep(mode=DIRECT, reason=Reason.HAND_SESSION_ROUTE, address=main)
    return CompletionPlan(steps=(*plan.steps, extra))


HAND_BUGS = (
    Bug(
        name="announce-busy-twice",
        reports=("B001",),
        sentence="A completion that finds its requester busy is announced directly and again by the queued turn.",
        caught_by=("D2",),
        install=deciding(plan_completion=_announce_when_busy),
    ),
    Bug(
        name="hand-announces-too",
        reports=("B002",),
        sentence="A completion is announced by the requester and by the hand's own session, in the main channel.",
        caught_by=("D2",),
        install=deciding(plan_completion=_hand_announces_too),
    ),
)
