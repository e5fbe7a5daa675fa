"""Which turns the death of a process counts against, and when a turn is given up."""

from typing import Any

import pytest

from tests.support.factories import delegation, work
from tests.support.for_each import for_each
from trunkline.core.records.rows import Runs, Unfinished
from trunkline.core.runtime.turn_queue import QueuedTurn, charged_turns
from trunkline.core.values import SessionId

#: a run that had begun again a moment before the death, and a while before it; one that waited to begin again
START, LATER, WAITED = Runs(begun=1), Runs(begun=2), Runs(1)
LAST = Runs(2, 2, 1)

#: runs of each session's first turn, hands that had begun -> the turns that are charged
CASES: list[tuple[dict[str, Runs], dict[str, Runs], set[str]]] = [
    # Nothing is known of a first run, which is charged by being assumed.
    ({"a": Runs()}, {}, set()),
    # It ran alone, whenever it had begun.
    ({"a": START}, {}, {"a"}),
    ({"a": LATER}, {}, {"a"}),
    ({"a": LATER, "b": WAITED}, {}, {"a"}),
    # Something else ran, too: a turn, the first run of one, or a hand.
    ({"a": LATER, "b": LATER}, {}, set()),
    ({"a": LATER, "b": Runs()}, {}, set()),
    ({"a": LATER}, {"h": Runs(begun=1)}, set()),
    ({"a": LATER}, {"h": Runs(1, 1)}, {"a"}),
    # The death followed its start at once, and that of no other.
    ({"a": START, "b": LATER, "c": Runs()}, {}, {"a"}),
    ({"a": START}, {"h": Runs(begun=1)}, {"a"}),
    ({"a": START, "b": START}, {}, set()),
    # What was being given up may have ended the process by its notice.
    ({"a": LAST, "b": START, "c": START}, {}, {"a"}),
    ({"a": Runs(2, 2, 2), "b": LATER}, {}, {"a"}),
]


def left(runs: dict[str, Runs], hands: dict[str, Runs]) -> Unfinished:
    """The unfinished work of a process: a turn of each session with another one behind it, and running hands."""
    works = [(work(f"{name}{behind}"), SessionId(name)) for behind in ("", "-behind") for name in runs]
    rows = tuple(delegation(name) for name in hands)
    return Unfinished(works=tuple(works), intents=0, delegations=rows, runs={**runs, **hands})


@for_each(("runs", "hands", "charged"), CASES)
def test_a_turn_is_charged_if_it_ran_alone_or_had_just_begun(
    runs: dict[str, Runs], hands: dict[str, Runs], charged: set[str]
) -> None:
    assert charged_turns(left(runs, hands), 3) == charged


@for_each(
    ("runs", "excess"),
    [
        (None, None),
        (Runs(), None),
        (Runs(5, 1), None),
        (Runs(2, 2), 0),
        (Runs(9, 3), 1),
        # It was there at very many deaths: it may be what ends the process, long after its start.
        (Runs(28, 0), None),
        (Runs(29, 0), 0),
        (Runs(30, 1), 1),
    ],
)
def test_a_turn_is_given_up_when_its_charged_runs_are_used_up(runs: Runs | None, excess: int | None) -> None:
    hold: Any = None
    assert QueuedTurn(work=work(), session=SessionId("s"), cause=1, hold=hold, runs=runs).excess(3) == excess


@pytest.mark.parametrize(
    ("before", "charged", "after"), [(START, True, Runs(1, 1)), (LATER, False, Runs(1)), (WAITED, False, WAITED)]
)
def test_a_death_is_counted_once(before: Runs, charged: bool, after: Runs) -> None:
    assert before.after_death(charged=charged) == after
