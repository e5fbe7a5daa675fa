"""Which updates may be confirmed."""

from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.adapters.telegram.webhook import OpenUpdates
from trunkline.core.values import Address, ChatKind, Envelope, Peer

PLACE = Address(channel="telegram", account="default", kind=ChatKind.DIRECT, conversation="77")


def said(number: int) -> Envelope:
    return Envelope(address=PLACE, peer=Peer(id="77"), message_id=str(number), text="x", sent_at=0.0)


def test_the_offset_stops_at_the_first_that_is_not_safe() -> None:
    updates = OpenUpdates()
    assert [updates.note_update(number, said(number)) for number in (5, 6, 7)] == [True, True, True]
    assert updates.offset is None
    updates.ack(said(6))
    assert updates.offset is None
    updates.ack(said(5))
    assert updates.offset == 7
    updates.ack(said(7))
    assert updates.offset == 8


def test_an_offset_is_sent_until_it_was_answered_and_not_after() -> None:
    updates = OpenUpdates()
    updates.note_update(5, None)
    assert (updates.offset, updates.offset) == (6, 6)
    updates.confirm(6)
    assert updates.offset is None
    # After a week without updates numbers begin again, perhaps lower.
    assert updates.note_update(2, said(2))
    assert updates.offset is None
    updates.ack(said(2))
    assert updates.offset == 3


def test_a_new_connection_hands_out_again_what_is_not_acknowledged() -> None:
    updates = OpenUpdates()
    updates.note_update(5, said(5))
    updates.note_update(6, said(6))
    updates.ack(said(6))
    assert not updates.note_update(5, said(5))
    updates.reconnect()
    assert updates.offset is None
    assert updates.note_update(5, said(5))
    assert not updates.note_update(6, said(6))
    # The acknowledgement of the first connection may come late.
    updates.ack(said(5))
    assert updates.offset == 7


def test_a_message_in_two_updates_is_acknowledged_in_both() -> None:
    updates = OpenUpdates()
    updates.note_update(5, said(1))
    updates.note_update(6, said(1))
    updates.ack(said(1))
    assert (updates.waiting, updates.offset) == (0, 7)


@given(st.lists(st.tuples(st.sampled_from(["take", "ack", "poll", "reconnect"]), st.integers(1, 12)), max_size=60))
def test_no_offset_passes_an_update_that_is_not_safe(steps: list[tuple[str, int]]) -> None:
    updates, safe, taken = OpenUpdates(), set[int](), set[int]()
    confirmed = 0
    for step, number in steps:
        if step == "take" and number >= confirmed:
            # Telegram hands out everything from the first unconfirmed one on.
            for one in range(max(confirmed, 1), number + 1):
                updates.note_update(one, said(one))
                taken.add(one)
        elif step == "ack" and number in taken:
            updates.ack(said(number))
            safe.add(number)
        elif step == "poll" and (offset := updates.offset) is not None:
            assert all(one in safe for one in range(1, offset))
            updates.confirm(offset)
            confirmed = offset
        elif step == "reconnect":
            updates.reconnect()
