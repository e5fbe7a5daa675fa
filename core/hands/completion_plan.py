"""Decides where a hand's result is reported and how, independently of its content.

By default the result becomes one turn of the requester's agent, in the requester's session, whose answer goes to the
origin that was fixed when the agent delegated. Work with its own session is reported only where the bound-delivery
router decides. A result is reported by exactly one path (invariant D2).
"""

import msgspec

from trunkline.core.bindings.completion_router import RouterDecision
from trunkline.core.config import HandsConfig
from trunkline.core.events.hands import CompletionStep
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.values import Address, DelegationId

TURN = "turn"
DIRECT = "direct"
#: a notice, without the result, that the result cannot be delivered to its bound conversation
NOTICE = "notice"
#: the result is only stored
KEPT = "kept"
#: the agent that delegated has ended it itself, or has ended
_KNOWN_TO_THE_CALLER = (Reason.CANCELLED_BY_AGENT, Reason.PARENT_ENDED)


class HandCompletion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The facts of an ended hand."""

    delegation: DelegationId
    hand: str
    agent: str
    session_key: str
    #: where the answer goes, fixed at the tool call
    reply_to: Address | None
    result: HandResult
    #: a turn of the requester's session is running
    requester_busy: bool
    #: that session was reset since, so it is no longer the session that delegated (invariant S4)
    requester_replaced: bool = False
    #: why it has no result of its own
    reason: Reason | None = None
    #: the router's decision; None: the work has no session of its own
    routed: RouterDecision | None = None
    #: if the router names no conversation: whether the result, or else a notice, goes to the requester
    may_fall_back: bool = False
    may_notice: bool = True


class CompletionPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The steps by which a result is reported."""

    steps: tuple[CompletionStep, ...]

    @property
    def denied(self) -> bool:
        """Whether the result is withheld, since the bound conversation cannot get any."""
        return all(step.mode in (NOTICE, KEPT) for step in self.steps)


def plan_completion(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """Decide how a result is reported. A busy requester changes nothing: turns of a session run in sequence.

    A result that arrives after its session was reset starts no turn in the new session; it is posted unchanged, once.
    """
    silent = is_silent(done, config)
    if silent is not None:
        return CompletionPlan(steps=(CompletionStep(mode=KEPT, reason=silent, address=None),))
    routed = done.routed
    if routed is None or (routed.binding is None and done.may_fall_back):
        return CompletionPlan(steps=(_report_at(done, config, done.reply_to, None),))
    if routed.binding is not None:
        return CompletionPlan(steps=(_report_at(done, config, routed.binding.conversation, routed.binding.binding_id),))
    # Fail closed: the content goes to no other place.
    notice = done.may_notice and done.reply_to is not None
    step = CompletionStep(
        mode=NOTICE if notice else KEPT, reason=routed.reason, address=done.reply_to if notice else None
    )
    return CompletionPlan(steps=(step,))


def is_silent(done: HandCompletion, config: HandsConfig) -> Reason | None:
    """The reason for not reporting an end; None for a reported end."""
    if done.reason in _KNOWN_TO_THE_CALLER:
        return done.reason
    off = {HandOutcome.TIMEOUT: config.on_timeout, HandOutcome.CANCELLED: config.on_cancel}
    return Reason.CALLBACK_OFF if off.get(done.result.outcome) == "silent" else None


def _report_at(done: HandCompletion, config: HandsConfig, place: Address | None, binding: str | None) -> CompletionStep:
    """Report the result at a place: as a turn of the requester's agent, or posted unchanged."""
    if done.requester_replaced:
        return CompletionStep(mode=DIRECT, reason=Reason.REQUESTER_REPLACED, address=place, binding=binding)
    if config.announce == DIRECT and place is not None:
        reason = Reason.DIRECT_ANNOUNCE if binding is None else Reason.BOUND_DESTINATION
        return CompletionStep(mode=DIRECT, reason=reason, address=place, binding=binding)
    reason = Reason.CALLBACK_TURN if binding is None else Reason.BOUND_DESTINATION
    return CompletionStep(mode=TURN, reason=reason, address=place, binding=binding)
