"""Decides what to do after an attempt, and with intents that an earlier process left open. Pure.

An ambiguous send is never replayed blindly (invariant D4): with idempotency keys it is resent under the same key, with
look-up the platform is asked after the request's lifetime, otherwise it is parked for an operator. A failure that
provably never reached the platform is retried. `trunkline.core.errors.PlatformError` classifies wire failures.
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
    """The next step of the delivery loop for a chunk."""

    #: store receipt, mirror and ack
    SETTLE = "settle"
    #: try again at a time
    RETRY = "retry"
    #: look it up on the platform at a time, then decide
    LOOKUP = "lookup"
    #: give up: an operator must decide
    PARK = "park"
    #: give up for good
    FAIL = "fail"
    #: store the receipt, which shows the wrong place, and send nothing more
    MISPLACED = "misplaced"
    #: the direct transport provably did not reach the platform: use the gateway transport at once
    FALLBACK = "fallback"
    #: the webhook is gone: post as the bot, in the same place, at once
    AS_BOT = "as-bot"


class AttemptOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an attempt. Without a receipt it failed, and the other fields say how."""

    receipt: Receipt | None = None
    reason: Reason = Reason.ACCEPTED
    #: the receipt shows another place than the requested one (invariants R2, L3)
    misplaced: bool = False
    retryable: bool = False
    #: it may have been accepted nevertheless
    ambiguous: bool = False
    #: the request provably never reached the platform
    unsent: bool = False
    #: seconds that the platform asks to wait
    retry_after: float | None = None
    #: the thread is archived and could be unarchived
    archived: bool = False
    detail: str = ""


class AttemptFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The history of a chunk besides the outcome of its last attempt. Times are seconds on the gateway's clock."""

    #: number of attempts of this chunk, including the last one
    attempts: int
    created_at: float
    #: since then an attempt may have been accepted unnoticed
    doubt_at: float | None = None
    transport: Transport = Transport.DIRECT
    #: it has already been resent with a mark
    marked: bool = False
    #: make only one attempt
    best_effort: bool = False
    #: a webhook posts it, and the bot may do so instead
    bot_instead: bool = False


class DeliveryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision after an attempt. `at`: seconds on the gateway's clock, for ``retry`` and ``lookup``."""

    next: NextStep
    #: the event for the state machine
    event: DeliveryEvent
    reason: Reason
    at: float | None = None
    #: the next attempt is visibly marked as a possible repeat
    mark: bool = False
    #: time of the first attempt that may have been accepted unnoticed; None: the fate of all is known
    doubt_at: float | None = None


class RecoveryAction(StrEnum):
    """The first step for an intent that an earlier process left open."""

    #: surely not sent: make an ordinary attempt
    SEND = "send"
    #: perhaps sent: send it again under the same key
    RESEND = "resend"
    #: perhaps sent: look it up once the request can no longer arrive
    LOOKUP = "lookup"
    #: perhaps sent, and the platform cannot be asked
    PARK = "park"
    #: surely not sent, and now too old
    EXPIRE = "expire"


class InterruptedIntent(msgspec.Struct, frozen=True, kw_only=True):
    """The stored facts of an intent that an earlier process left open. Times are seconds on the gateway's clock."""

    state: IntentState
    #: it is the first open intent of its conversation; only that one can have been on the wire
    head: bool
    attempts: int
    created_at: float
    #: when it was to be retried, because of `reason`; None: it was not deferred
    next_at: float | None = None
    reason: Reason | None = None
    #: time of the last write; any attempt of the dead process came later
    updated_at: float = 0.0
    doubt_at: float | None = None
    marked: bool = False


class RecoveryDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision on a recovered intent. `at`: not before. `counts`: count an attempt of the dead process."""

    action: RecoveryAction
    reason: Reason
    at: float | None = None
    counts: bool = False
    #: the attempt is visibly marked as a possible repeat
    mark: bool = False


def outcome_of(error: PlatformError) -> AttemptOutcome:
    """The outcome of an attempt that failed with a platform error."""
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
    """The outcome of an attempt in which the adapter raised any error.

    Any other error than `PlatformError` is a defect of the adapter, so the attempt is ambiguous. A permanent error
    message means a refusal for any class of error, except where the adapter says that the outcome is ambiguous.
    """
    known = outcome_of(error) if isinstance(error, PlatformError) else None
    if known is not None and (known.ambiguous or not known.retryable):
        return known
    words = _words(error) if known is None else known.detail
    if is_permanent(words):
        return AttemptOutcome(reason=Reason.REFUSED, detail=words)
    return known or outcome_of(Ambiguous(f"{type(error).__name__}: {words}"))


def _words(error: Exception) -> str:
    """The message of an error, if it can be formatted."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 -- one more defect of the adapter; it must not hide the first one
        return "unprintable error"


def is_misplaced(asked: Address, receipt: Receipt) -> bool:
    """Whether a receipt shows another place than the requested one.

    A direct conversation may have several ids on its platform, so only its thread is compared.
    """
    if receipt.address == asked:
        return False
    found, rules = receipt.address, rules_for(asked.channel)
    if found.thread != asked.thread:
        return True
    if asked.kind is ChatKind.DIRECT:
        return False
    return rules.fold(asked.kind, found.conversation) != rules.fold(asked.kind, asked.conversation)


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
    # Only a look-up that does not find the message ends the doubt.
    doubt = None if outcome.reason is Reason.NOT_FOUND_BY_LOOKUP else tried.doubt_at
    if outcome.unsent and doubt is None and can.mode is DeliveryMode.HYBRID and tried.transport is Transport.DIRECT:
        return DeliveryDecision(next=NextStep.FALLBACK, event=DeliveryEvent.DEFER, reason=Reason.GATEWAY_PATH, at=now)
    return _not_taken(outcome, tried, doubt, now, can, config)


def _in_doubt(
    outcome: AttemptOutcome, tried: AttemptFacts, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """Decide after an ambiguous attempt, by what the platform offers."""
    since = now if tried.doubt_at is None else tried.doubt_at
    last = tried.best_effort or tried.attempts >= config.max_attempts
    if can.idempotency is Idempotency.NONE:
        if config.ambiguous == "park" or tried.marked or last:
            return _park(Reason.PARKED)
        at = now + wait_after(tried.attempts, config.backoff)
        return _again(Reason.MARKED_RESEND, at, tried, since, config, mark=True)
    if can.idempotency is Idempotency.LOOKUP and tried.attempts <= config.max_attempts:
        at = now + can.in_flight_seconds
        return DeliveryDecision(
            next=NextStep.LOOKUP, event=DeliveryEvent.DEFER, reason=outcome.reason, at=at, doubt_at=since
        )
    # The last attempt under an idempotency key may have been accepted: its failure is no proof.
    if last:
        return _park(Reason.PARKED)
    at = now + max(wait_after(tried.attempts, config.backoff), outcome.retry_after or 0.0)
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
    at = now + max(wait_after(tried.attempts, config.backoff), outcome.retry_after or 0.0)
    if doubt is not None and can.key_seconds is not None and at - doubt > can.key_seconds:
        return _park(Reason.KEY_EXPIRED)
    return _again(outcome.reason, at, tried, doubt, config)


def _again(
    reason: Reason, at: float, tried: AttemptFacts, doubt: float | None, config: DeliveryConfig, *, mark: bool = False
) -> DeliveryDecision:
    """Retry at a time, unless the intent would be too old then."""
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


#: reasons to defer an intent that may have been accepted
_IN_DOUBT = frozenset({Reason.RESPONSE_LOST, Reason.SAME_KEY_RESEND, Reason.CRASH_AMBIGUOUS, Reason.LOOKUP_FAILED})


def recover(intent: InterruptedIntent, *, now: float, can: Capabilities, config: DeliveryConfig) -> RecoveryDecision:
    """Decide on an intent found open at start.

    Delivery is strictly FIFO, so only the head of a conversation can have been on the wire, and not while it was
    deferred. For platforms without idempotency keys and look-up, the row is marked ``sending`` before each attempt. An
    attempt that the dead process may have made counts, so that a message that kills its sender does not loop.
    """
    deferred = intent.next_at is not None and now < intent.next_at
    if _surely_unsent(intent, deferred=deferred, can=can):
        if intent.attempts and now - intent.created_at > config.max_age:
            return RecoveryDecision(action=RecoveryAction.EXPIRE, reason=Reason.TOO_OLD)
        at = intent.next_at if deferred else None
        return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED, at=at)
    if can.idempotency is Idempotency.NONE:
        return _recover_marked(intent, deferred=deferred, config=config)
    if now - intent.created_at > config.max_age:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.TOO_OLD)
    if can.idempotency is Idempotency.LOOKUP:
        at = intent.next_at if deferred else now + can.in_flight_seconds
        action, reason = RecoveryAction.LOOKUP, Reason.CRASH_AMBIGUOUS
        return RecoveryDecision(action=action, reason=reason, at=at, counts=not deferred)
    if intent.attempts + (not deferred) >= config.max_attempts:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.ATTEMPTS_EXHAUSTED)
    at = intent.next_at if deferred else None
    since = intent.updated_at if intent.doubt_at is None else intent.doubt_at
    if can.key_seconds is not None and (at or now) - since > can.key_seconds:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.KEY_EXPIRED)
    action, reason = RecoveryAction.RESEND, Reason.SAME_KEY_RESEND
    return RecoveryDecision(action=action, reason=reason, at=at, counts=not deferred)


def _recover_marked(intent: InterruptedIntent, *, deferred: bool, config: DeliveryConfig) -> RecoveryDecision:
    """Decide on an intent that was perhaps sent to a platform that cannot be asked: park it, or resend it marked."""
    if deferred and intent.marked:
        # The marked attempt has not been made yet.
        return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.MARKED_RESEND, at=intent.next_at, mark=True)
    if deferred or config.ambiguous == "park" or intent.marked or intent.attempts + 1 >= config.max_attempts:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.CRASH_AMBIGUOUS)
    action, reason = RecoveryAction.RESEND, Reason.MARKED_RESEND
    return RecoveryDecision(action=action, reason=reason, counts=True, mark=True)


def _surely_unsent(intent: InterruptedIntent, *, deferred: bool, can: Capabilities) -> bool:
    """Whether the next chunk cannot have reached the platform."""
    if not intent.head:
        return True
    if deferred:
        return intent.doubt_at is None and intent.reason not in _IN_DOUBT
    return can.idempotency is Idempotency.NONE and intent.state is not IntentState.SENDING
