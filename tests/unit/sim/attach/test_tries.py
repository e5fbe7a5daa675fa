"""The verdicts of several tries: k of n, flaky, not exercised."""

import pytest

from trunkline.sim.attach.tries import JudgedTry, PromiseOverTries, over_tries
from trunkline.sim.invariants import Status, Verdict, Violation

BAD, GOOD, IDLE = Status.VIOLATED, Status.OK, Status.NOT_EXERCISED


def one_try(status: Status, *, whole: bool = True, name: str = "X1") -> JudgedTry:
    broken = Violation(invariant=name, at=1, summary="s", expected=("e",), actual=("a",), evidence=(1,))
    violations = (broken,) if status is BAD else ()
    verdict = Verdict(id=name, title="t", sentence="s", status=status, exercised=1, violations=violations)
    return JudgedTry(verdicts=(verdict,), whole=whole)


def over(*statuses: Status) -> PromiseOverTries:
    (found,) = over_tries([one_try(status) for status in statuses])
    return found


@pytest.mark.parametrize(
    ("statuses", "text"),
    [
        ([BAD] * 5, "X1 violated 5 of 5"),
        ([BAD, GOOD, BAD], "X1 violated 2 of 3 (flaky)"),
        ([BAD, IDLE], "X1 violated 1 of 1, not exercised 1 of 2"),
        ([GOOD, GOOD], "X1 ok 2 of 2"),
        ([IDLE, IDLE], "X1 not exercised 2 of 2"),
    ],
)
def test_k_of_n_counts_the_tries_in_which_it_was_judged(statuses: list[Status], text: str):
    assert str(over(*statuses)) == text


def test_flaky_is_neither_always_nor_never():
    assert not over(BAD, BAD).flaky
    assert not over(GOOD, GOOD).flaky
    assert not over(BAD, IDLE).flaky
    assert over(GOOD, BAD).flaky


def test_a_try_whose_fault_did_not_strike_does_not_count_as_held():
    (found,) = over_tries([one_try(BAD), one_try(GOOD, whole=False)])
    assert (found.times, found.judged, found.not_exercised, found.flaky) == (1, 1, 1, False)


def test_what_such_a_try_violates_counts():
    (found,) = over_tries([one_try(BAD, whole=False)])
    assert (found.status, found.violated) == (BAD, (0,))


def test_the_status_of_all_tries_is_the_worst():
    assert [over(*some).status for some in ([BAD, GOOD], [GOOD, IDLE], [IDLE])] == [BAD, GOOD, IDLE]


def test_no_try_says_nothing():
    assert over_tries([]) == ()


def test_a_promise_that_a_try_does_not_have_is_not_exercised_there():
    (found,) = over_tries([one_try(BAD), one_try(BAD, name="X2")])
    assert (found.times, found.not_exercised) == (1, 1)
