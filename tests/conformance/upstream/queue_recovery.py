"""Upstream's queue: which rows are due, and what becomes of one that is found at start (the table `retry_backoff`).

Our gateway decides in `trunkline.core.delivery.policy.recover`, on more knowledge: it has idempotency keys, and one
receipt per chunk. Times may have any unit, the same for all.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.core.delivery.policy import is_permanent, wait_after
from trunkline.core.profile_rules import Profile

#: failures after which a row is given up without another look
MAX_RETRIES = 5
#: permanent until August 2026: a channel whose plugin is not loaded yet. That passes, and cost messages (#126800)
_PERMANENT_UNTIL_AUGUST = "outbound not configured for channel"


def is_permanent_under(text: str, profile: Profile) -> bool:
    """Whether an error is permanent by the rules of a profile."""
    return is_permanent(text) or (profile is Profile.OPENCLAW and _PERMANENT_UNTIL_AUGUST in text.lower())


class SendState(StrEnum):
    """How far an earlier process had come with a row, where it may have been sent."""

    #: the platform was about to be called
    STARTED = "send_attempt_started"
    #: the platform took something, and that the row is done was not stored any more
    UNKNOWN = "unknown_after_send"


class QueuedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A queued message as the upstream gateway stores it."""

    #: failures so far
    retries: int = 0
    enqueued_at: float
    last_attempt_at: float | None = None
    #: none: it surely was not sent
    state: SendState | None = None


class Eligibility(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a row is due, and the time until then."""

    eligible: bool
    remaining: float = 0

    def __str__(self) -> str:
        return "due" if self.eligible else f"due in {self.remaining:g}"


def eligibility(row: QueuedRow, now: float, waits: Sequence[float]) -> Eligibility:
    """Whether a row may be tried now. One that was never tried is due: its process has died."""
    if row.retries == 0 and row.last_attempt_at is None:
        return Eligibility(eligible=True)
    last = row.last_attempt_at
    tried = last is not None and math.isfinite(last) and last > 0
    # The wait of the failure after this one: a row that is found at start has waited for its own already.
    due = (last if tried and last is not None else row.enqueued_at) + wait_after(row.retries + 1, waits)
    return Eligibility(eligible=True) if now >= due else Eligibility(eligible=False, remaining=due - now)


class Reconciled(StrEnum):
    """What an adapter tells of a send whose end nobody knows."""

    SENT = "sent"
    NOT_SENT = "not-sent"
    #: not now: it failed, or told nothing
    UNRESOLVED = "unresolved"
    #: and never
    UNRESOLVABLE = "unresolvable"
    #: it cannot be asked
    UNAVAILABLE = "unavailable"


class ReplayResult(StrEnum):
    """What comes of a send that is made again."""

    SENT = "sent"
    #: failed, provably before the platform
    UNSENT = "unsent"
    #: failed, and maybe sent
    FAILED = "failed"
    #: something was sent before it failed
    PARTIAL = "partial"


class RecoveryAnswers(msgspec.Struct, frozen=True, kw_only=True):
    """What the world says when a row is recovered, as far as it is asked. `error`: the words of what failed."""

    reconciled: Reconciled = Reconciled.UNAVAILABLE
    replay: ReplayResult = ReplayResult.SENT
    error: str = ""


class Bucket(StrEnum):
    """Where a row is afterwards."""

    REMOVED = "removed"
    PENDING = "pending"
    #: dead letters
    FAILED = "failed"


class Counted(StrEnum):
    """As what a row counts in the summary of a recovery."""

    RECOVERED = "recovered"
    FAILED = "failed"
    SKIPPED_MAX_RETRIES = "skipped_max_retries"
    DEFERRED_BACKOFF = "deferred_backoff"


class RecoveryStep(msgspec.Struct, frozen=True, kw_only=True):
    """What upstream does with one row in one recovery, and why."""

    bucket: Bucket
    counted: Counted
    why: str
    #: it was sent again
    sends: bool = False
    #: as it is stored afterwards; none: it is not pending any more
    row: QueuedRow | None = None
    #: what is stored as its last error; none: as it was
    error: str | None = None

    def __str__(self) -> str:
        retries = "" if self.row is None else f" (retries: {self.row.retries})"
        return f"{self.bucket.value}{retries}, {'sent again' if self.sends else 'not sent'}: {self.why}"


def recovery_step(
    row: QueuedRow,
    now: float,
    answers: RecoveryAnswers,
    *,
    waits: Sequence[float],
    most: int = MAX_RETRIES,
    profile: Profile = Profile.OPENCLAW,
) -> RecoveryStep:
    """What upstream does with a row that it finds at start: one look, at most one send."""
    if row.retries >= most:
        why = f"{row.retries} of {most} retries are used up"
        return RecoveryStep(bucket=Bucket.FAILED, counted=Counted.SKIPPED_MAX_RETRIES, why=why)
    due = eligibility(row, now, waits)
    if not due.eligible:
        return RecoveryStep(bucket=Bucket.PENDING, counted=Counted.DEFERRED_BACKOFF, why=str(due), row=row)
    if row.state is not None and (step := _reconcile(row, row.state, now, answers)) is not None:
        return step
    return _replay(row, now, answers, profile)


def _reconcile(row: QueuedRow, state: SendState, now: float, answers: RecoveryAnswers) -> RecoveryStep | None:
    """What is done with a row that may have been sent; none: it is proven unsent, and sent."""
    match answers.reconciled:
        case Reconciled.SENT:
            why = "the adapter says that it was sent"
            return RecoveryStep(bucket=Bucket.REMOVED, counted=Counted.RECOVERED, why=why)
        case Reconciled.NOT_SENT if state is SendState.STARTED:
            return None
        case Reconciled.NOT_SENT:
            return _buried("the adapter says that it was not sent, and something was: a part may be there")
        case Reconciled.UNRESOLVABLE:
            return _buried(f"the adapter cannot tell, and never will: {answers.error}".removesuffix(": "))
        case Reconciled.UNRESOLVED:
            why = f"the adapter cannot tell now: {answers.error}".removesuffix(": ")
            return _pending(_failed(row, now, state), why, error=answers.error or why)
        case Reconciled.UNAVAILABLE:
            why = "it may have been sent, and the adapter cannot tell"
            return _pending(msgspec.structs.replace(row, last_attempt_at=now), why, error=why)


def _replay(row: QueuedRow, now: float, answers: RecoveryAnswers, profile: Profile) -> RecoveryStep:
    """What comes of a row that is sent again."""
    error = answers.error
    if answers.replay is ReplayResult.SENT:
        return RecoveryStep(bucket=Bucket.REMOVED, counted=Counted.RECOVERED, why="it was sent", sends=True)
    if answers.replay is ReplayResult.PARTIAL:
        # What people have seen a part of is never sent again as a whole, whatever the error says.
        unknown = msgspec.structs.replace(row, state=SendState.UNKNOWN)
        return _pending(unknown, f"a part was sent: {error}", error=error, sends=True)
    if is_permanent_under(error, profile):
        return _buried(f"no retry mends it: {error}", error=error, sends=True)
    state = None if answers.replay is ReplayResult.UNSENT else SendState.STARTED
    return _pending(_failed(row, now, state), error, error=error, sends=True)


def _failed(row: QueuedRow, now: float, state: SendState | None) -> QueuedRow:
    """A row after one more failure."""
    return msgspec.structs.replace(row, retries=row.retries + 1, last_attempt_at=now, state=state)


def _pending(row: QueuedRow, why: str, *, error: str, sends: bool = False) -> RecoveryStep:
    return RecoveryStep(bucket=Bucket.PENDING, counted=Counted.FAILED, why=why, sends=sends, row=row, error=error)


def _buried(why: str, *, error: str | None = None, sends: bool = False) -> RecoveryStep:
    return RecoveryStep(bucket=Bucket.FAILED, counted=Counted.FAILED, why=why, sends=sends, error=error)
