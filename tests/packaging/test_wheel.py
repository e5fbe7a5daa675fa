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


def run(command: Sequence[str | Path], cwd: Path) -> str:
    """Run a command without the caller's Python settings. Returns its standard output; fails with all of its output."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


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
