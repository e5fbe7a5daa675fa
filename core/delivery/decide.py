"""What to do after an attempt, and with what an earlier process left open: pure decisions.

An ambiguous send is never replayed blindly (invariant D4): with a native key it is resent under the same key, with
look-up the platform is asked after the request's lifetime, with neither it is parked for a person. A failure that is
proven to precede the platform is tried again. Wire failures are classified by `core.errors.PlatformError`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from core.channels import rules_for
from core.config import DeliveryConfig
from core.delivery.states import DeliveryEvent
from core.errors import PlatformError
from core.reasons import Reason
from core.values import Address, Capabilities, ChatKind, Idempotency, IntentState, Receipt


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
    #: store the receipt of another place than the one asked for; nothing more is sent
    MISPLACED = "misplaced"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is known after an attempt. `receipt` none: it failed, and the rest tells how."""

    receipt: Receipt | None = None
    reason: Reason = Reason.ACCEPTED
    #: the receipt shows another place than the one that was asked for (invariants R2, L3)
    misplaced: bool = False
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

    #: surely not sent: an ordinary attempt
    SEND = "send"
    #: maybe sent: again, under the same key
    RESEND = "resend"
    #: maybe sent: ask the platform when the request cannot arrive any more
    LOOKUP = "lookup"
    #: maybe sent, and nobody can tell
    PARK = "park"
    #: surely not sent, and too old to be sent now
    EXPIRE = "expire"


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What the store knows of an intent that an earlier process left open. Times: seconds on the gateway's clock."""

    state: IntentState
    #: the first open one of its conversation: only this one can have been on the wire
    head: bool
    attempts: int
    created_at: float
    #: it was to be tried again then, because of `reason`; none: it was not put off
    next_at: float | None = None
    reason: Reason | None = None


class RecoveryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with one recovered intent, and why. `at`: not before. `counts`: an attempt of the dead process."""

    action: RecoveryAction
    reason: Reason
    at: float | None = None
    counts: bool = False


def outcome_of(error: PlatformError) -> Outcome:
    """What a failure tells."""
    return Outcome(
        reason=error.reason,
        retryable=error.retryable,
        ambiguous=error.ambiguous,
        retry_after=error.retry_after,
        detail=error.facts,
    )


def is_misplaced(asked: Address, receipt: Receipt) -> bool:
    """Whether a receipt shows another place than the one that was asked for (B058).

    A direct conversation may have several names on its platform, so of it only the thread is compared.
    """
    if receipt.address == asked:
        return False
    found, rules = receipt.address, rules_for(asked.channel)
    if found.thread != asked.thread:
        return True
    if asked.kind is ChatKind.DIRECT:
        return False
    return rules.fold(asked.kind, found.conversation) != rules.fold(asked.kind, asked.conversation)


def backoff(attempts: int, config: DeliveryConfig) -> float:
    """Seconds to wait after so many attempts."""
    return config.backoff[min(attempts, len(config.backoff)) - 1]


def after_attempt(
    outcome: Outcome, *, attempts: int, created_at: float, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """Decide after an attempt. `attempts` counts this one; times are seconds on the gateway's clock."""
    if outcome.receipt is not None and outcome.misplaced:
        return DeliveryDecision(next=Next.MISPLACED, event=DeliveryEvent.MISPLACE, reason=Reason.MISPLACED)
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
    if at - created_at > config.max_age:
        if outcome.ambiguous:
            return DeliveryDecision(next=Next.PARK, event=DeliveryEvent.PARK, reason=Reason.PARKED)
        return DeliveryDecision(next=Next.FAIL, event=DeliveryEvent.EXPIRE, reason=Reason.TOO_OLD)
    reason = Reason.SAME_KEY_RESEND if outcome.ambiguous else outcome.reason
    return DeliveryDecision(next=Next.RETRY, event=DeliveryEvent.DEFER, reason=reason, at=at)


#: reasons for which an intent is put off while it may have been accepted
_IN_DOUBT = frozenset({Reason.RESPONSE_LOST, Reason.SAME_KEY_RESEND, Reason.CRASH_AMBIGUOUS, Reason.LOOKUP_FAILED})


def recover(left: Left, *, now: float, can: Capabilities, config: DeliveryConfig) -> RecoveryDecision:
    """Decide on an intent found open at start.

    With strict FIFO only the head can have been on the wire (DESIGN section 5.2), and not while it was put off. For
    platforms without key and look-up the row tells more: it is marked ``sending`` before each attempt. The attempt that
    the dead process may have made counts: a message that kills its sender must not loop.
    """
    resting = left.next_at is not None and now < left.next_at
    if _surely_unsent(left, resting=resting, can=can):
        if left.attempts and now - left.created_at > config.max_age:
            return RecoveryDecision(action=RecoveryAction.EXPIRE, reason=Reason.TOO_OLD)
        at = left.next_at if resting else None
        return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED, at=at)
    if can.idempotency is Idempotency.NONE:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.CRASH_AMBIGUOUS)
    if now - left.created_at > config.max_age:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.TOO_OLD)
    if can.idempotency is Idempotency.LOOKUP:
        at = left.next_at if resting else now + can.in_flight_seconds
        action, reason = RecoveryAction.LOOKUP, Reason.CRASH_AMBIGUOUS
        return RecoveryDecision(action=action, reason=reason, at=at, counts=not resting)
    if left.attempts + (not resting) >= config.max_attempts:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.ATTEMPTS_EXHAUSTED)
    at = left.next_at if resting else None
    action, reason = RecoveryAction.RESEND, Reason.SAME_KEY_RESEND
    return RecoveryDecision(action=action, reason=reason, at=at, counts=not resting)


def _surely_unsent(left: Left, *, resting: bool, can: Capabilities) -> bool:
    """Whether nothing of the next chunk can have reached the platform."""
    if not left.head:
        return True
    if resting:
        return left.reason not in _IN_DOUBT
    return can.idempotency is Idempotency.NONE and left.state is not IntentState.SENDING
