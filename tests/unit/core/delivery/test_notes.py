"""What is said about a bad end: to the agent, and to the person."""

import msgspec
import pytest

from tests.support.factories import intent
from trunkline.core.delivery.notes import delivery_note, notice_place, work_about
from trunkline.core.reasons import Reason
from trunkline.core.values import InboundId, IntentKind, IntentState

S = IntentState
ROW = msgspec.structs.replace(intent("m1.reply", "the secret text"), kind=IntentKind.REPLY, inbound=InboundId("m1"))
BAD = (S.FAILED, S.DEAD, S.EXPIRED, S.UNKNOWN, S.MISPLACED)


@pytest.mark.parametrize("state", S)
def test_every_bad_end_has_a_note_without_the_text(state: IntentState) -> None:
    note = delivery_note(ROW, state, Reason.REFUSED)
    assert (note is not None) is (state in BAD)
    if note is not None:
        assert f"({state.value}, refused)" in note
        assert str(ROW.address) in note
        assert "secret" not in note


def test_a_notice_has_no_note() -> None:
    assert delivery_note(msgspec.structs.replace(ROW, kind=IntentKind.NOTICE), S.DEAD, Reason.REFUSED) is None


def test_a_message_of_work_about_an_end_starts_no_other() -> None:
    work = work_about(ROW, "note")
    assert work is not None
    assert work.text == "note"
    of_it = msgspec.structs.replace(ROW, id=f"{work.id}.send1", inbound=work.id)
    assert work_about(of_it, "note") is None
    of_its_hand = msgspec.structs.replace(ROW, inbound=InboundId(f"{work.id}.hand1.back"))
    assert work_about(of_its_hand, "note") is None


@pytest.mark.parametrize("state", S)
@pytest.mark.parametrize("kind", IntentKind)
def test_a_person_is_notified_of_an_answer_that_surely_did_not_arrive(kind: IntentKind, state: IntentState) -> None:
    place = notice_place(msgspec.structs.replace(ROW, kind=kind), state, Reason.TOO_OLD)
    waits = kind is IntentKind.REPLY and state in (S.FAILED, S.DEAD, S.EXPIRED)
    assert place == (ROW.address if waits else None)


@pytest.mark.parametrize("reason", [Reason.PLACE_GONE, Reason.UNAUTHORIZED, Reason.NO_ADAPTER])
def test_no_notice_goes_to_a_place_that_takes_nothing(reason: Reason) -> None:
    assert notice_place(ROW, S.FAILED, reason) is None
