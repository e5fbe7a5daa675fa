"""`make test` runs a sample of the tests that cost much, never none of a parametrised kind, and stays small."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import pytest

from tests.support.for_each import for_each
from tests.support.paths import ROOT
from tests.support.scale import (
    LONGEST,
    MOST_HEAVY,
    MOST_ITEMS,
    SAMPLES,
    VARIABLE,
    heavy_folder,
    in_order,
    is_left_out,
    run_all,
    scaled,
    split_sample,
)


@dataclass
class Item:
    """What `split_sample` asks of a test item."""

    nodeid: str
    mark: pytest.Mark | None

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.mark if name == "slow" else None


def test_every_nth_item_is_in_the_sample_and_the_first_always() -> None:
    third = [Item(f"test_many[{number}]", pytest.mark.slow(every=3).mark) for number in range(7)]
    others = [Item("test_whole", pytest.mark.slow.mark), Item("test_quick", None)]
    chosen, left = split_sample(cast(list[pytest.Item], [*third, *others]))
    assert [item.nodeid for item in chosen] == ["test_many[0]", "test_many[3]", "test_many[6]", "test_quick"]
    assert len(chosen) + len(left) == 9


def test_what_runs_longest_begins_first_and_all_else_stays_in_its_order() -> None:
    names = ["tests/cli/test_b.py::test_2", "tests/reach/test_reach.py::test_x", "tests/cli/test_a.py::test_1"]
    items = [cast("pytest.Item", Item(name, None)) for name in names]
    assert [item.nodeid for item in in_order(items)] == [names[1], names[0], names[2]]
    assert all((ROOT / path).exists() for path in LONGEST)


def test_a_parameter_is_full_only_where_everything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "all")
    assert scaled(12, 4) == 12
    monkeypatch.delenv(VARIABLE)
    assert scaled(12, 4) == 4


# ---------------------------------------------------------------- folders of which make test runs a sample

HEAVY = {"tests/far": ("near", "test_one.py", "test_two.py::test_b", "test_two.py::test_c[2]"), "tests/none": ()}


@for_each(
    "path",
    [
        *("tests/far", "tests/far/near/test_any.py", "tests/far/near/test_any.py::test_x[1]"),
        *("tests/far/test_one.py", "tests/far/test_one.py::test_x", "tests/far/test_two.py"),
        *("tests/far/test_two.py::test_b", "tests/far/test_two.py::test_b[1]", "tests/far/test_two.py::test_c[2]"),
        *("tests", "tests/farther", "tests/unit/test_one.py"),
    ],
)
def test_the_sample_of_a_folder_and_all_other_folders_run(path: str) -> None:
    assert not is_left_out(path, HEAVY)


@for_each(
    "path",
    [
        *("tests/far/nearer", "tests/far/test_three.py", "tests/far/test_two.py::test_a"),
        *("tests/far/test_two.py::test_c[1]", "tests/none", "tests/none/test_one.py"),
    ],
)
def test_all_else_of_the_folder_is_left_out(path: str) -> None:
    assert is_left_out(path, HEAVY)


@for_each("entry", [f"{folder}/{entry}".rstrip("/") for folder, sample in SAMPLES.items() for entry in (*sample, "")])
def test_what_is_named_in_a_sample_exists(entry: str) -> None:
    path, _, test = entry.partition("::")
    assert (ROOT / path).exists()
    if test:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        assert test.partition("[")[0] in {function.name for function in functions}


# ---------------------------------------------------------------- how much it is


def too_many(ids: Iterable[str]) -> list[str]:
    """What makes `make test` larger than it may be."""
    ids = list(ids)
    heavy = sum(heavy_folder(one) is not None for one in ids)
    found = [f"{len(ids)} tests; MOST_ITEMS is {MOST_ITEMS}"] if len(ids) > MOST_ITEMS else []
    return [*found, f"{heavy} tests of heavy folders; MOST_HEAVY is {MOST_HEAVY}"] if heavy > MOST_HEAVY else found


def sample() -> list[str]:
    """The ids that `make test` collects, asked of a process: this one collects everything."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-p", "no:cacheprovider"]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return re.findall(r"^tests/\S+\.py::.+", done.stdout, re.MULTILINE)


def test_make_test_has_only_so_many_tests(request: pytest.FixtureRequest) -> None:
    assert too_many(sample() if run_all() else [item.nodeid for item in request.session.items]) == []


def test_one_test_too_many_is_found() -> None:
    many = [f"tests/unit/test_x.py::test_{number}" for number in range(MOST_ITEMS)]
    assert too_many(many) == []
    assert too_many([*many, "tests/unit/test_x.py::test_more"]) == [
        f"{MOST_ITEMS + 1} tests; MOST_ITEMS is {MOST_ITEMS}"
    ]
    drawn = [f"tests/browser/test_x.py::test_{number}" for number in range(MOST_HEAVY + 1)]
    assert too_many(drawn) == [f"{MOST_HEAVY + 1} tests of heavy folders; MOST_HEAVY is {MOST_HEAVY}"]
