"""The scenarios that are made from tables are those of the tables, and hold."""

from collections.abc import Mapping

import pytest

from tests.families import FAMILIES, FILES
from tests.families.family import FOLDER, Family
from tests.families.recorded import recorded, without_recorded
from tests.support.for_each import for_each
from tests.support.paths import FAMILY_FILES, SCENARIOS
from tests.support.scenario.shipped import shipped_scenario
from trunkline.sim import run_scenario


def test_the_files_are_those_of_the_tables() -> None:
    written = {path.name: without_recorded(path.read_text("utf-8")) for path in (SCENARIOS / FOLDER).iterdir()}
    stale = sorted(name for name in {*written, *FILES} if written.get(name) != FILES.get(name))
    assert stale == [], "python -m tests.families writes them"
    assert len(FILES) == sum(len(family.rows) for family in FAMILIES)


@pytest.mark.parametrize("seed", [None, pytest.param(77, marks=pytest.mark.nightly)])
@pytest.mark.slow(every=12)
@pytest.mark.parametrize("path", FAMILY_FILES, ids=lambda path: path.stem)
def test_it_holds(path, seed) -> None:
    result = run_scenario(shipped_scenario(path), seed=seed)
    assert (result.violated, result.unmet) == ((), ())


def made(text: str, row: Mapping[str, str]) -> str:
    rows = {"one": row}
    family = Family(name="x", title="t", story="s", tags=("a",), text=text, exercised=("D1",), rows=rows)
    return dict(family.files())["x-one.yaml"].partition("  s\n")[2]


def test_a_slot_of_several_lines_is_indented_and_an_empty_one_leaves_no_line() -> None:
    text = made("script:\n  $steps\n  $none\n  - {at: $time}", {"steps": "- a\n- b", "none": "", "time": "3s"})
    assert text == "script:\n  - a\n  - b\n  - {at: 3s}\nexpect:\n  exercised: [D1]\n"


def test_a_slot_that_no_row_fills_is_an_error() -> None:
    with pytest.raises(KeyError, match="time"):
        made("script: [$time]", {})


@pytest.mark.slow
@for_each("name", sorted(FILES)[::60])
def test_what_is_recorded_is_what_runs_show(name) -> None:
    assert (SCENARIOS / FOLDER / name).read_text("utf-8") == FILES[name] + recorded(FILES[name], name)
