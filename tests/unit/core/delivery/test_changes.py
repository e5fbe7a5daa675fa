"""What is done about a change in doubt, and what an ended change does to a transcript."""

import math
from typing import Any

import pytest

from tests.support.factories import intent
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.actions.requests import ActionPart
from trunkline.core.channels import check_capabilities, require_action
from trunkline.core.channels.capabilities import for_action
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.line_changes import LineChange, line_change
from trunkline.core.delivery.notes import delivery_note
from trunkline.core.delivery.policy import (
    AttemptFacts,
    AttemptOutcome,
    DeliveryDecision,
    NextStep,
    after_attempt,
    before_attempt,
)
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, needs_mark, recover
from trunkline.core.errors import InvalidAction
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, Capabilities, Idempotency, IntentId, IntentState

LOST = AttemptOutcome(reason=Reason.RESPONSE_LOST, ambiguous=True)
CONFIG = DeliveryConfig.model_validate({"backoff": [5.0], "ambiguous": "resend-marked"})
ANY = [Capabilities(idempotency=kind, key_seconds=60.0 if kind is Idempotency.KEY else None) for kind in Idempotency]
REPEATABLE = [action for action in Action if action.spec.kind is ActionKind.CHANGE and action.spec.repeatable]
ONCE = [action for action in Action if action.spec.kind is ActionKind.CHANGE and not action.spec.repeatable]


@for_each("can", ANY, ids=lambda can: can.idempotency.value)
@for_each("action", REPEATABLE)
def test_a_repeatable_change_is_repeated_after_the_time_in_flight(action: Action, can: Capabilities) -> None:
    offered = for_action(can, action)
    decided = after_attempt(
        LOST, tried=AttemptFacts(attempts=1, created_at=0.0, left_at=90.0), now=100.0, can=offered, config=CONFIG
    )
    assert (decided.next, decided.at, decided.mark) == (NextStep.RETRY, 130.0, False)
    # Keys of messages may age; a repeat of a change needs none.
    later = AttemptFacts(attempts=2, created_at=0.0, left_at=5000.0, doubt_at=90.0)
    assert after_attempt(LOST, tried=later, now=5000.0, can=offered, config=CONFIG).next is NextStep.RETRY


def test_the_last_request_in_doubt_is_waited_for_too_before_the_change_is_parked() -> None:
    can, most = for_action(Capabilities(), Action.EDIT), CONFIG.max_attempts
    tried = AttemptFacts(attempts=most, created_at=0.0, left_at=90.0, doubt_at=50.0)
    decided = after_attempt(LOST, tried=tried, now=100.0, can=can, config=CONFIG)
    assert (decided.next, decided.at) == (NextStep.RETRY, 130.0)

    def judged(attempts: int) -> DeliveryDecision | None:
        return before_attempt(
            created_at=0.0, doubt_at=50.0, begun=False, attempts=attempts, now=130.0, can=can, config=CONFIG
        )

    parked = judged(most)
    assert judged(most - 1) is None
    assert parked is not None
    assert (parked.next, parked.reason) == (NextStep.PARK, Reason.PARKED)


@for_each("can", ANY, ids=lambda can: can.idempotency.value)
@for_each("action", ONCE)
def test_any_other_change_is_parked_whatever_the_platform_offers_for_messages(
    action: Action, can: Capabilities
) -> None:
    offered = for_action(can, action)
    tried = AttemptFacts(attempts=1, created_at=0.0, left_at=90.0)
    assert after_attempt(LOST, tried=tried, now=100.0, can=offered, config=CONFIG).next is NextStep.PARK
    assert needs_mark(offered, 0)


@pytest.mark.parametrize(
    ("state", "head", "action", "step", "at"),
    [
        (IntentState.PREPARED, True, Action.EDIT, RecoveryAction.RESEND, 130.0),
        (IntentState.SENDING, True, Action.EDIT, RecoveryAction.RESEND, 130.0),
        (IntentState.PREPARED, False, Action.EDIT, RecoveryAction.SEND, None),
        # The mark says whether it may have left.
        (IntentState.PREPARED, True, Action.KICK, RecoveryAction.SEND, None),
        (IntentState.SENDING, True, Action.KICK, RecoveryAction.PARK, None),
    ],
)
def test_after_a_crash(state: IntentState, head: bool, action: Action, step: RecoveryAction, at: float | None) -> None:
    left = InterruptedIntent(state=state, head=head, attempts=int(state is IntentState.SENDING), created_at=50.0)
    decided = recover(left, now=100.0, can=for_action(Capabilities(), action), config=CONFIG)
    assert (decided.action, decided.at, decided.mark) == (step, at, False)


def test_a_planned_repeat_keeps_its_time_over_a_crash() -> None:
    left = InterruptedIntent(
        state=IntentState.PREPARED, head=True, attempts=1, created_at=50.0, next_at=110.0, doubt_at=80.0
    )
    can = for_action(Capabilities(), Action.EDIT)
    assert recover(left, now=100.0, can=can, config=CONFIG).at == 110.0
    assert recover(left, now=111.0, can=can, config=CONFIG).at is None


def test_what_is_offered_for_a_change_is_consistent_but_for_texts() -> None:
    for action in (Action.EDIT, Action.KICK):
        assert check_capabilities(for_action(Capabilities(), action)) == ("it cannot send texts",)
    assert math.isclose(for_action(Capabilities(in_flight_seconds=7.0), Action.PIN).repeat_after, 7.0)


class Asks:
    """An adapter that answers questions and carries out nothing."""

    async def ask(self, query: object) -> object:
        return query


def test_an_action_needs_the_method_and_the_capability() -> None:
    can = Capabilities(actions=frozenset({Action.READ, Action.PIN}))
    require_action(Asks(), can, Action.READ, "slack:default")
    with pytest.raises(InvalidAction, match="search on slack:default: the adapter has pin, read") as caught:
        require_action(Asks(), can, Action.SEARCH, "slack:default")
    assert caught.value.reason is Reason.UNSUPPORTED
    with pytest.raises(InvalidAction, match="pin on slack:default: the adapter has no actions"):
        require_action(Asks(), can, Action.PIN, "slack:default")


# ---------------------------------------------------------------- transcripts

OF = IntentId("m1.send1")
DONE, FAILED, PARTIAL = IntentState.DELIVERED, IntentState.FAILED, IntentState.PARTIAL
LINES: list[Any] = [
    (Action.EDIT, DONE, Reason.ACCEPTED, 1, LineChange(line=OF, text="new")),
    (Action.EDIT, FAILED, Reason.REFUSED, 0, None),
    (Action.DELETE, DONE, Reason.ACCEPTED, 1, LineChange(line=OF)),
    (Action.UNSEND, DONE, Reason.ACCEPTED, 1, LineChange(line=OF)),
    (Action.DELETE, FAILED, Reason.NOTHING_TO_CHANGE, 0, None),
    (Action.DELETE, PARTIAL, Reason.REFUSED, 1, None),
    # Of a message that was sent in part, nothing is left.
    (Action.DELETE, PARTIAL, Reason.NOTHING_TO_CHANGE, 1, LineChange(line=OF)),
    (Action.REACT, DONE, Reason.ACCEPTED, 1, None),
    (Action.PIN, DONE, Reason.ACCEPTED, 1, None),
]


@for_each(("action", "state", "reason", "acked", "change"), LINES)
def test_what_an_ended_change_does_to_a_line(
    action: Action, state: IntentState, reason: Reason, acked: int, change: LineChange | None
) -> None:
    part = ActionPart(action=action, of=OF)
    row = intent("c1", "new", action=part, state=state, reason=reason, acked=acked)
    assert line_change(row) == change


def test_messages_and_changes_of_peoples_messages_change_no_line() -> None:
    assert line_change(intent("m1.reply", "hi", state=DONE)) is None
    person = ActionPart(action=Action.DELETE, message_id="p1")
    assert line_change(intent("c1", "", action=person, state=DONE)) is None


@for_each(
    ("state", "words"),
    [
        (IntentState.FAILED, "was not carried out"),
        (IntentState.UNKNOWN, "may not have been carried out"),
        (IntentState.PARTIAL, "was carried out in part"),
        (IntentState.MISPLACED, "concerned another place"),
        (IntentState.DELIVERED, None),
        (IntentState.CANCELLED, None),
    ],
)
def test_the_note_about_a_change(state: IntentState, words: str | None) -> None:
    at: Address = intent().address
    row = intent("c1", "", action=ActionPart(action=Action.DELETE, of=OF))
    reason = Reason.REFUSED
    end = f"({state.value}, refused). {reason.sentence}"
    expected = None if words is None else f"The action delete of message {OF} in {at} {words} {end}"
    assert delivery_note(row, state, reason) == expected
