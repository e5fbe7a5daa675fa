"""What is said about a bad end: to the agent, and to the person."""

import msgspec
import pytest

from tests.support.factories import changed, intent
from tests.support.for_each import for_each
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.delivery.notes import closed_notice_of, delivery_note, notice_of, work_about
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, ChatKind, InboundId, IntentKind, IntentState

S = IntentState
ROW = msgspec.structs.replace(intent("m1.reply", "the secret text"), kind=IntentKind.REPLY, inbound=InboundId("m1"))
BAD = (S.FAILED, S.DEAD, S.EXPIRED, S.UNKNOWN, S.MISPLACED)


@for_each("state", S)
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


SAYS = DeliveryConfig(failed_notice="failed", doubt_notice="in doubt")
NONE = DeliveryConfig(failed_notice="", doubt_notice="")


@for_each("state", S)
@for_each("kind", IntentKind)
def test_a_person_gets_a_notice_of_an_answer_that_did_not_arrive_and_of_one_that_may_not_have(kind, state) -> None:
    texts = {S.FAILED: "failed", S.DEAD: "failed", S.EXPIRED: "failed", S.UNKNOWN: "in doubt"}
    text = texts.get(state) if kind is IntentKind.REPLY else None
    found = notice_of(msgspec.structs.replace(ROW, kind=kind), state, Reason.TOO_OLD, SAYS)
    assert found == (None if text is None else (ROW.address, text))
    assert notice_of(msgspec.structs.replace(ROW, kind=kind), state, Reason.TOO_OLD, NONE) is None


def test_a_person_who_has_a_part_of_an_answer_gets_a_notice_only_of_a_doubt_about_the_rest() -> None:
    row = changed(ROW, acked=1)
    assert notice_of(row, S.FAILED, Reason.REFUSED, SAYS) is None
    assert notice_of(row, S.UNKNOWN, Reason.PARKED, SAYS) == (ROW.address, "in doubt")


@pytest.mark.parametrize("reason", [Reason.PLACE_GONE, Reason.UNAUTHORIZED, Reason.NO_ADAPTER])
def test_no_notice_goes_to_a_place_that_takes_nothing(reason: Reason) -> None:
    assert notice_of(ROW, S.FAILED, reason, SAYS) is None


def test_the_room_of_a_thread_that_is_gone_has_the_notice_if_it_may() -> None:
    room = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100")
    row = msgspec.structs.replace(ROW, address=msgspec.structs.replace(room, thread="7"))
    says = SAYS.model_copy(update={"notice_in_room": True})
    assert notice_of(row, S.FAILED, Reason.PLACE_GONE, says) == (room, "failed")
    assert notice_of(row, S.UNKNOWN, Reason.PLACE_GONE, says) == (room, "in doubt")
    assert notice_of(row, S.FAILED, Reason.UNAUTHORIZED, says) is None
    assert notice_of(msgspec.structs.replace(row, address=room), S.FAILED, Reason.PLACE_GONE, says) is None


def test_an_answer_that_a_send_in_doubt_replaces_is_in_doubt() -> None:
    assert notice_of(ROW, S.CANCELLED, Reason.PARKED, SAYS) == (ROW.address, "in doubt")
    assert notice_of(ROW, S.CANCELLED, Reason.ALREADY_SENT, SAYS) is None


def test_the_room_of_a_closed_thread_reads_that_an_answer_waits() -> None:
    room = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100")
    row = msgspec.structs.replace(ROW, address=msgspec.structs.replace(room, thread="7"))
    says = SAYS.model_copy(update={"closed_notice": "it waits"})
    assert closed_notice_of(row, says) == (room, "it waits")
    for silent in ({"closed_notice": ""}, {"notice_in_room": False}):
        assert closed_notice_of(row, says.model_copy(update=silent)) is None
    assert closed_notice_of(changed(row, acked=1), says) is None
    assert closed_notice_of(msgspec.structs.replace(row, kind=IntentKind.TOOL), says) is None
    assert closed_notice_of(msgspec.structs.replace(row, address=room), says) is None
    # In the end it could not be delivered.
    assert notice_of(row, S.EXPIRED, Reason.PLACE_CLOSED, says) == (room, "failed")


def test_a_notice_that_finds_its_thread_gone_goes_to_the_room_once() -> None:
    room = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-100")
    notice = msgspec.structs.replace(
        intent("m1.reply.notice", "in doubt"),
        kind=IntentKind.NOTICE,
        address=msgspec.structs.replace(room, thread="7"),
        inbound=InboundId("m1"),
    )
    says = SAYS.model_copy(update={"notice_in_room": True})
    assert notice_of(notice, S.FAILED, Reason.PLACE_GONE, says) == (room, "in doubt")
    # It may have been seen in the thread, before that was gone: nobody can know.
    assert notice_of(notice, S.UNKNOWN, Reason.PLACE_GONE, says) == (room, "in doubt")
    assert notice_of(msgspec.structs.replace(notice, address=room), S.FAILED, Reason.PLACE_GONE, says) is None
    assert notice_of(notice, S.FAILED, Reason.REFUSED, says) is None
    assert notice_of(notice, S.FAILED, Reason.PLACE_GONE, SAYS.model_copy(update={"notice_in_room": False})) is None
    farewell = msgspec.structs.replace(notice, id="b1.farewell", inbound=None)
    assert notice_of(farewell, S.FAILED, Reason.PLACE_GONE, says) is None


def test_by_default_people_hear_of_both_and_a_room_of_its_threads() -> None:
    usual = DeliveryConfig()
    assert notice_of(ROW, S.FAILED, Reason.REFUSED, usual) == (ROW.address, "Sorry, my answer could not be delivered.")
    found = notice_of(ROW, S.UNKNOWN, Reason.PARKED, usual)
    assert found is not None
    assert found[1].startswith("Sorry, my answer may not have arrived.")
    assert usual.notice_in_room
