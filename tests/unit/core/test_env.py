"""The two clocks of a gateway."""

import time

import pytest

from trunkline.core.env import Env, system_env


class Clocks:
    """A wall clock that can be set, and a steady one."""

    def __init__(self) -> None:
        self.steady, self.set_by = 100.0, 0.0
        self.env = Env(now=lambda: self.steady + self.set_by, steady=lambda: self.steady, ids=system_env().ids, seed="")


@pytest.mark.parametrize("by", [-3600.0, 0.0, 3600.0])
def test_stored_times_are_translated_by_what_both_clocks_show_now(by: float) -> None:
    clocks = Clocks()
    clocks.set_by = by
    env = clocks.env
    # Stored ten seconds ago, by the clock of now.
    assert env.steady_of(env.now() - 10) == pytest.approx(90.0)
    assert env.wall_of(90.0) == pytest.approx(env.now() - 10)
    assert env.steady_of(env.wall_of(123.456)) == pytest.approx(123.456)


def test_the_steady_clock_begins_as_the_wall_clock_and_is_not_set_with_it() -> None:
    set_by = [0.0]
    env = Env(now=lambda: time.time() + set_by[0], ids=system_env().ids, seed="")
    assert env.steady() == pytest.approx(env.now(), abs=0.5)
    set_by[0] = -3600.0
    assert env.steady() == pytest.approx(env.now() + 3600.0, abs=0.5)
    before = env.steady()
    assert env.steady() >= before
