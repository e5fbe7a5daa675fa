"""Retry in numbers and words: waits, which rows are due, which errors no retry mends, and upstream's recovery of a row.

The live gateway takes its waits (`wait_after`) and the errors for good (`is_permanent`) from here. `recovery_step` is
what the upstream gateway decides on one row at start; ours decides in `trunkline.core.delivery.policy.recover`, on more
knowledge: it has idempotency keys, and one receipt a chunk. Times may have any unit, the same one for all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import StrEnum

import msgspec

from trunkline.core.profiles import Profile

#: failures after which a row is given up without another look
MAX_RETRIES = 5

# -------------------------------------------------------------------- waits


def wait_after(failures: int, waits: Sequence[float]) -> float:
    """The wait after so many failures: none before the first, and the last one repeats.

    >>> [wait_after(failures, (5, 25, 120)) for failures in (0, 1, 2, 3, 4)]
    [0, 5, 25, 120, 120]
    """
    return waits[min(failures, len(waits)) - 1] if failures > 0 else 0


class SendState(StrEnum):
    """How far an earlier process had come with a row, where it may have been sent."""

    #: the platform was about to be called
    STARTED = "send_attempt_started"
    #: the platform took something, and that the row is done was not stored any more
    UNKNOWN = "unknown_after_send"


class Row(msgspec.Struct, frozen=True, kw_only=True):
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


def eligibility(row: Row, now: float, waits: Sequence[float]) -> Eligibility:
    """Whether a row may be tried now. One that was never tried is due: its process has died."""
    if row.retries == 0 and row.last_attempt_at is None:
        return Eligibility(eligible=True)
    last = row.last_attempt_at
    tried = last is not None and math.isfinite(last) and last > 0
    # The wait of the failure after this one: a row that is found at start has waited for its own already.
    due = (last if tried and last is not None else row.enqueued_at) + wait_after(row.retries + 1, waits)
    return Eligibility(eligible=True) if now >= due else Eligibility(eligible=False, remaining=due - now)


# -------------------------------------------------------------------- errors

#: what follows one after another in one line of an error that no retry mends, in small letters
_FOR_GOOD = (
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
#: given up for until August 2026: a channel whose plugin is not loaded yet. That passes, and cost messages (#126800)
_UNTIL_AUGUST = (("outbound not configured for channel",),)
_LINE_END = re.compile("[\n\r\u2028\u2029]")


def is_permanent(text: str, profile: Profile = Profile.TRUNKLINE) -> bool:
    """Whether an error says, in any case of letters, that trying again is no use.

    >>> is_permanent("Bad Request: chat not found"), is_permanent("rate limited")
    (True, False)
    """
    patterns = (*_FOR_GOOD, *_UNTIL_AUGUST) if profile is Profile.OPENCLAW else _FOR_GOOD
    return any(_follow(line, parts) for line in _LINE_END.split(text.lower()) for parts in patterns)


def _follow(line: str, parts: Sequence[str]) -> bool:
    """Whether the parts stand in a line in this order. A regular expression would take ages over some long lines."""
    at = 0
    for part in parts:
        found = line.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


# -------------------------------------------------------------------- recovery of a row


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


class Replay(StrEnum):
    """What comes of a send that is made again."""

    SENT = "sent"
    #: failed, provably before the platform
    UNSENT = "unsent"
    #: failed, and maybe sent
    FAILED = "failed"
    #: something was sent before it failed
    PARTIAL = "partial"


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What the world says when a row is recovered, as far as it is asked. `error`: the words of what failed."""

    reconciled: Reconciled = Reconciled.UNAVAILABLE
    replay: Replay = Replay.SENT
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
    row: Row | None = None
    #: what is stored as its last error; none: as it was
    error: str | None = None

    def __str__(self) -> str:
        retries = "" if self.row is None else f" (retries: {self.row.retries})"
        return f"{self.bucket.value}{retries}, {'sent again' if self.sends else 'not sent'}: {self.why}"


def recovery_step(
    row: Row,
    now: float,
    answers: Answers,
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


def _reconcile(row: Row, state: SendState, now: float, answers: Answers) -> RecoveryStep | None:
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


def _replay(row: Row, now: float, answers: Answers, profile: Profile) -> RecoveryStep:
    """What comes of a row that is sent again."""
    error = answers.error
    if answers.replay is Replay.SENT:
        return RecoveryStep(bucket=Bucket.REMOVED, counted=Counted.RECOVERED, why="it was sent", sends=True)
    if answers.replay is Replay.PARTIAL:
        # What people have seen a part of is never sent again as a whole, whatever the error says.
        unknown = msgspec.structs.replace(row, state=SendState.UNKNOWN)
        return _pending(unknown, f"a part was sent: {error}", error=error, sends=True)
    if is_permanent(error, profile):
        return _buried(f"no retry mends it: {error}", error=error, sends=True)
    state = None if answers.replay is Replay.UNSENT else SendState.STARTED
    return _pending(_failed(row, now, state), error, error=error, sends=True)


def _failed(row: Row, now: float, state: SendState | None) -> Row:
    """A row after one more failure."""
    return msgspec.structs.replace(row, retries=row.retries + 1, last_attempt_at=now, state=state)


def _pending(row: Row, why: str, *, error: str, sends: bool = False) -> RecoveryStep:
    return RecoveryStep(bucket=Bucket.PENDING, counted=Counted.FAILED, why=why, sends=sends, row=row, error=error)


def _buried(why: str, *, error: str | None = None, sends: bool = False) -> RecoveryStep:
    return RecoveryStep(bucket=Bucket.FAILED, counted=Counted.FAILED, why=why, sends=sends, error=error)
