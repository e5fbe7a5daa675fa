"""The area of retries: waits, what is due, errors for good, and upstream's recovery of a row. Times are milliseconds.

A case is of the month that its source names; without one it is of the newest rules.
"""

import re
from collections.abc import Callable
from typing import Any

from tests.conformance.upstream.queue_recovery import (
    QueuedRow,
    Reconciled,
    RecoveryAnswers,
    ReplayResult,
    SendState,
    eligibility,
    is_permanent_under,
    recovery_step,
)
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import wait_after
from trunkline.core.profile_rules import Profile

Fields = dict[str, Any]

_WAITS = tuple(seconds * 1000 for seconds in DeliveryConfig().backoff)
_MONTH = re.compile(r"\((20\d\d-\d\d)")
_AUGUST = "2026-08"
_RECONCILED = {"sent": Reconciled.SENT, "not_sent": Reconciled.NOT_SENT}
#: what a send may come to beside an error of which nobody knows whether it was sent
_REPLAYS = {"ok": ReplayResult.SENT, "not_sent": ReplayResult.UNSENT, "partial": ReplayResult.PARTIAL}


def run(case: Fields, profile: Profile) -> Fields:
    """What our code answers."""
    given = case["given"]
    if given["kind"] not in _KINDS:
        raise ValueError(f"unknown kind {given['kind']!r}")
    return _KINDS[given["kind"]](given, _profile(case, profile))


def _profile(case: Fields, profile: Profile) -> Profile:
    month = _MONTH.search(case.get("source") or "")
    return profile if month is not None and month[1] < _AUGUST else Profile.OPENCLAW_2026_08


def _wait(given: Fields, _: Profile) -> Fields:
    return {"backoff_ms": wait_after(given["retry_count"], _WAITS)}


def _eligibility(given: Fields, _: Profile) -> Fields:
    found = eligibility(_row(given), given["now_ms"], _WAITS)
    return {"eligible": found.eligible, "remaining_backoff_ms": found.remaining}


def _permanent(given: Fields, profile: Profile) -> Fields:
    return {"permanent": is_permanent_under(given["error"], profile)}


def _recovery(given: Fields, profile: Profile) -> Fields:
    answers = _answers(given["send_outcome"])
    step = recovery_step(_row(given["entry"]), given["now_ms"], answers, waits=_WAITS, profile=profile)
    row = step.row
    return {
        "bucket": step.bucket,
        "summary": step.counted,
        "send_called": step.sends,
        "last_error": step.error,
        "retry_count": None if row is None else row.retries,
        "last_attempt_at": None if row is None else row.last_attempt_at,
        "recovery_state": None if row is None else row.state,
    }


def _row(given: Fields) -> QueuedRow:
    state = given.get("recovery_state")
    return QueuedRow(
        retries=given.get("retry_count") or 0,
        enqueued_at=given["enqueued_at"],
        last_attempt_at=given.get("last_attempt_at"),
        state=None if state is None else SendState(state),
    )


def _answers(given: Fields) -> RecoveryAnswers:
    """A send, or an adapter that is asked first; ``then`` is what the send comes to after that."""
    kind, error = given["kind"], given.get("error") or ""
    if kind == "reconcile_unavailable":
        return RecoveryAnswers(reconciled=Reconciled.UNAVAILABLE)
    if not kind.startswith("reconcile"):
        return RecoveryAnswers(replay=_REPLAYS.get(kind, ReplayResult.FAILED), error=error)
    then = given.get("then") or "ok"
    sent = _answers(then if isinstance(then, dict) else {"kind": then, "error": error})
    return RecoveryAnswers(reconciled=_reconciled(given), replay=sent.replay, error=sent.error or error)


def _reconciled(given: Fields) -> Reconciled:
    result = given.get("result")
    if result == "unresolved" and given.get("retryable") is not True:
        return Reconciled.UNRESOLVABLE
    # No answer, and one that could not be given, are none.
    return _RECONCILED.get(result or "", Reconciled.UNRESOLVED)


_KINDS: dict[str, Callable[[Fields, Profile], Fields]] = {
    "backoff": _wait,
    "eligibility": _eligibility,
    "permanent_error": _permanent,
    "recovery_step": _recovery,
}
