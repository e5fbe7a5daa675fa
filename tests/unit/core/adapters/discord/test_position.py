"""How far an account has read: it moves only to what everything before is durable for."""

from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.adapters.discord.receiving.position import OVERLAP, ReadPosition, StoredPosition

OLD = StoredPosition(session="s0", url="ws://x", seq=7, after=5_000_000_000_000)


def resumed() -> ReadPosition:
    position = ReadPosition(OLD)
    position.resume()
    return position


def identified(stored: StoredPosition = OLD) -> ReadPosition:
    position = ReadPosition(stored)
    position.begin_session("s1", "ws://y")
    return position


def test_it_moves_over_what_needs_no_answer() -> None:
    position = resumed()
    position.pass_event(8)
    assert position.stored.seq == position.seq == 8


def test_it_waits_for_a_message() -> None:
    position = resumed()
    position.hand_out("6000000000000", 8)
    position.pass_event(9)
    assert position.stored == OLD
    assert position.ack("6000000000000")
    assert (position.stored.seq, position.stored.after) == (9, 6_000_000_000_000)


def test_a_press_moves_the_number_and_not_the_message() -> None:
    position = resumed()
    position.hand_out("9" * 18, 8, written=False)
    position.ack("9" * 18)
    assert (position.stored.seq, position.stored.after) == (8, OLD.after)


def test_a_new_session_is_stored_after_its_history() -> None:
    position = identified()
    position.pass_event(1)
    position.hand_out("6000000000000", None)
    position.hand_out("7000000000000", 2)
    position.ack("6000000000000")
    assert position.stored == OLD
    position.end_history()
    assert position.stored == OLD
    position.ack("7000000000000")
    assert (position.stored.session, position.stored.seq, position.stored.after) == ("s1", 2, 7_000_000_000_000)


def test_history_begins_before_the_last_message() -> None:
    assert identified().since() == 5_000_000_000_000 - OVERLAP if OVERLAP < 5_000_000_000_000 else 0
    assert identified(StoredPosition(after=10, floor=10)).since() == 10
    assert identified(StoredPosition()).since() is None


def test_the_first_connection_begins_after_what_was_there() -> None:
    position = identified(StoredPosition())
    position.note_first(400)
    position.note_first(300)
    position.end_history()
    assert (position.stored.after, position.stored.floor) == (400, 400)


def test_a_session_without_a_name_moves_nothing() -> None:
    position = ReadPosition(OLD)
    position.begin_unknown_session()
    position.hand_out("6000000000000", 1)
    position.ack("6000000000000")
    assert position.stored == OLD


def test_what_is_durable_is_not_handed_out_again() -> None:
    position = resumed()
    position.hand_out("1", 8)
    position.hand_out("2", 9)
    position.ack("2")
    position.resume()
    assert not position.note_repeat("1", 8)
    position.hand_out("1", 8)
    assert position.note_repeat("2", 9)
    assert not position.note_repeat("2", 10)
    position.ack("1")
    assert position.stored.seq == 9


@given(st.lists(st.booleans(), max_size=12), st.randoms(use_true_random=False))
def test_it_never_passes_a_message_that_is_not_durable(messages: list[bool], random: object) -> None:
    position, waiting = resumed(), []
    for number, is_message in enumerate(messages, 8):
        if is_message:
            position.hand_out(str(number), number)
            waiting.append(number)
        else:
            position.pass_event(number)
    random.shuffle(waiting)  # type: ignore[attr-defined]
    while waiting:
        position.ack(str(waiting.pop()))
        first = min(waiting, default=8 + len(messages))
        assert position.stored.seq == first - 1


def test_a_lost_session_is_not_stored_again_by_a_late_acknowledgement() -> None:
    position = resumed()
    position.hand_out("6000000000000", 8)
    position.forget_session()
    position.ack("6000000000000")
    assert (position.stored.session, position.stored.after) == (None, 6_000_000_000_000)
