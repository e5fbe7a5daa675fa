"""Decides what to do before and after an attempt. Pure. `recovery` decides on what an earlier process left open.

An ambiguous send is never replayed blindly (invariant D4): with idempotency keys it is resent under the same key for as
long as the platform surely knows the key, with look-up the platform is asked after the request's lifetime, otherwise it
is parked for an operator. A failure that provably never reached the platform is retried.
`trunkline.core.errors.PlatformError` classifies wire failures.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.core.config import DeliveryConfig
from trunkline.core.errors import Ambiguous, NotSent, PlatformError
from trunkline.core.reasons import Reason
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.values import Capabilities, Capability, DeliveryMode, Idempotency, Receipt, Transport
from trunkline.core.well_formed import words_of

#: seconds after which a closed place is tried again at the latest
CLOSED_WAIT = 600.0


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


class AttemptOutcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    detail: str = ""


class AttemptFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The history of a chunk besides the outcome of its last attempt. Times are seconds on the gateway's clock."""

    #: number of attempts of this chunk that count (`counted_attempts`), including the last one
    attempts: int
    created_at: float
    #: when the last attempt left
    left_at: float
    #: when the first attempt left that may have been accepted unnoticed
    doubt_at: float | None = None
    #: an earlier chunk of the same message was accepted
    begun: bool = False
    transport: Transport = Transport.DIRECT
    #: it has already been resent with a mark
    marked: bool = False
    #: make only one attempt
    best_effort: bool = False
    #: a webhook posts it, and the bot may do so instead
    bot_instead: bool = False
    #: while its place is closed, it waits until it is too old
    waits: bool = True


class DeliveryDecision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The decision after an attempt. `at`: seconds on the gateway's clock, for ``retry`` and ``lookup``."""

    next: NextStep
    #: the event for the state machine
    event: DeliveryEvent
    reason: Reason
    at: float | None = None
    #: the next attempt is visibly marked as a possible repeat
    mark: bool = False
    #: when the first attempt left that may have been accepted unnoticed; None: the fate of all is known
    doubt_at: float | None = None


def outcome_of(error: PlatformError) -> AttemptOutcome:
    """The outcome of an attempt that failed with a platform error."""
    return AttemptOutcome(
        # An adapter's own class may say anything here.
        reason=error.reason if isinstance(error.reason, Reason) else Reason.PLATFORM_ERROR,  # pyright: ignore[reportUnnecessaryIsInstance]
        retryable=error.retryable,
        ambiguous=error.ambiguous,
        unsent=isinstance(error, NotSent),
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
    words = words_of(error) if known is None else known.detail
    if is_permanent(words):
        return AttemptOutcome(reason=Reason.REFUSED, detail=words)
    return known or outcome_of(Ambiguous(f"{type(error).__name__}: {words}"))


def counted_attempts(attempts: int, interrupted: int, config: DeliveryConfig) -> int:
    """How many attempts of a chunk count against `max_attempts`.

    Those during which the process ended say nothing of the message, unless there are many: it may be what ends it.
    """
    return attempts - min(interrupted, config.max_interrupted)


def counted_at_closed(attempts: int) -> int:
    """How many attempts of a chunk are stored once a closed place has refused the last one: only the first counts."""
    return max(attempts - 1, 1)


def key_is_lost(doubt_at: float, at: float, can: Capabilities, config: DeliveryConfig) -> bool:
    """Whether a chunk that is resent at a time may arrive after the platform has forgotten its key.

    The key counts from the moment when the first attempt in doubt left, since the platform may have accepted it at
    once. A resend may take until its time-out, and then for as long as a request may still arrive.
    """
    if can.idempotency is not Idempotency.KEY or can.key_seconds is None:
        return False
    return at + config.request_timeout + can.in_flight_seconds - doubt_at > can.key_seconds


def takes_mark(can: Capabilities, config: DeliveryConfig) -> bool:
    """Whether a chunk that may have been accepted is sent once more, with a mark; only a text can carry one."""
    return config.ambiguous == "resend-marked" and Capability.TEXT in can.can


def is_too_old(created_at: float, at: float, config: DeliveryConfig, *, begun: bool = False) -> bool:
    """Whether a message is too old to be sent. One that people have begun to read is finished."""
    return not begun and at - created_at > config.max_age


def before_attempt(
    *,
    created_at: float,
    doubt_at: float | None,
    begun: bool,
    now: float,
    can: Capabilities,
    config: DeliveryConfig,
    attempts: int = 0,
) -> DeliveryDecision | None:
    """Judge a chunk again right before it is sent: the end of its intent, or None if it may be sent.

    A process that stood still, or a lane that comes late, sends later than planned. The fields: see `AttemptFacts`.
    """
    if doubt_at is not None and can.repeat_after and attempts >= config.max_attempts:
        # Only a change waits for this: its last request can no longer overtake the next one.
        return _park(Reason.PARKED)
    if doubt_at is not None and key_is_lost(doubt_at, now, can, config):
        return _park(Reason.KEY_EXPIRED)
    if is_too_old(created_at, now, config, begun=begun):
        return _give_up(DeliveryEvent.EXPIRE, Reason.TOO_OLD, doubt_at)
    return None


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
    doubt = None if _ends_doubt(outcome, can) else tried.doubt_at
    if outcome.unsent and doubt is None and can.mode is DeliveryMode.HYBRID and tried.transport is Transport.DIRECT:
        return DeliveryDecision(next=NextStep.FALLBACK, event=DeliveryEvent.DEFER, reason=Reason.GATEWAY_PATH, at=now)
    return _not_taken(outcome, tried, doubt, now, can, config)


def _ends_doubt(outcome: AttemptOutcome, can: Capabilities) -> bool:
    """Whether an answer proves that no earlier attempt was accepted either.

    A look-up does that does not find the message. So does the end of a call where texts have keys: what was said to its
    end under this key would have been answered with its receipt.
    """
    if outcome.reason is Reason.CALL_ENDED:
        return can.idempotency is Idempotency.KEY
    return outcome.reason is Reason.NOT_FOUND_BY_LOOKUP


def _in_doubt(
    outcome: AttemptOutcome, tried: AttemptFacts, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """Decide after an ambiguous attempt, by what the platform offers."""
    since = tried.left_at if tried.doubt_at is None else tried.doubt_at
    last = tried.best_effort or tried.attempts >= config.max_attempts
    if can.idempotency is Idempotency.NONE:
        if not takes_mark(can, config) or tried.marked or last:
            return _park(Reason.PARKED)
        at = now + wait_after(tried.attempts, config.backoff)
        return _again(Reason.MARKED_RESEND, at, tried, since, config, mark=True)
    if can.idempotency is Idempotency.LOOKUP and tried.attempts <= config.max_attempts:
        at = now + can.in_flight_seconds
        return DeliveryDecision(
            next=NextStep.LOOKUP, event=DeliveryEvent.DEFER, reason=outcome.reason, at=at, doubt_at=since
        )
    # The last attempt under an idempotency key may have been accepted: its failure is no proof.
    if last and not can.repeat_after:
        return _park(Reason.PARKED)
    at = now + max(wait_after(tried.attempts, config.backoff), outcome.retry_after or 0.0, can.repeat_after)
    if key_is_lost(since, at, can, config):
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
    """An attempt that was not accepted. With an earlier one in doubt, that is no proof that the chunk was not."""
    if outcome.reason is Reason.IDENTITY_GONE and tried.bot_instead and doubt is None:
        return DeliveryDecision(next=NextStep.AS_BOT, event=DeliveryEvent.DEFER, reason=outcome.reason, at=now)
    is_closed = outcome.reason is Reason.PLACE_CLOSED
    if not outcome.retryable or (is_closed and (tried.best_effort or not tried.waits)):
        return _give_up(DeliveryEvent.REFUSE, outcome.reason, doubt)
    if is_closed:
        return _wait_for_place(outcome, tried, doubt, now, can, config)
    if tried.best_effort or tried.attempts >= config.max_attempts:
        return _give_up(DeliveryEvent.EXHAUST, Reason.ATTEMPTS_EXHAUSTED, doubt)
    at = now + max(wait_after(tried.attempts, config.backoff), outcome.retry_after or 0.0)
    if doubt is not None and key_is_lost(doubt, at, can, config):
        return _park(Reason.KEY_EXPIRED)
    return _again(outcome.reason, at, tried, doubt, config)


def _wait_for_place(
    outcome: AttemptOutcome,
    tried: AttemptFacts,
    doubt: float | None,
    now: float,
    can: Capabilities,
    config: DeliveryConfig,
) -> DeliveryDecision:
    """Try again, as long as a message may live: the place may be opened again. No number of attempts ends this.

    The waits grow with the age of the message, so that a day has some hundred attempts. The age limit also holds for a
    message that people have begun to read.
    """
    age, limit = now - tried.created_at, tried.created_at + config.max_age
    if now >= limit:
        return _give_up(DeliveryEvent.EXPIRE, outcome.reason, doubt)
    wait = max(min(max(age, 1.0), CLOSED_WAIT), config.backoff[0], outcome.retry_after or 0.0)
    at = min(now + wait, limit)
    if doubt is not None and key_is_lost(doubt, at, can, config):
        return _park(Reason.KEY_EXPIRED)
    return DeliveryDecision(
        next=NextStep.RETRY, event=DeliveryEvent.DEFER, reason=outcome.reason, at=at, doubt_at=doubt
    )


def _again(
    reason: Reason, at: float, tried: AttemptFacts, doubt: float | None, config: DeliveryConfig, *, mark: bool = False
) -> DeliveryDecision:
    """Retry at a time, unless the intent would be too old then."""
    if is_too_old(tried.created_at, at, config, begun=tried.begun):
        return _give_up(DeliveryEvent.EXPIRE, Reason.TOO_OLD, doubt)
    return DeliveryDecision(
        next=NextStep.RETRY, event=DeliveryEvent.DEFER, reason=reason, at=at, mark=mark, doubt_at=doubt
    )


def _give_up(event: DeliveryEvent, reason: Reason, doubt: float | None) -> DeliveryDecision:
    """End without a receipt. With an attempt in doubt the intent is parked: nothing that ends it clears the doubt.

    That its place is gone is kept as the reason: what is said about the intent must not go there either.
    """
    if doubt is not None:
        refused = event is DeliveryEvent.REFUSE and reason not in (Reason.PLACE_GONE, Reason.PLACE_CLOSED)
        return _park(Reason.PARKED if refused else reason)
    return DeliveryDecision(next=NextStep.FAIL, event=event, reason=reason)


def reason_of_end(reason: Reason, last: Reason | None) -> Reason:
    """The reason of an end. `last`: why the intent was deferred; a closed place says more than an age."""
    return Reason.PLACE_CLOSED if reason is Reason.TOO_OLD and last is Reason.PLACE_CLOSED else reason


def _park(reason: Reason) -> DeliveryDecision:
    return DeliveryDecision(next=NextStep.PARK, event=DeliveryEvent.PARK, reason=reason)


def wait_after(failures: int, waits: Sequence[float]) -> float:
    """The wait after a number of failures: none before the first; the last one repeats.

    >>> [wait_after(failures, (5, 25, 120)) for failures in (0, 1, 2, 3, 4)]
    [0, 5, 25, 120, 120]
    """
    return waits[min(failures, len(waits)) - 1] if failures > 0 else 0


#: parts that follow one another in one line of a permanent error, in lower case
_PERMANENT = (
    ("no conversation reference found",),
    ("chat not found",),
    ("user not found",),
    ("bot", "not", "member"),
    ("bot was blocked by the user",),
    ("forbidden: bot was kicked",),
    ("chat_id is empty",),
    ("recipient is not a valid",),
    ("ambiguous ", " recipient"),
    ("user ", " not in room"),
)
_LINE_END = re.compile("[\n\r\u2028\u2029]")


def is_permanent(text: str) -> bool:
    """Whether an error message, in any case, says that retrying is pointless.

    >>> is_permanent("Bad Request: chat not found"), is_permanent("rate limited")
    (True, False)
    """
    return any(_follow(line, parts) for line in _LINE_END.split(text.lower()) for parts in _PERMANENT)


def _follow(line: str, parts: Sequence[str]) -> bool:
    """Whether the parts occur in a line in this order. A regular expression backtracks for hours on some long lines."""
    at = 0
    for part in parts:
        found = line.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
