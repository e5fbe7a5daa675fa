"""Events of delegations: accepted, run, finished, and how their results are reported."""

from typing import ClassVar

import msgspec

from trunkline.core.events.base import Body
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome
from trunkline.core.values import Address, Peer


class DelegationAccepted(Body, frozen=True, kw_only=True):
    """Committed: a hand will work on a task; `origin` is frozen here.

    `deadline` is when the run times out if it starts at once; a later start, or a restart, moves it by the delay.
    Traces of older versions have none.
    """

    hand: str
    task: str
    origin: Address | None
    session_key: str
    deadline: float | None = None
    label: str = ""
    #: ``function``, ``agent`` or ``worker``
    hand_kind: str = ""
    #: who asked, and by which message; `deadline` of a worker counts from here
    asked_by: Peer | None = None
    message_id: str = ""
    #: the delegation that the caller works on, and how many delegations stand above this
    parent: str | None = None
    depth: int = 1


class DelegationStarted(Body, frozen=True, kw_only=True):
    """The hand was started, or a worker has taken the task."""

    hand: str
    worker: str = ""


class DelegationProgressed(Body, frozen=True, kw_only=True):
    """Committed: the hand reported progress."""

    hand: str
    text: str


class AnswerTurnedAway(Body, frozen=True, kw_only=True):
    """An answer, progress or request for a delegation was refused; nothing has changed.

    `verb`: ``answer``, ``progress``, ``cancel``, ``retry-callback`` or ``discard``.
    """

    kind: ClassVar[str] = "delegation.refused"
    verb: str
    reason: Reason
    detail: str = ""
    by: str = ""


class CallbackChanged(Body, frozen=True, kw_only=True):
    """Committed: how far the report of a delegation has come; `state` as in `core.hands.states.CallbackState`."""

    before: CallbackState
    state: CallbackState
    reason: Reason | None = None


class DelegationFinished(Body, frozen=True, kw_only=True):
    """Committed: the first result of the hand."""

    hand: str
    outcome: HandOutcome
    text: str
    reason: Reason | None = None
    #: the worker that answered, or who cancelled it
    by: str = ""


class DelegationIgnored(Body, frozen=True, kw_only=True):
    """A later result of an ended hand; only the first result counts."""

    hand: str
    reason: Reason
    text: str
    #: how it would have ended; traces of older versions have none
    outcome: HandOutcome | None = None
    by: str = ""


class CompletionStep(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A step of announcing a hand's result.

    `mode` is ``turn`` or ``direct``; ``notice`` or ``kept`` if it cannot be announced at its place.
    """

    mode: str
    reason: Reason
    address: Address | None
    #: the binding of `address`
    binding: str | None = None


class CompletionPlanned(Body, frozen=True, kw_only=True):
    """How the result of a hand will be announced: destination and path, decided apart from the content."""

    steps: tuple[CompletionStep, ...]
    requester_busy: bool
