"""The wheel is complete: built, installed into an empty environment, and used from an empty folder.

Nothing is downloaded: hatchling comes from the running environment, and so do the dependencies of the installed wheel.
"""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.paths import DOCS, ROOT

pytestmark = pytest.mark.slow

#: where the wheel puts each folder of the clone
INSTALLED_AS = {
    "core": "trunkline/core",
    "sim": "trunkline/sim",
    "app": "trunkline/app",
    "scenarios": "trunkline/sim/_scenarios",
}
GATEWAY = """
from pathlib import Path

import anyio
from trunkline import EventLog, Gateway, GatewayConfig, SqliteStore, connect_file, system_env


class Quiet:
    async def turn(self, turn): return None
    def has(self, hand): return False


async def main():
    env = system_env()
    log = EventLog(env.now)
    events = log.recorder("gateway", generation=1)
    store = SqliteStore(lambda: connect_file(Path("trunkline.db")), events)
    gateway = Gateway(config=GatewayConfig(), store=store, adapters=[], agents={"main": Quiet()}, hands=Quiet(),
                      env=env, events=events)
    with anyio.move_on_after(1):
        await gateway.run()
    print(sorted({event.kind for event in log.events}))


anyio.run(main)
"""


def run(command: Sequence[str | Path], cwd: Path, code: int = 0) -> str:
    """Run a command without the caller's Python settings. Returns its output, without errors if there are none."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, check=False, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


def build(source: Path, target: str, folder: Path) -> Path:
    """Build a wheel or an sdist of a source tree, and return its path."""
    run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", folder], cwd=source)
    [built] = folder.iterdir()
    return built


def members(wheel: Path) -> set[str]:
    with ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel; its dependencies come from this one."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    paths = sysconfig.get_paths(vars={"base": str(home), "platbase": str(home)})
    # A path file adds the packages of this environment, but not its path files: the clone stays unknown.
    Path(paths["purelib"], "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    python = Path(paths["scripts"], "python")
    # pip does not touch what is installed elsewhere: trunkline is in this environment as well.
    options = ["--no-deps", "--no-index", "--ignore-installed", "--disable-pip-version-check", "--quiet"]
    run([python, "-m", "pip", "install", *options, wheel], cwd=home)
    return python.parent


def test_it_holds_the_package_and_nothing_else(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in members(wheel)}
    [info] = tops - {"trunkline"}
    assert info.startswith("trunkline-")
    assert info.endswith(".dist-info")


def test_it_holds_every_module_and_data_file(wheel: Path) -> None:
    expected = {"trunkline/__init__.py", "trunkline/__main__.py", "trunkline/py.typed"}
    for folder, package in INSTALLED_AS.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add(f"{package}/{path.relative_to(ROOT / folder).as_posix()}")
    assert {Path(name).suffix for name in expected} >= {".py", ".sql", ".tcss", ".html", ".yaml"}
    assert {name for name in members(wheel) if not name.partition("/")[0].endswith(".dist-info")} == expected


def test_the_sdist_builds_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.glob("trunkline-*")
    assert members(build(source, "wheel", tmp_path / "wheel")) == members(wheel)


def test_its_command_runs_a_packaged_scenario(installed: Path, tmp_path: Path) -> None:
    asking = "from trunkline.sim import scenario_home; print(scenario_home())"
    home = Path(run([installed / "python", "-c", asking], tmp_path).strip())
    assert home.is_relative_to(installed.parent)
    [scenario] = home.rglob("too-old.yaml")
    assert "too-old" in run([installed / "trunkline", "run", scenario], tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_gateway_is_embedded_with_names_of_the_front_door(installed: Path, tmp_path: Path) -> None:
    kinds = run([installed / "python", "-c", GATEWAY], tmp_path)
    assert "lease.taken" in kinds
    assert (tmp_path / "trunkline.db").exists()


def test_the_documented_example_answers(installed: Path, tmp_path: Path) -> None:
    script = tmp_path / "echo.py"
    script.write_bytes((DOCS / "examples" / "echo.py").read_bytes())
    assert "Ana said: hello" in run([installed / "python", script, tmp_path], tmp_path)


# A plug-in, in a wheel of its own

PLUGIN = DOCS / "examples" / "plugin"
APP = """
import sys
from pathlib import Path

import anyio
from trunkline.app.runs.scenario_source import SimSource
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.state.workspace import Workspace
from trunkline.sim.plugins import load_toolbox


async def main():
    source = SimSource((Path(sys.argv[1]),), load_toolbox())
    [entry] = source.scenarios()
    workspace = Workspace(source)
    workspace.open(entry, seed=1, bugs=entry.bugs)
    workspace.seek(workspace.run.view.last)
    async with TrunklineApp(workspace, first="invariants", clocked=False).run_test(size=(200, 130)) as pilot:
        await pilot.pause()
        print(pilot.app.export_screenshot())


anyio.run(main)
"""


@pytest.fixture(scope="module")
def with_plugin(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs, where the example of a plug-in is installed from its own wheel too."""
    built = build(PLUGIN, "wheel", tmp_path_factory.mktemp("plugin"))
    options = ["--no-deps", "--no-index", "--disable-pip-version-check", "--quiet"]
    run([installed / "python", "-m", "pip", "install", *options, built], cwd=built.parent)
    return installed


def test_an_installed_plugin_works_in_run_explore_junit_and_lists(with_plugin: Path, tmp_path: Path) -> None:
    trunkline, folder = with_plugin / "trunkline", PLUGIN / "scenarios"
    assert "1 run: all hold" in run([trunkline, "run", folder], tmp_path)
    assert "shows M2 T2 acme.Q1" in run([trunkline, "run", folder, "--bug", "own", "--junit", "own.xml"], tmp_path)
    assert 'failures="0"' in (tmp_path / "own.xml").read_text()
    broken = run([trunkline, "run", folder, "--bug", "acme.shouts", "--junit", "b.xml"], tmp_path, code=1)
    assert "✗ acme.Q1 No shouting (plug-in acme 0.1): people see “" in broken
    assert "acme.Q1 No shouting (plug-in acme 0.1)" in (tmp_path / "b.xml").read_text()
    explored = [trunkline, "explore", folder, "--every-step", "100", "--stops", "5", "--second", "5", "--jobs", "2"]
    assert "all hold" in run(explored, tmp_path)
    assert "acme.Q1 in " in run([*explored, "--bug", "acme.shouts"], tmp_path, code=1)
    assert run([trunkline, "bugs", "acme.hurries"], tmp_path).startswith(
        "acme.hurries  caught by acme.Q3  (plug-in acme 0.1)"
    )
    assert "acme.Q2" in run([trunkline, "invariants", "shouting"], tmp_path)
    missing = run([trunkline, "run", folder, "--plugin", "none"], tmp_path, code=2)
    assert "the plug-in 'acme' may be missing: install it, or name its module with --plugin" in missing


def test_an_installed_plugin_judges_a_gateway_that_is_not_ours(with_plugin: Path, tmp_path: Path) -> None:
    command = [with_plugin / "trunkline", "attach", PLUGIN / "attach", "--gateway", "toy", "--report", "r"]
    assert "✗ acme.Q2 No shouting outside (plug-in acme 0.1): people see “PLEASE WAIT" in run(command, tmp_path, code=1)
    [page] = (tmp_path / "r" / "findings").glob("*acme-q2.md")
    assert r"acme.Q2 No shouting outside \(plug\-in acme 0.1\)" in page.read_text()


def test_an_installed_plugin_is_shown_by_the_app(with_plugin: Path, tmp_path: Path) -> None:
    shown = run([with_plugin / "python", "-c", APP, PLUGIN / "scenarios"], tmp_path)
    assert "acme.Q1" in shown
    assert "(plug-in&#160;acme&#160;0.1)" in shown
