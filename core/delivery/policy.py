"""What to do after an attempt, and with what an earlier process left open: pure decisions.

An ambiguous send is never replayed blindly (invariant D4): with a native key it is resent under the same key, with
look-up the platform is asked after the request's lifetime, with neither it is parked for a person. A failure that is
proven to precede the platform is tried again. Wire failures are classified by `trunkline.core.errors.PlatformError`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from trunkline.core.channels import rules_for
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.backoff import is_permanent, wait_after
from trunkline.core.delivery.states import DeliveryEvent
from trunkline.core.errors import Ambiguous, NotSent, PlaceArchived, PlatformError
from trunkline.core.reasons import Reason
from trunkline.core.values import (
    Address,
    Capabilities,
    ChatKind,
    DeliveryMode,
    Idempotency,
    IntentState,
    Receipt,
    Transport,
)


class NextStep(StrEnum):
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
    #: the direct path provably did not reach the platform: by the gateway path, at once
    FALLBACK = "fallback"
    #: the webhook that should speak is gone: as the bot, in the same place, at once
    AS_BOT = "as-bot"


class AttemptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is known after an attempt. `receipt` none: it failed, and the rest tells how."""

    receipt: Receipt | None = None
    reason: Reason = Reason.ACCEPTED
    #: the receipt shows another place than the one that was asked for (invariants R2, L3)
    misplaced: bool = False
    retryable: bool = False
    #: it may have been accepted all the same
    ambiguous: bool = False
    #: proven: the request never reached the platform
    unsent: bool = False
    #: seconds that the platform asks to wait
    retry_after: float | None = None
    #: the thread is archived: it may take messages again one day
    archived: bool = False
    detail: str = ""


class AttemptFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a chunk beside its last attempt. Times: seconds on the gateway's clock."""

    #: attempts of this chunk, with the last one
    attempts: int
    created_at: float
    #: since then an attempt may have been accepted without anybody knowing
    doubt_at: float | None = None
    transport: Transport = Transport.DIRECT
    #: it was sent once more with a mark already
    marked: bool = False
    #: one attempt, and no more
    best_effort: bool = False
    #: it is said by somebody else than the bot, who may say it instead
    bot_instead: bool = False


class DeliveryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do after an attempt. `at`: seconds on the gateway's clock, for ``retry`` and ``lookup``."""

    next: NextStep
    #: the event for the state machine
    event: DeliveryEvent
    reason: Reason
    at: float | None = None
    #: the next attempt is visibly marked as a possible repeat
    mark: bool = False
    #: from then on nobody knows of an attempt whether it was accepted; none: all are known
    doubt_at: float | None = None


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


class InterruptedIntent(msgspec.Struct, frozen=True, kw_only=True):
    """What the store knows of an intent that an earlier process left open. Times: seconds on the gateway's clock."""

    state: IntentState
    #: the first open one of its conversation: only this one can have been on the wire
    head: bool
    attempts: int
    created_at: float
    #: it was to be tried again then, because of `reason`; none: it was not put off
    next_at: float | None = None
    reason: Reason | None = None
    #: last written then: an attempt that the dead process made came later
    updated_at: float = 0.0
    doubt_at: float | None = None
    marked: bool = False


class RecoveryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What to do with one recovered intent, and why. `at`: not before. `counts`: an attempt of the dead process."""

    action: RecoveryAction
    reason: Reason
    at: float | None = None
    counts: bool = False
    #: the attempt is visibly marked as a possible repeat
    mark: bool = False


def outcome_of(error: PlatformError) -> AttemptOutcome:
    """What a failure tells."""
    return AttemptOutcome(
        reason=error.reason,
        retryable=error.retryable,
        ambiguous=error.ambiguous,
        unsent=isinstance(error, NotSent),
        archived=isinstance(error, PlaceArchived),
        retry_after=error.retry_after,
        detail=error.facts,
    )


def outcome_of_error(error: Exception) -> AttemptOutcome:
    """What anything that an adapter raises tells.

    What is no `PlatformError` is a defect of the adapter: nobody knows how far it came. Words that no retry mends
    refuse the message for good, whatever they came in; but an adapter that says that it does not know is believed.
    """
    known = outcome_of(error) if isinstance(error, PlatformError) else None
    if known is not None and (known.ambiguous or not known.retryable):
        return known
    words = _words(error) if known is None else known.detail
    if is_permanent(words):
        return AttemptOutcome(reason=Reason.REFUSED, detail=words)
    return known or outcome_of(Ambiguous(f"{type(error).__name__}: {words}"))


def _words(error: Exception) -> str:
    """What an error says, if it can."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- one more defect of the adapter; it must not hide the first one
        return "it cannot be told"


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
    return wait_after(attempts, config.backoff)


def after_attempt(
    outcome: AttemptOutcome, *, tried: AttemptFacts, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """Decide after an attempt. `now`: seconds on the gateway's clock."""
    if outcome.receipt is not None and outcome.misplaced:
        return DeliveryDecision(next=NextStep.MISPLACED, event=DeliveryEvent.MISPLACE, reason=Reason.MISPLACED)
    if outcome.receipt is not None:
        return DeliveryDecision(next=NextStep.SETTLE, event=DeliveryEvent.ACK_LAST, reason=outcome.reason)
    if outcome.ambiguous:
        return _in_doubt(outcome, tried, now, can, config)
    # A look-up that does not find it ends every doubt; nothing else does.
    doubt = None if outcome.reason is Reason.NOT_FOUND_BY_LOOKUP else tried.doubt_at
    if outcome.unsent and doubt is None and can.mode is DeliveryMode.HYBRID and tried.transport is Transport.DIRECT:
        return DeliveryDecision(next=NextStep.FALLBACK, event=DeliveryEvent.DEFER, reason=Reason.GATEWAY_PATH, at=now)
    return _not_taken(outcome, tried, doubt, now, can, config)


def _in_doubt(
    outcome: AttemptOutcome, tried: AttemptFacts, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """It may have been accepted: by what the platform can tell."""
    since = now if tried.doubt_at is None else tried.doubt_at
    last = tried.best_effort or tried.attempts >= config.max_attempts
    if can.idempotency is Idempotency.NONE:
        if config.ambiguous == "park" or tried.marked or last:
            return _park(Reason.PARKED)
        at = now + backoff(tried.attempts, config)
        return _again(Reason.MARKED_RESEND, at, tried, since, config, mark=True)
    if can.idempotency is Idempotency.LOOKUP and tried.attempts <= config.max_attempts:
        at = now + can.in_flight_seconds
        return DeliveryDecision(
            next=NextStep.LOOKUP, event=DeliveryEvent.DEFER, reason=outcome.reason, at=at, doubt_at=since
        )
    # The last attempt under a native key may have been accepted: that is not a proof of failure.
    if last:
        return _park(Reason.PARKED)
    at = now + max(backoff(tried.attempts, config), outcome.retry_after or 0.0)
    if can.key_seconds is not None and at - since > can.key_seconds:
        return _park(Reason.KEY_EXPIRED)
    return _again(Reason.SAME_KEY_RESEND, at, tried, since, config)


def _not_taken(
    outcome: AttemptOutcome,
    tried: AttemptFacts,
    doubt: float | None,
    now: float,
    can: Capabilities,
    config: DeliveryConfig,
) -> DeliveryDecision:
    """This attempt was not accepted. With an earlier one in doubt, that is no proof that the chunk was not."""
    if outcome.reason is Reason.IDENTITY_GONE and tried.bot_instead and doubt is None:
        return DeliveryDecision(next=NextStep.AS_BOT, event=DeliveryEvent.DEFER, reason=outcome.reason, at=now)
    if not outcome.retryable:
        return _give_up(DeliveryEvent.REFUSE, outcome.reason, doubt)
    if tried.best_effort or tried.attempts >= config.max_attempts:
        return _give_up(DeliveryEvent.EXHAUST, Reason.ATTEMPTS_EXHAUSTED, doubt)
    at = now + max(backoff(tried.attempts, config), outcome.retry_after or 0.0)
    if doubt is not None and can.key_seconds is not None and at - doubt > can.key_seconds:
        return _park(Reason.KEY_EXPIRED)
    return _again(outcome.reason, at, tried, doubt, config)


def _again(
    reason: Reason, at: float, tried: AttemptFacts, doubt: float | None, config: DeliveryConfig, *, mark: bool = False
) -> DeliveryDecision:
    """Try again at a time, if it is not too old by then."""
    if at - tried.created_at > config.max_age:
        return _give_up(DeliveryEvent.EXPIRE, Reason.TOO_OLD, doubt)
    return DeliveryDecision(
        next=NextStep.RETRY, event=DeliveryEvent.DEFER, reason=reason, at=at, mark=mark, doubt_at=doubt
    )


def _give_up(event: DeliveryEvent, reason: Reason, doubt: float | None) -> DeliveryDecision:
    if doubt is not None:
        return _park(Reason.PARKED)
    return DeliveryDecision(next=NextStep.FAIL, event=event, reason=reason)


def _park(reason: Reason) -> DeliveryDecision:
    return DeliveryDecision(next=NextStep.PARK, event=DeliveryEvent.PARK, reason=reason)


#: reasons for which an intent is put off while it may have been accepted
_IN_DOUBT = frozenset({Reason.RESPONSE_LOST, Reason.SAME_KEY_RESEND, Reason.CRASH_AMBIGUOUS, Reason.LOOKUP_FAILED})


def recover(left: InterruptedIntent, *, now: float, can: Capabilities, config: DeliveryConfig) -> RecoveryDecision:
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
        return _recover_marked(left, resting=resting, config=config)
    if now - left.created_at > config.max_age:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.TOO_OLD)
    if can.idempotency is Idempotency.LOOKUP:
        at = left.next_at if resting else now + can.in_flight_seconds
        action, reason = RecoveryAction.LOOKUP, Reason.CRASH_AMBIGUOUS
        return RecoveryDecision(action=action, reason=reason, at=at, counts=not resting)
    if left.attempts + (not resting) >= config.max_attempts:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.ATTEMPTS_EXHAUSTED)
    at = left.next_at if resting else None
    since = left.updated_at if left.doubt_at is None else left.doubt_at
    if can.key_seconds is not None and (at or now) - since > can.key_seconds:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.KEY_EXPIRED)
    action, reason = RecoveryAction.RESEND, Reason.SAME_KEY_RESEND
    return RecoveryDecision(action=action, reason=reason, at=at, counts=not resting)


def _recover_marked(left: InterruptedIntent, *, resting: bool, config: DeliveryConfig) -> RecoveryDecision:
    """Maybe sent, and nobody can tell: parked, or by policy sent once more with a mark."""
    if resting and left.marked:
        # The marked attempt is still to come.
        return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.MARKED_RESEND, at=left.next_at, mark=True)
    if resting or config.ambiguous == "park" or left.marked or left.attempts + 1 >= config.max_attempts:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.CRASH_AMBIGUOUS)
    action, reason = RecoveryAction.RESEND, Reason.MARKED_RESEND
    return RecoveryDecision(action=action, reason=reason, counts=True, mark=True)


def _surely_unsent(left: InterruptedIntent, *, resting: bool, can: Capabilities) -> bool:
    """Whether nothing of the next chunk can have reached the platform."""
    if not left.head:
        return True
    if resting:
        return left.doubt_at is None and left.reason not in _IN_DOUBT
    return can.idempotency is Idempotency.NONE and left.state is not IntentState.SENDING
