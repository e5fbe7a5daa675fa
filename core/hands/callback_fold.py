"""What the messages of a delegation say of its callback: one event for all of them, or none yet."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trunkline.core.delivery.states import OPEN
from trunkline.core.hands.states import CALLBACK_TRANSITIONS, CallbackEvent, CallbackState
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentKind, IntentState

#: the states in which messages decide; before that the turn may still add some
_SENDING = frozenset(
    {CallbackState.QUEUED, CallbackState.PARKED, CallbackState.UNDELIVERABLE, CallbackState.SUPPRESSED}
)
#: nothing is wrong with the message or the person: there is only no call to say it in
_CALL_OVER = frozenset({Reason.CALL_ENDED, Reason.NO_SECOND_CHANNEL})


class ReportMessage(msgspec.Struct, frozen=True, gc=False):
    """What is stored of a message that belongs to a delegation."""

    id: str
    kind: IntentKind
    state: IntentState
    reason: Reason | None

    @property
    def says_failure(self) -> bool:
        """Whether it only says that another message could not be delivered."""
        return self.kind is IntentKind.NOTICE and self.id.endswith(".notice")


class Folded(msgspec.Struct, frozen=True, gc=False):
    """An event of the callback, with its reason."""

    event: CallbackEvent
    reason: Reason | None


def fold(messages: Sequence[ReportMessage]) -> Folded | None:
    """The event that messages add up to; none while one is open, or if there is none.

    One that arrived is enough. A doubt weighs more than a failure: the person may have the message.
    """
    reports = [one for one in messages if not one.says_failure]
    if not reports or any(one.state in OPEN for one in reports):
        return None
    if any(one.state is IntentState.DELIVERED for one in reports):
        return Folded(CallbackEvent.DELIVER, None)
    partial = next((one for one in reports if one.state is IntentState.PARTIAL), None)
    if partial is not None:
        # The person has the beginning. The reason says why not the rest, which an operator can have sent.
        return Folded(CallbackEvent.DELIVER, partial.reason)
    doubtful = next((one for one in reports if one.state is IntentState.UNKNOWN and not _given_up(one)), None)
    if doubtful is not None:
        return Folded(CallbackEvent.PARK, doubtful.reason)
    # One that only missed its call waits for an operator, who may configure a second channel and try again.
    unsaid = next((one for one in reports if one.state is IntentState.FAILED and one.reason in _CALL_OVER), None)
    if unsaid is not None:
        return Folded(CallbackEvent.PARK, unsaid.reason)
    failed = next((one for one in reports if one.state is not IntentState.CANCELLED), None)
    if failed is not None:
        return Folded(CallbackEvent.FAIL, failed.reason)
    return Folded(CallbackEvent.SUPPRESS, reports[0].reason)


def _given_up(message: ReportMessage) -> bool:
    """Whether an operator has given up the doubt."""
    return message.reason is Reason.ABANDONED


def event_of_messages(state: CallbackState, messages: Sequence[ReportMessage]) -> Folded | None:
    """The event that the messages mean for a callback in a state; none where it changes nothing."""
    if state not in _SENDING:
        return None
    found = fold(messages)
    return found if found is not None and found.event in CALLBACK_TRANSITIONS[state] else None


def can_resume(state: CallbackState) -> bool:
    """Whether a message of the callback that is sent again changes it."""
    return CallbackEvent.RESUME in CALLBACK_TRANSITIONS[state]


def can_retry(state: CallbackState, reason: Reason | None) -> bool:
    """Whether an operator can have the report tried again: it failed, or the call in which it was due has ended."""
    return CallbackEvent.RERUN in CALLBACK_TRANSITIONS[state] or (
        state is CallbackState.PARKED and reason in _CALL_OVER
    )


def can_discard(state: CallbackState) -> bool:
    """Whether an operator can give the report up."""
    return CallbackEvent.DISCARD in CALLBACK_TRANSITIONS[state]
