"""How the product is laid out: sizes, names of classes, weight of imports. Each rule has a test that it can fail."""

import ast
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

from tests.support.paths import ROOT
from tests.support.sources import PACKAGES, modules, offenders, parse, source_of

MAX_LINES = 600
MAX_MODULES = 16

#: Folders that may hold more modules side by side, each with its reason.
WIDE_FOLDERS = {"core/channels/platforms": "one module per channel"}

#: Public classes that share a name, each with its reason. A name that is no longer shared must leave this table.
SHARED_NAMES: dict[str, str] = {}

#: Packages that `import trunkline.core` and `import trunkline.sim` must not bring in.
HEAVY = ("textual", "rich", "cyclopts", "faker")


# Size


def too_long(source: str) -> list[str]:
    lines = len(source.splitlines())
    return [f"{lines} lines"] if lines > MAX_LINES else []


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_modules_stay_short(package: str) -> None:
    assert offenders(lambda module: too_long(source_of(module)), package) == []


def test_a_long_module_is_found() -> None:
    assert too_long("x = 1\n" * MAX_LINES) == []
    assert too_long("x = 1\n" * (MAX_LINES + 1)) == ["601 lines"]


def wide_folders(paths: Iterable[str]) -> set[str]:
    """Folders with too many modules side by side, `__init__.py` apart."""
    count = Counter(str(PurePosixPath(path).parent) for path in paths if not path.endswith("__init__.py"))
    return {folder for folder, found in count.items() if found > MAX_MODULES}


def test_a_folder_holds_few_modules() -> None:
    assert wide_folders(modules()) <= WIDE_FOLDERS.keys()


def test_a_wide_folder_is_found() -> None:
    inside = [f"core/many/{number}.py" for number in range(MAX_MODULES)]
    assert wide_folders([*inside, "core/many/__init__.py"]) == set()
    assert wide_folders([*inside, "core/many/one_more.py"]) == {"core/many"}


# Names


def public_classes(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def shared_names(trees: dict[str, ast.Module]) -> dict[str, list[str]]:
    """The modules of each public class name that several modules define."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for module, tree in trees.items():
        for name in public_classes(tree):
            homes[name].append(module)
    return {name: found for name, found in sorted(homes.items()) if len(found) > 1}


def test_a_class_name_means_one_thing() -> None:
    found = shared_names({module: parse(module) for module in modules()})
    assert {name: where for name, where in found.items() if name not in SHARED_NAMES} == {}
    assert SHARED_NAMES.keys() - found.keys() == set(), "no longer shared"


def test_a_shared_class_name_is_found() -> None:
    twice = {"core/a.py": ast.parse("class Row: ..."), "app/b.py": ast.parse("class Row: ...\nclass _Own: ...")}
    assert shared_names({**twice, "sim/c.py": ast.parse("class _Own: ...")}) == {"Row": ["core/a.py", "app/b.py"]}


# Annotations


def switches_annotations(source: str) -> list[str]:
    return ["annotations are text"] if "from __future__ import annotations" in source.splitlines() else []


@pytest.mark.parametrize("package", [*PACKAGES, "tests"])
def test_annotations_are_evaluated(package: str) -> None:
    """Two lines in each of 2,300 modules served 150 annotations that name something later: those are quoted."""
    assert offenders(lambda module: switches_annotations(source_of(module)), package) == []


def test_annotations_that_are_text_are_found() -> None:
    assert switches_annotations('"""A module."""\n\nfrom __future__ import annotations\n') == ["annotations are text"]
    assert switches_annotations("import annotations\n") == []


# Weight of an import


def heavy_imports(statement: str, folder: Path) -> set[str]:
    """Return which heavy packages a fresh interpreter holds after the statement."""
    code = f"{statement}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, check=True, text=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("package", ["core", "sim"])
def test_core_and_sim_import_nothing_heavy(package: str) -> None:
    assert heavy_imports(f"import trunkline.{package}", ROOT) == set()


def test_a_heavy_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "greedy.py").write_text("import rich.text\n")
    assert heavy_imports("import greedy", tmp_path) == {"rich"}


# Bug switches


INSTALLS = re.compile(r"\bbugs?\b.*\.install\(", re.IGNORECASE)


def uses_of_wiring(sources: dict[str, str]) -> list[str]:
    """Modules that could put a defect into a gateway: those that name the wiring or install a bug."""
    return sorted(name for name, text in sources.items() if "Wiring" in text or INSTALLS.search(text))


def test_only_the_simulated_process_installs_bug_switches():
    sources = {module: source_of(module) for module in modules()}
    # A plug-in gets the wiring too, and its switches are tried out in one of no process.
    outside = [name for name in uses_of_wiring(sources) if not name.startswith(("sim/bugs/", "sim/plugins/"))]
    assert outside == ["sim/run/gateway_process.py"]


def test_a_bug_switch_elsewhere_would_be_seen():
    assert uses_of_wiring({"core/gateway.py": "from trunkline.sim.bugs.wiring import Wiring"}) == ["core/gateway.py"]
    assert uses_of_wiring({"app/x.py": "BUGS[bug].install(wiring)"}) == ["app/x.py"]
