"""The two columns of a delegation on screens: what the hand did, and what people got of it. Shapes, words and tones."""

from __future__ import annotations

from enum import StrEnum

from trunkline.app.text.fact import Tone
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome


class WorkPhase(StrEnum):
    """What a hand has done, as screens show it."""

    LATER = "later"
    ACCEPTED = "ACCEPTED"
    RUNNING = "RUNNING"
    #: the process that ran it has died, and no other has taken over yet
    ORPHANED = "ORPHAN"
    SUCCEEDED = "DONE"
    FAILED = "FAILED"
    TIMED_OUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    LOST = "LOST"


#: phases in which the work has not ended
OPEN_WORK = frozenset({WorkPhase.ACCEPTED, WorkPhase.RUNNING, WorkPhase.ORPHANED})
ENDED_AS = {
    HandOutcome.OK: WorkPhase.SUCCEEDED,
    HandOutcome.ERROR: WorkPhase.FAILED,
    HandOutcome.TIMEOUT: WorkPhase.TIMED_OUT,
    HandOutcome.CANCELLED: WorkPhase.CANCELLED,
    HandOutcome.LOST: WorkPhase.LOST,
}
#: shape and tone of the work
WORK_LOOKS: dict[WorkPhase, tuple[str, Tone]] = {
    WorkPhase.LATER: ("·", Tone.DIM),
    WorkPhase.ACCEPTED: ("○", Tone.PLAIN),
    WorkPhase.RUNNING: ("◐", Tone.WARN),
    WorkPhase.ORPHANED: ("╳", Tone.BAD),
    WorkPhase.SUCCEEDED: ("●", Tone.GOOD),
    WorkPhase.FAILED: ("✗", Tone.WARN),
    WorkPhase.TIMED_OUT: ("✗", Tone.WARN),
    WorkPhase.CANCELLED: ("–", Tone.DIM),
    WorkPhase.LOST: ("╳", Tone.WARN),
}
WORK_MEANINGS: dict[WorkPhase, str] = {
    WorkPhase.LATER: "it is delegated later in the run",
    WorkPhase.ACCEPTED: "the task is stored, and the hand has not started",
    WorkPhase.RUNNING: "the hand works on it",
    WorkPhase.ORPHANED: "its process has died, and no other has taken over yet",
    WorkPhase.SUCCEEDED: "the hand has returned a result",
    WorkPhase.FAILED: "the hand has failed",
    WorkPhase.TIMED_OUT: "its deadline passed without a result",
    WorkPhase.CANCELLED: "it was ended before it had a result",
    WorkPhase.LOST: "the process that ran it died, and it may not run again",
}
#: shape, word and tone of the callback
CALLBACK_LOOKS: dict[CallbackState, tuple[str, str, Tone]] = {
    CallbackState.WAITING: ("·", "waiting", Tone.DIM),
    CallbackState.PENDING_TURN: ("○", "TURN DUE", Tone.PLAIN),
    CallbackState.IN_TURN: ("↻", "IN TURN", Tone.PLAIN),
    CallbackState.QUEUED: ("◐", "QUEUED", Tone.WARN),
    CallbackState.PARKED: ("?", "PARKED", Tone.WARN),
    CallbackState.DELIVERED: ("✓", "DELIVERED", Tone.GOOD),
    CallbackState.UNDELIVERABLE: ("✗", "UNDELIVERABLE", Tone.BAD),
    CallbackState.SUPPRESSED: ("–", "SUPPRESSED", Tone.DIM),
}

#: reasons of a suppressed callback by which the result of what a hand delegated goes to that hand
TO_PARENT = (None, Reason.PASSED_ON)


def work_text(phase: WorkPhase) -> str:
    """Shape and word of the work."""
    return f"{WORK_LOOKS[phase][0]} {phase}"


def callback_text(state: CallbackState) -> str:
    """Shape and word of the callback."""
    shape, word, _ = CALLBACK_LOOKS[state]
    return f"{shape} {word}"
