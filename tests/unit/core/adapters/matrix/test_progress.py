"""Which token of a sync may be saved."""

from hypothesis import given
from hypothesis import strategies as st

from trunkline.core.adapters.matrix.inbound.sync import SyncProgress


def test_a_token_waits_for_every_message_before_it() -> None:
    progress = SyncProgress()
    progress.note_answer("t1", ["a", "b"])
    progress.note_answer("t2", [])
    progress.note_answer("t3", ["c"])
    assert progress.safe is None
    progress.note_durable("c")
    progress.note_durable("b")
    assert progress.safe is None
    assert progress.is_done("c")
    progress.note_durable("a")
    assert progress.safe == "t3"
    assert not progress.is_done("c")


def test_what_was_acknowledged_ahead_is_not_taken_again_after_a_reconnect() -> None:
    progress = SyncProgress()
    progress.note_answer("t1", ["a", "b"])
    progress.note_durable("b")
    progress.begin()
    assert progress.is_done("b")
    progress.note_answer("t1", ["a"])
    progress.note_durable("a")
    assert progress.safe == "t1"


@given(st.lists(st.integers(0, 3), max_size=6), st.randoms(use_true_random=False))
def test_the_saved_token_is_never_ahead(sizes: list[int], dice: object) -> None:
    progress = SyncProgress()
    batches = [[f"{n}.{i}" for i in range(size)] for n, size in enumerate(sizes)]
    for number, batch in enumerate(batches):
        progress.note_answer(f"t{number}", batch)
    waiting = [one for batch in batches for one in batch]
    dice.shuffle(waiting)  # type: ignore[attr-defined]
    while True:
        safe = -1 if progress.safe is None else int(progress.safe[1:])
        open_batches = [n for n, batch in enumerate(batches) if set(batch) & set(waiting)]
        assert safe == (min(open_batches) if open_batches else len(batches)) - 1
        if not waiting:
            return
        progress.note_durable(waiting.pop())


def test_a_new_connection_does_not_wait_for_what_never_comes_again() -> None:
    progress = SyncProgress()
    progress.note_answer("t1", ["$deleted"])
    progress.begin()
    progress.note_answer("t2", [])
    assert progress.safe == "t2"
