"""Hands: delegations to agents that work asynchronously, and how their results are reported."""

from trunkline.core.hands.completion_plan import CompletionPlan, HandCompletion, plan_completion
from trunkline.core.hands.port import HandRunner, HandTask
from trunkline.core.hands.states import DELEGATION_TRANSITIONS, DelegationEvent, DelegationState, next_delegation_state

__all__ = [
    "DELEGATION_TRANSITIONS",
    "CompletionPlan",
    "DelegationEvent",
    "DelegationState",
    "HandCompletion",
    "HandRunner",
    "HandTask",
    "next_delegation_state",
    "plan_completion",
]
