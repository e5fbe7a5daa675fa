"""Keys of a fair queue take turns, whatever the others ask for."""

from trunkline.core.hands.fair_queue import FairQueue


def filled(*items: tuple[str, str]) -> FairQueue[str, str]:
    queue: FairQueue[str, str] = FairQueue()
    for key, item in items:
        queue.put(key, item)
    return queue


def drained(queue: FairQueue[str, str]) -> list[str]:
    taken: list[str] = []
    while (item := queue.take()) is not None:
        taken.append(item)
    return taken


def test_keys_take_turns_and_each_keeps_its_order() -> None:
    queue = filled(("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2"))
    assert len(queue) == 6
    assert drained(queue) == ["a1", "b1", "c1", "a2", "b2", "a3"]
    assert (len(queue), queue.take()) == (0, None)


def test_a_key_that_comes_back_waits_for_the_others() -> None:
    queue = filled(("a", "a1"), ("b", "b1"), ("c", "c1"))
    assert queue.take() == "a1"
    queue.put("a", "a2")
    assert drained(queue) == ["b1", "c1", "a2"]


def test_what_is_discarded_is_not_taken() -> None:
    queue = filled(("a", "a1"), ("a", "a2"), ("b", "b1"))
    queue.discard("a", "a1")
    queue.discard("b", "b1")
    queue.discard("b", "b1")
    queue.discard("z", "z1")
    assert len(queue) == 1
    assert drained(queue) == ["a2"]


def test_the_same_item_is_queued_once() -> None:
    queue = filled(("a", "a1"), ("a", "a1"))
    assert (len(queue), drained(queue)) == (1, ["a1"])


def test_a_thousand_waiting_items_of_one_key_delay_another_by_one() -> None:
    queue = filled(*(("greedy", f"g{n}") for n in range(1000)), ("modest", "m1"))
    assert [queue.take(), queue.take()] == ["g0", "m1"]
