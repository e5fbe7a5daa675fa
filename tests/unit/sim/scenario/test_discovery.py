"""Finding scenario files."""

from pathlib import Path

import pytest

from trunkline.core.errors import UsageError
from trunkline.sim.scenario import find_scenarios, scenario_home


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a/z.yml", "a/b.yaml", "a-b.yaml", "notes.md", ".hidden/c.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("scenario: 1\n")
    (tmp_path / "none").mkdir()
    return tmp_path


def names(found: list[Path], folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in found]


def test_folders_are_searched_in_order(folder: Path) -> None:
    assert names(find_scenarios([folder]), folder) == ["a/b.yaml", "a/z.yml", "a-b.yaml", "b.yaml"]


def test_files_are_taken_as_they_are_and_once(folder: Path) -> None:
    found = find_scenarios([folder / "notes.md", str(folder / "b.yaml"), folder])
    assert names(found, folder) == ["notes.md", "b.yaml", "a/b.yaml", "a/z.yml", "a-b.yaml"]


def test_a_folder_without_scenarios_is_reported(folder: Path) -> None:
    with pytest.raises(UsageError, match="Wrong use: no scenario files") as caught:
        find_scenarios([folder, folder / "none"])
    assert caught.value.facts == f"no scenario files (*.yaml) in the folder {folder / 'none'}"


def test_a_missing_path_is_reported_with_names_near_it(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_scenarios([folder / "a_b.yml"])
    assert caught.value.facts == f"{folder / 'a_b.yml'} does not exist; nearest names there: a-b.yaml"


def test_packaged_scenarios_are_named_as_in_the_clone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    plain = Path("scenarios", "attach", "plain.yaml")
    assert find_scenarios([plain]) == [scenario_home() / "attach" / "plain.yaml"]
    with pytest.raises(UsageError, match="there is no folder"):
        find_scenarios([Path("scenarios", "attach", "none.yaml")])
    (folder / plain).parent.mkdir(parents=True)
    (folder / plain).write_text("")
    assert find_scenarios([plain]) == [plain]


def test_a_missing_folder_is_reported(folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_scenarios([folder / "no" / "x.yaml"])
    assert caught.value.facts.endswith(f"does not exist: there is no folder {folder / 'no'}")


def test_the_home_is_that_of_the_clone_or_of_the_package() -> None:
    assert scenario_home().name in ("scenarios", "_scenarios")
