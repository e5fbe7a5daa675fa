"""Suspects run again: one alone, then in groups that double; those of two deaths alone and first."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from tests.support.for_each import for_each
from trunkline.core.runtime.suspects import Suspects
from trunkline.sim.loop import SimLoop, run


class Begun:
    """Notes when suspects begin."""

    def __init__(self, loop: SimLoop, takes: float) -> None:
        self._loop = loop
        self._takes = takes
        self.at: list[tuple[str, float]] = []

    def suspect(self, name: str) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            self.at.append((name, self._loop.time()))
            await anyio.sleep(self._takes)

        return work


def starts(many: list[tuple[str, int, float]], takes: float, most: int = 3) -> list[tuple[str, float]]:
    """When each of some suspects begins, by name, runs and time of its last start; and how long each runs."""

    async def main(loop: SimLoop) -> list[tuple[str, float]]:
        begun, suspects, connected = Begun(loop, takes), Suspects(), anyio.Event()
        async with anyio.create_task_group() as group:
            connected.set()
            suspects.start(group, connected)
            for name, runs, since in many:
                suspects.run(begun.suspect(name), name, runs=runs, most=most, since=since)
        return begun.at

    return run(main, seed=1)


def test_groups_double_while_the_process_lives() -> None:
    at = starts([(f"h{n:03}", 1, 0.0) for n in range(100)], takes=3600.0)
    groups = [[name for name, when in at if when == begun] for begun in sorted({when for _, when in at})]
    assert [len(group) for group in groups] == [1, 2, 4, 8, 16, 32, 32, 5]
    assert [name for group in groups for name in sorted(group)] == [f"h{n:03}" for n in range(100)]
    # After the last one of hundreds this is minutes, and not a quarter of an hour.
    assert at[0][1] == pytest.approx(1.0)
    assert at[-1][1] == pytest.approx(71.0)


def test_the_next_group_does_not_wait_for_what_has_ended() -> None:
    at = starts([(f"h{n}", 1, 0.0) for n in range(7)], takes=0.5)
    assert [when for _, when in at] == pytest.approx([1.0, 1.5, 1.5, 2.0, 2.0, 2.0, 2.0])


def test_those_of_two_deaths_run_alone_and_first_and_the_one_that_began_last_before_the_others() -> None:
    at = starts([("a", 1, 9.0), ("b", 2, 5.0), ("c", 2, 7.0), ("d", 1, 1.0), ("e", 1, 2.0)], takes=3600.0)
    assert sorted(at, key=lambda one: (one[1], one[0])) == [
        ("c", pytest.approx(1.0)),
        ("b", pytest.approx(11.0)),
        ("a", pytest.approx(21.0)),
        ("d", pytest.approx(31.0)),
        ("e", pytest.approx(31.0)),
    ]


def test_who_has_only_one_run_left_is_in_no_group() -> None:
    at = starts([(f"h{n}", 1, 0.0) for n in range(4)], takes=3600.0, most=2)
    assert [when for _, when in at] == pytest.approx([1.0, 11.0, 21.0, 31.0])


@for_each("most", [2, 3, 5])
@for_each("killer", range(0, 40, 3))
def test_a_hand_that_kills_its_process_is_found_and_no_other_is_given_up(killer: int, most: int) -> None:
    runs, since = dict.fromkeys(range(40), 1), {n: float(n) for n in range(40)}
    deaths = 1
    while runs[killer] < most:
        open_runs = _open_at_death(killer, most, runs, since)
        deaths += 1
        for n in open_runs:
            runs[n] += 1
            since[n] += 1000.0 * deaths
        for n in set(since) - open_runs:
            since[n] += 1.0
    assert deaths <= most + 1
    assert [n for n in runs if runs[n] >= most] == [killer]


def _open_at_death(killer: int, most: int, runs: dict[int, int], since: dict[int, float]) -> set[int]:
    """Those that are running when a process dies."""
    suspects, died, open_runs = Suspects(), anyio.Event(), set[int]()

    def work(n: int) -> Callable[[], Awaitable[None]]:
        async def one() -> None:
            open_runs.add(n)
            await anyio.sleep(3.0 if n == killer else 5.0)
            if n == killer:
                died.set()
                await anyio.sleep(3600.0)
            open_runs.remove(n)

        return one

    async def main(_loop: SimLoop) -> set[int]:
        at_death = set[int]()
        async with anyio.create_task_group() as group:
            suspects.start(group, anyio.Event())
            for n in sorted(runs):
                suspects.run(work(n), str(n), runs=runs[n], most=most, since=since[n])
            await died.wait()
            at_death |= open_runs
            group.cancel_scope.cancel()
        return at_death

    return run(main, seed=1)
