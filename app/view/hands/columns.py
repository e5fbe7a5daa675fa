"""The two columns of a delegation on screens: what the hand did, and what people got of it. Shapes, words and tones."""

from __future__ import annotations

from enum import StrEnum

from trunkline.app.text.fact import Tone
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome


class WorkPhase(StrEnum):
    """The phase of a hand's work, as screens show it."""

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
#: shape, tone and meaning of the work
WORK_LOOKS: dict[WorkPhase, tuple[str, Tone, str]] = {
    WorkPhase.LATER: ("·", Tone.DIM, "it is delegated later in the run"),
    WorkPhase.ACCEPTED: ("○", Tone.PLAIN, "the task is stored, and the hand has not started"),
    WorkPhase.RUNNING: ("◐", Tone.WARN, "the hand works on it"),
    WorkPhase.ORPHANED: ("╳", Tone.BAD, "its process has died, and no other has taken over yet"),
    WorkPhase.SUCCEEDED: ("●", Tone.GOOD, "the hand has returned a result"),
    WorkPhase.FAILED: ("✗", Tone.WARN, "the hand has failed"),
    WorkPhase.TIMED_OUT: ("✗", Tone.WARN, "its deadline passed without a result"),
    WorkPhase.CANCELLED: ("–", Tone.DIM, "it was ended before it had a result"),
    WorkPhase.LOST: ("╳", Tone.WARN, "the process that ran it died, and it may not run again"),
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
