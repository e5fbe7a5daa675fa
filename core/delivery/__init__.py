"""Delivery: the life cycle of an intent, as pure decisions (`states`, `policy`, `recovery`, `prepare`)."""

from trunkline.core.delivery.policy import AttemptOutcome, NextStep, after_attempt, before_attempt
from trunkline.core.delivery.prepare import chunk_text
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, recover
from trunkline.core.states.intent import TRANSITIONS, DeliveryEvent, is_final, next_state

__all__ = [
    "TRANSITIONS",
    "AttemptOutcome",
    "DeliveryEvent",
    "InterruptedIntent",
    "NextStep",
    "RecoveryAction",
    "after_attempt",
    "before_attempt",
    "chunk_text",
    "is_final",
    "next_state",
    "recover",
]
