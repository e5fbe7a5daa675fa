"""A test for each case tries all of them, and its failure names each that does not hold."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.for_each import for_each


def failure(test: Callable[..., Any], **fixtures: Any) -> list[str]:
    """The lines of the failure of such a test."""
    with pytest.raises(AssertionError) as raised:
        test(**fixtures)
    return str(raised.value).splitlines()


def test_every_case_is_tried_and_each_offender_is_named_with_its_place() -> None:
    tried: list[int] = []

    @for_each("number", [1, 2, 3, 4])
    def is_odd(number: int) -> None:
        tried.append(number)
        if number == 4:
            raise KeyError(number)
        assert number % 2

    head, first, second = failure(is_odd)
    assert tried == [1, 2, 3, 4]
    assert head == "2 of 4 cases do not hold:"
    assert first.startswith("  number=2: AssertionError: ")
    assert second.startswith("  number=4: KeyError: 4 (tests/unit/house/test_for_each.py:")


def test_what_pytest_fails_with_is_an_offender_too() -> None:
    @for_each("number", [0, 1])
    def is_out_of_range(number: int) -> None:
        with pytest.raises(IndexError):
            [5][number]

    head, offender = failure(is_out_of_range)
    assert head == "1 of 2 cases do not hold:"
    assert offender.startswith(
        "  number=0: Failed: DID NOT RAISE <class 'IndexError'> (tests/unit/house/test_for_each.py:"
    )


def test_cases_that_all_hold_pass() -> None:
    holds: Callable[..., None] = for_each("number", [1, 3])(lambda number: None)
    holds()


def test_several_are_their_product_and_leave_the_fixtures() -> None:
    tried: list[tuple[str, int, int]] = []

    @for_each("left", "ab")
    @for_each(("right", "more"), [(1, 2), pytest.param(3, 4, id="named")])
    def is_tried(here: list[tuple[str, int, int]], left: str, right: int, more: int) -> None:
        here.append((left, right, more))
        assert left == "a"

    assert failure(is_tried, here=tried)[0] == "2 of 4 cases do not hold:"
    assert tried == [("a", 1, 2), ("a", 3, 4), ("b", 1, 2), ("b", 3, 4)]
    assert [line.partition(": ")[0].strip() for line in failure(is_tried, here=tried)[1:]] == [
        "left='b', right=1, more=2",
        "left='b', named",
    ]


def test_cases_are_named_by_their_ids() -> None:
    @for_each("number", [1], ids=["the first"])
    @for_each("kind", [SimpleNamespace(name="x")], ids=lambda kind: kind.name)
    def fails(number: int, kind: SimpleNamespace) -> None:
        raise AssertionError

    assert failure(fails)[1].startswith("  the first, kind=x: AssertionError: ")


@pytest.mark.anyio
@for_each("number", [1, 2])
async def test_coroutines_are_awaited(request: pytest.FixtureRequest, number: int) -> None:
    seen = vars(request.node).setdefault("seen", [])
    seen.append(number)
    assert seen == [1, 2][:number]


@pytest.mark.anyio
async def test_a_coroutine_that_fails_is_an_offender() -> None:
    @for_each("number", [1, 2])
    async def is_one(number: int) -> None:
        assert number == 1

    with pytest.raises(AssertionError, match="1 of 2 cases do not hold"):
        await is_one()  # pyright: ignore[reportCallIssue]


def test_no_case_is_left_out_by_a_mark_or_because_there_is_none() -> None:
    with pytest.raises(ValueError, match="no marks"):
        for_each("number", [pytest.param(1, marks=pytest.mark.slow)])
    with pytest.raises(ValueError, match="no cases"):
        for_each("number", [])


def test_a_case_cannot_skip_the_others() -> None:
    @for_each("number", [1, 2])
    def skips(number: int) -> None:
        if number == 1:
            pytest.skip("never")

    assert failure(skips)[0] == "1 of 2 cases do not hold:"
