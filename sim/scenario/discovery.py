"""Finds scenario files: named ones, those in a folder, and those packaged with Trunkline."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from trunkline.core.errors import UsageError

_SUFFIXES = (".yaml", ".yml")
_PACKAGE = Path(__file__).resolve().parents[1]


def find_scenarios(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Scenario files, each once, in order: files as given, and all ``*.yaml`` and ``*.yml`` below folders.

    ``scenarios/...`` that does not exist here is looked for among those packaged with Trunkline.

    Raises `UsageError` for a path that does not exist, with the nearest names, and for a folder without scenarios.
    """
    found: dict[Path, None] = {}
    for given in paths:
        path = scenario_path(Path(given))
        if not os.path.lexists(path):
            raise UsageError(_missing(path))
        inside = _below(path) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"no scenario files (*.yaml) in the folder {path}")
        found.update(dict.fromkeys(inside))
    return list(found)


def scenario_home() -> Path:
    """The folder of the scenarios packaged with Trunkline: in the clone, else in the installed package."""
    clone = _PACKAGE.parent
    if (clone / "pyproject.toml").is_file() and (clone / "scenarios").is_dir():
        return clone / "scenarios"
    return _PACKAGE / "_scenarios"


def scenario_path(path: Path) -> Path:
    """The packaged scenario that a path names as if this were a clone, if nothing else has the path; else the path."""
    if path.parts[:1] != ("scenarios",) or os.path.lexists(path):
        return path
    packaged = scenario_home().joinpath(*path.parts[1:])
    return packaged if packaged.exists() else path


def _below(folder: Path) -> list[Path]:
    """Scenario files below a folder, sorted by path, without hidden files and folders."""
    inside = (path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file())
    visible = [path for path in inside if not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    return sorted(visible, key=lambda path: path.relative_to(folder).parts)


def _missing(path: Path) -> str:
    """The error for a path that does not exist: similar names, or the missing parent."""
    parent = path.parent
    if not parent.is_dir():
        return f"{path} does not exist: there is no folder {parent}"
    try:
        names = sorted(os.listdir(parent))  # noqa: PTH208 (names, not paths)
    except OSError:
        names = []
    by_stem = {Path(name).stem: name for name in reversed(names) if not name.startswith(".")}
    close = [by_stem[stem] for stem in get_close_matches(Path(path.name).stem, by_stem, n=3)]
    near = f"; nearest names there: {', '.join(close)}" if close else ""
    return f"{path} does not exist{near}"
