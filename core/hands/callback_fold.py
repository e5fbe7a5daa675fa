"""The state of a callback by the messages of the delegation: a single event for all, or none yet."""

from collections.abc import Collection, Sequence

import msgspec

from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CALLBACK_TRANSITIONS, CallbackEvent, CallbackState
from trunkline.core.states.intent import OPEN
from trunkline.core.values import IntentKind, IntentState

#: the states in which messages decide; before that the turn may still add some
_SENDING = frozenset(
    {CallbackState.QUEUED, CallbackState.PARKED, CallbackState.UNDELIVERABLE, CallbackState.SUPPRESSED}
)
#: the person has an unknown part of it: nothing, some chunks, or all
_DOUBTFUL = frozenset({IntentState.PARTIAL, IntentState.UNKNOWN})
#: nothing is wrong with the message or the person: there is only no call to say it in
_CALL_OVER = frozenset({Reason.CALL_ENDED, Reason.NO_SECOND_CHANNEL})


class ReportMessage(msgspec.Struct, frozen=True, gc=False):
    """The stored facts of a message of a delegation."""

    id: str
    kind: IntentKind
    state: IntentState
    reason: Reason | None

    @property
    def is_notice(self) -> bool:
        """Whether the message is only about an undelivered message, or a withheld result."""
        return self.kind is IntentKind.NOTICE


class Folded(msgspec.Struct, frozen=True, gc=False):
    """An event of the callback, with a reason."""

    event: CallbackEvent
    reason: Reason | None


def fold(messages: Sequence[ReportMessage]) -> Folded | None:
    """The event from all messages; none without messages, or while any is open.

    A message that was sent in part, or is in doubt, waits for an operator, whatever the outcome of the others: the
    person may have some of it. Without such messages, a message that arrived is enough.
    """
    reports = _reports(messages)
    if not reports or any(message.state in OPEN for message in reports):
        return None
    doubtful = next((message for message in reports if message.state in _DOUBTFUL and not _given_up(message)), None)
    if doubtful is not None:
        return Folded(CallbackEvent.PARK, doubtful.reason)
    if any(message.state is IntentState.DELIVERED for message in reports):
        return Folded(CallbackEvent.DELIVER, None)
    # One that only missed its call waits for an operator, who may configure a second channel and try again.
    unsaid = next(
        (message for message in reports if message.state is IntentState.FAILED and message.reason in _CALL_OVER), None
    )
    if unsaid is not None:
        return Folded(CallbackEvent.PARK, unsaid.reason)
    failed = next((message for message in reports if message.state is not IntentState.CANCELLED), None)
    if failed is not None:
        return Folded(CallbackEvent.FAIL, failed.reason)
    return Folded(CallbackEvent.SUPPRESS, reports[0].reason)


def _reports(messages: Sequence[ReportMessage]) -> list[ReportMessage]:
    """The messages which count for the person, without messages whose whole text has arrived on the second channel."""
    instead = {
        message.id.removesuffix(".second")
        for message in messages
        if message.kind is IntentKind.SECOND and message.state is IntentState.DELIVERED
    }
    return [message for message in messages if not message.is_notice and message.id not in instead]


def _given_up(message: ReportMessage) -> bool:
    """Whether an operator has given up the doubt."""
    return message.reason is Reason.ABANDONED


def event_of_messages(state: CallbackState, messages: Sequence[ReportMessage]) -> Folded | None:
    """The event of the messages for a callback in a state; none without a change."""
    if state not in _SENDING:
        return None
    found = fold(messages)
    return found if found is not None and found.event in CALLBACK_TRANSITIONS[state] else None


def can_resume(state: CallbackState) -> bool:
    """Whether a retried message of the callback changes the state."""
    return CallbackEvent.RESUME in CALLBACK_TRANSITIONS[state]


def can_retry(state: CallbackState, reason: Reason | None, messages: Collection[IntentState]) -> bool:
    """Whether an operator can retry the report: after a failure, an interruption, or the end of the call."""
    if state is not CallbackState.PARKED:
        return CallbackEvent.RERUN in CALLBACK_TRANSITIONS[state]
    undecided = any(state in OPEN or state is IntentState.UNKNOWN for state in messages)
    return reason in _CALL_OVER or (IntentState.PARTIAL in messages and not undecided)


def can_discard(state: CallbackState) -> bool:
    """Whether an operator can give the report up."""
    return CallbackEvent.DISCARD in CALLBACK_TRANSITIONS[state]
