"""Who is told of a hand's result, and how: the destination is decided here, apart from the content (seed 002, 004).

By default the result becomes one turn of the requester's agent, in the requester's session, whose answer goes to the
origin that was frozen when the agent delegated. Work that has a session of its own is told where the bound-delivery
router says, and nowhere else. It is told by exactly one path (invariant D2).
"""

from __future__ import annotations

import msgspec

from trunkline.core.bindings.completion_router import RouterDecision
from trunkline.core.config import HandsConfig
from trunkline.core.events.gateway import CompletionStep
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, DelegationId, HandResult

TURN = "turn"
DIRECT = "direct"
#: a word that the result cannot be told where it belongs, without the result
NOTICE = "notice"
#: nobody is told; the result is kept
KEPT = "kept"


class HandCompletion(msgspec.Struct, frozen=True, kw_only=True):
    """A hand that has just ended: what the decision may look at."""

    delegation: DelegationId
    hand: str
    agent: str
    session_key: str
    #: frozen at the tool call
    origin: Address | None
    result: HandResult
    #: a turn of the requester's session is running
    requester_busy: bool
    #: that session was reset since: it is not the one that delegated any more (S5)
    requester_replaced: bool = False
    #: where the router sends it; none: the work has no session of its own, and the router is not asked
    routed: RouterDecision | None = None
    #: what is done where the router names no conversation: it goes to the requester, or only a notice does
    may_fall_back: bool = False
    may_notice: bool = True


class CompletionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The steps by which a result is told."""

    steps: tuple[CompletionStep, ...]

    @property
    def denied(self) -> bool:
        """Whether the result goes nowhere, since it cannot go where it belongs."""
        return all(step.mode in (NOTICE, KEPT) for step in self.steps)


def plan_completion(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """Decide how a result is told. A busy requester changes nothing: its turns run one after another.

    A result that comes after its session was reset starts no turn in the new one. Its destination gets it as it is,
    once.
    """
    routed = done.routed
    if routed is None or (routed.binding is None and done.may_fall_back):
        return CompletionPlan(steps=(_told_at(done, config, done.origin, None),))
    if routed.binding is not None:
        return CompletionPlan(steps=(_told_at(done, config, routed.binding.conversation, routed.binding.binding_id),))
    # Fail closed: the content goes to no other place (seed 002, "no hidden redirect").
    notice = done.may_notice and done.origin is not None
    step = CompletionStep(
        mode=NOTICE if notice else KEPT, reason=routed.reason, address=done.origin if notice else None
    )
    return CompletionPlan(steps=(step,))


def _told_at(done: HandCompletion, config: HandsConfig, place: Address | None, binding: str | None) -> CompletionStep:
    """The result at a place: told by the requester's agent, or posted as it is."""
    if done.requester_replaced:
        return CompletionStep(mode=DIRECT, reason=Reason.REQUESTER_REPLACED, address=place, binding=binding)
    if config.announce == DIRECT and place is not None:
        reason = Reason.DIRECT_ANNOUNCE if binding is None else Reason.BOUND_DESTINATION
        return CompletionStep(mode=DIRECT, reason=reason, address=place, binding=binding)
    reason = Reason.CALLBACK_TURN if binding is None else Reason.BOUND_DESTINATION
    return CompletionStep(mode=TURN, reason=reason, address=place, binding=binding)
