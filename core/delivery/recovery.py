"""Decides on the intents that an earlier process left open. Pure.

Delivery is strictly FIFO, so only the head of a conversation can have been on the wire. The state ``sending`` says that
an attempt may have left since the last write: `needs_mark` says which attempts are marked with it. Only the first
attempt of a chunk may have left unmarked, where the platform has keys that do not age, or look-up.
"""

from enum import StrEnum

import msgspec

from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import counted_attempts, is_too_old, key_is_lost, takes_mark, wait_after
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Idempotency, IntentState


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


class InterruptedIntent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The stored facts of an intent that an earlier process left open. Times are seconds on the gateway's clock."""

    state: IntentState
    #: it is the first open intent of its conversation; only that one can have been on the wire
    head: bool
    attempts: int
    #: of these, those that an earlier death interrupted
    interrupted: int = 0
    created_at: float
    #: when it was to be retried, because of `reason`; None: it was not deferred
    next_at: float | None = None
    reason: Reason | None = None
    #: time of the last write; any attempt of the dead process left later
    updated_at: float = 0.0
    doubt_at: float | None = None
    marked: bool = False
    #: an earlier chunk of the same message was accepted
    begun: bool = False


class RecoveryDecision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The decision on a recovered intent. `at`: not before.

    `counts`: count an attempt that the dead process may have made without a mark. An attempt that was marked is counted
    already, and one that was surely not made never counts.
    """

    action: RecoveryAction
    reason: Reason
    at: float | None = None
    counts: bool = False
    #: the last attempt was interrupted, and the platform can say later what became of it
    interrupted: bool = False
    #: the attempt is visibly marked as a possible repeat
    mark: bool = False
    #: when the first attempt left, at the earliest, that may have been accepted; None: surely none was
    doubt_at: float | None = None


#: reasons to defer an intent that may have been accepted. Earlier versions stored no `doubt_at`
_IN_DOUBT = frozenset({Reason.RESPONSE_LOST, Reason.SAME_KEY_RESEND, Reason.CRASH_AMBIGUOUS, Reason.LOOKUP_FAILED})


def needs_mark(can: Capabilities, attempts: int) -> bool:
    """Whether the next attempt of a chunk is stored before it is made. `attempts`: those made before.

    Where nobody can find out later whether it was accepted, the mark says what may have been sent; where keys age, it
    says since when. A retry is rare, and its mark keeps recovery from counting attempts that were never made.
    """
    return attempts > 0 or can.idempotency is Idempotency.NONE or can.key_seconds is not None


def doubt_of(intent: InterruptedIntent, can: Capabilities | None) -> float | None:
    """When the first attempt that may have been accepted left, at the earliest; None: surely none was.

    `can` None: the account has no adapter, so that its platform is unknown.
    """
    if intent.doubt_at is not None:
        return intent.doubt_at
    if intent.state is IntentState.SENDING:
        # Wherever it stands now: what an operator has reopened comes before it.
        return intent.updated_at
    left = intent.head and (_may_have_left(intent, can) or intent.reason in _IN_DOUBT)
    return intent.updated_at if left else None


def _may_have_left(intent: InterruptedIntent, can: Capabilities | None) -> bool:
    """Whether an attempt may have left without a mark since the last write."""
    if not intent.head or intent.state is IntentState.SENDING:
        return False
    if intent.attempts:
        # Left by a version that marked no retries (migration 5).
        return intent.reason is Reason.RECOVERED and (can is None or can.idempotency is not Idempotency.NONE)
    return can is None or not needs_mark(can, 0)


def recover(intent: InterruptedIntent, *, now: float, can: Capabilities, config: DeliveryConfig) -> RecoveryDecision:
    """Decide on an intent found open at start.

    What was to be retried or looked up later keeps its time, and what is due is done at once.
    """
    since, left = doubt_of(intent, can), _may_have_left(intent, can)
    resting = intent.state is not IntentState.SENDING and not left
    at = intent.next_at if resting and intent.next_at is not None and now < intent.next_at else None
    old = is_too_old(intent.created_at, now, config, begun=intent.begun)
    if since is None:
        if old:
            return RecoveryDecision(action=RecoveryAction.EXPIRE, reason=Reason.TOO_OLD)
        return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED, at=at)
    if can.idempotency is Idempotency.NONE:
        return _recover_marked(intent, since, at, can, config)
    if can.idempotency is Idempotency.LOOKUP:
        # Whatever its age: the platform knows whether people have it.
        at = at if resting else now + can.in_flight_seconds
        action, reason = RecoveryAction.LOOKUP, Reason.CRASH_AMBIGUOUS
        return RecoveryDecision(
            action=action, reason=reason, at=at, counts=left, interrupted=not resting, doubt_at=since
        )
    interrupted = intent.interrupted + (not resting)
    if not resting and interrupted > 1:
        # It may be what ends the process: everything else goes first.
        at = now + wait_after(interrupted - 1, config.backoff)
    if not resting and can.repeat_after:
        at = max(at or now, now + can.repeat_after)
    end = _end_of_key(intent, since, at or now, left=left, interrupted=interrupted, old=old, can=can, config=config)
    if end is not None:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=end, doubt_at=since)
    action, reason = RecoveryAction.RESEND, Reason.SAME_KEY_RESEND
    return RecoveryDecision(action=action, reason=reason, at=at, counts=left, interrupted=not resting, doubt_at=since)


def _end_of_key(
    intent: InterruptedIntent,
    since: float,
    at: float,
    *,
    left: bool,
    interrupted: int,
    old: bool,
    can: Capabilities,
    config: DeliveryConfig,
) -> Reason | None:
    """Why an intent in doubt is not resent under its key; None: it is."""
    if old:
        return Reason.TOO_OLD
    if counted_attempts(intent.attempts + left, interrupted, config) >= config.max_attempts:
        return Reason.ATTEMPTS_EXHAUSTED
    return Reason.KEY_EXPIRED if key_is_lost(since, at, can, config) else None


def _recover_marked(
    intent: InterruptedIntent, since: float, at: float | None, can: Capabilities, config: DeliveryConfig
) -> RecoveryDecision:
    """Decide on an intent that was perhaps sent to a platform that cannot be asked: park it, or resend it marked."""
    if intent.state is not IntentState.SENDING and intent.marked:
        # The marked attempt has not been made yet.
        action, reason = RecoveryAction.SEND, Reason.MARKED_RESEND
        return RecoveryDecision(action=action, reason=reason, at=at, mark=True, doubt_at=since)
    resting = intent.state is not IntentState.SENDING
    if resting or not takes_mark(can, config) or intent.marked or intent.attempts >= config.max_attempts:
        return RecoveryDecision(action=RecoveryAction.PARK, reason=Reason.CRASH_AMBIGUOUS, doubt_at=since)
    action, reason = RecoveryAction.RESEND, Reason.MARKED_RESEND
    return RecoveryDecision(action=action, reason=reason, mark=True, doubt_at=since)
