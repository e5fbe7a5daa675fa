"""How much of the heavy tests runs: a sample by default, everything with `pytest --all` (`make test-all`).

Two ways to be sampled. `@pytest.mark.slow(every=N)` runs every Nth item of a parametrised test; `@pytest.mark.slow`
alone leaves a test to `--all`, for those whose module has others of the same kind. Inside a test, `scaled` chooses
between a full and a smaller parameter.
"""

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")
#: Set by tests/conftest.py, so that processes that tests start see it too.
VARIABLE = "TRUNKLINE_TESTS"


def run_all() -> bool:
    return os.environ.get(VARIABLE) == "all"


def scaled(full: T, sample: T) -> T:
    """Return `full` where everything runs, else `sample`."""
    return full if run_all() else sample


def split_sample(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Split items into those of the sample and those left to `--all`. The first of a parametrised test is in it."""
    chosen: list[pytest.Item] = []
    left: list[pytest.Item] = []
    seen: dict[str, int] = {}
    for item in items:
        mark = item.get_closest_marker("slow")
        if mark is None:
            chosen.append(item)
            continue
        test = item.nodeid.partition("[")[0]
        number = seen[test] = seen.get(test, -1) + 1
        every = mark.kwargs.get("every")
        (chosen if every and number % every == 0 else left).append(item)
    return chosen, left
