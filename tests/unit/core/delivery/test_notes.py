"""What is said about a bad end: to the agent, and to the person."""

import msgspec
import pytest

from tests.support.factories import changed, intent
from tests.support.for_each import for_each
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.delivery.notes import delivery_note, notice_of, work_about
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


@for_each("state", S)
@for_each("kind", IntentKind)
def test_a_person_gets_a_notice_of_an_answer_that_did_not_arrive_and_of_one_that_may_not_have(kind, state) -> None:
    texts = {S.FAILED: "failed", S.DEAD: "failed", S.EXPIRED: "failed", S.UNKNOWN: "in doubt"}
    text = texts.get(state) if kind is IntentKind.REPLY else None
    found = notice_of(msgspec.structs.replace(ROW, kind=kind), state, Reason.TOO_OLD, SAYS)
    assert found == (None if text is None else (ROW.address, text))
    assert notice_of(msgspec.structs.replace(ROW, kind=kind), state, Reason.TOO_OLD, DeliveryConfig()) is None


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
    assert notice_of(notice, S.FAILED, Reason.PLACE_GONE, SAYS) is None
    farewell = msgspec.structs.replace(notice, id="b1.farewell", inbound=None)
    assert notice_of(farewell, S.FAILED, Reason.PLACE_GONE, says) is None
