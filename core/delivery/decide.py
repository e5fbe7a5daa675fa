"""What to do after an attempt, and with what an earlier process left open: pure decisions.

An ambiguous send is never replayed blindly (invariant D4): with a native key it is resent under the same key, with
look-up the platform is asked after the request's lifetime, with neither it is parked for a person. A failure that is
proven to precede the platform is tried again. Wire failures are classified by `core.errors.PlatformError`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from core.config import DeliveryConfig
from core.delivery.states import DeliveryEvent
from core.errors import PlatformError
from core.reasons import Reason
from core.values import Capabilities, Idempotency, IntentState, Receipt


class Next(StrEnum):
    """What the delivery loop does next with a chunk."""

    #: store receipt, mirror and ack
    SETTLE = "settle"
    #: try again at a time
    RETRY = "retry"
    #: ask the platform at a time, then decide
    LOOKUP = "lookup"
    #: give up: no platform can say, a person must
    PARK = "park"
    #: give up for good
    FAIL = "fail"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is known after an attempt. `receipt` none: it failed, and the rest tells how."""

    receipt: Receipt | None = None
    reason: Reason = Reason.ACCEPTED
    retryable: bool = False
    #: it may have been accepted all the same
    ambiguous: bool = False
    #: seconds that the platform asks to wait
    retry_after: float | None = None
    detail: str = ""


class DeliveryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do after an attempt. `at`: seconds on the gateway's clock, for ``retry`` and ``lookup``."""

    next: Next
    #: the event for the state machine
    event: DeliveryEvent
    reason: Reason
    at: float | None = None


class RecoveryAction(StrEnum):
    """What to do with an intent that an earlier process left open."""

    #: surely not sent: an ordinary first attempt
    SEND = "send"
    #: maybe sent: again, under the same key
    RESEND = "resend"
    #: maybe sent: ask the platform when the request cannot arrive any more
    LOOKUP = "lookup"
    #: maybe sent, and nobody can tell
    PARK = "park"


class RecoveryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with one recovered intent, and why."""

    action: RecoveryAction
    reason: Reason


def outcome_of(error: PlatformError) -> Outcome:
    """What a failure tells."""
    return Outcome(
        reason=error.reason,
        retryable=error.retryable,
        ambiguous=error.ambiguous,
        retry_after=error.retry_after,
        detail=error.facts,
    )


def backoff(attempts: int, config: DeliveryConfig) -> float:
    """Seconds to wait after so many attempts."""
    return config.backoff[min(attempts, len(config.backoff)) - 1]


def after_attempt(
    outcome: Outcome, *, attempts: int, created_at: float, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """Decide after an attempt. `attempts` counts this one; times are seconds on the gateway's clock."""
    if outcome.receipt is not None:
        return DeliveryDecision(next=Next.SETTLE, event=DeliveryEvent.ACK_LAST, reason=outcome.reason)
    if outcome.ambiguous and can.idempotency is Idempotency.NONE:
        return DeliveryDecision(next=Next.PARK, event=DeliveryEvent.PARK, reason=Reason.PARKED)
    if outcome.ambiguous and can.idempotency is Idempotency.LOOKUP and attempts <= config.max_attempts:
        wait = now + can.in_flight_seconds
        return DeliveryDecision(next=Next.LOOKUP, event=DeliveryEvent.DEFER, reason=outcome.reason, at=wait)
    if not outcome.retryable and not outcome.ambiguous:
        return DeliveryDecision(next=Next.FAIL, event=DeliveryEvent.REFUSE, reason=outcome.reason)
    if attempts >= config.max_attempts:
        # The last attempt under a native key may have been accepted: that is not a proof of failure.
        if outcome.ambiguous:
            return DeliveryDecision(next=Next.PARK, event=DeliveryEvent.PARK, reason=Reason.PARKED)
        return DeliveryDecision(next=Next.FAIL, event=DeliveryEvent.EXHAUST, reason=Reason.ATTEMPTS_EXHAUSTED)
    at = now + max(backoff(attempts, config), outcome.retry_after or 0.0)
    if at - created_at > config.max_age and not outcome.ambiguous:
        return DeliveryDecision(next=Next.FAIL, event=DeliveryEvent.EXPIRE, reason=Reason.TOO_OLD)
    reason = Reason.SAME_KEY_RESEND if outcome.ambiguous else outcome.reason
    return DeliveryDecision(next=Next.RETRY, event=DeliveryEvent.DEFER, reason=reason, at=at)


def recover(
    state: IntentState, *, head: bool, attempts: int, can: Capabilities, config: DeliveryConfig
) -> RecoveryDecision:
    """Decide on an intent found open at start. `head`: it is the first open one of its conversation.

    The attempt that the dead process may have made counts: a message that kills its sender must not loop.

    With strict FIFO only the head can have been on the wire (DESIGN section 5.2). For platforms without key and
    look-up the row tells more: it is marked ``sending`` before each attempt, so an unmarked one was surely not sent.
    """
    if not head:
        return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED)
    if can.idempotency is Idempotency.KEY and attempts + 1 >= config.max_attempts:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.ATTEMPTS_EXHAUSTED)
    if can.idempotency is Idempotency.KEY:
        return RecoveryDecision(action=RecoveryAction.RESEND, reason=Reason.SAME_KEY_RESEND)
    if can.idempotency is Idempotency.LOOKUP:
        return RecoveryDecision(action=RecoveryAction.LOOKUP, reason=Reason.CRASH_AMBIGUOUS)
    if state is IntentState.SENDING:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.CRASH_AMBIGUOUS)
    return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED)
