"""The environment of a clone: `make demo` makes it, `make env` completes it, and it always runs the clone's own code.

The clone is a small one, with this project's Makefile and `tools/env.sh`. Its packages are made here, and nothing is
downloaded.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

PROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "trunkline"
version = "1"
"""
#: a build backend that needs no package: it links to the folder that it stands in, or copies the package
BACKEND = """\
from pathlib import Path
from zipfile import ZipFile

INFO = "trunkline-1.dist-info/"


def build(folder, files):
    files[INFO + "METADATA"] = "Metadata-Version: 2.1\\nName: trunkline\\nVersion: 1\\n"
    files[INFO + "WHEEL"] = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
    files[INFO + "entry_points.txt"] = "[console_scripts]\\ntrunkline = trunkline:main\\n"
    files[INFO + "RECORD"] = "".join(f"{name},,\\n" for name in [*files, INFO + "RECORD"])
    with ZipFile(Path(folder, "trunkline-1-py3-none-any.whl"), "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return "trunkline-1-py3-none-any.whl"


def build_wheel(folder, config_settings=None, metadata_directory=None):
    return build(folder, {"trunkline/__init__.py": Path("trunkline/__init__.py").read_text()})


def build_editable(folder, config_settings=None, metadata_directory=None):
    return build(folder, {"_trunkline.pth": str(Path.cwd()) + "\\n"})
"""


def write_wheel(folder: Path, name: str) -> str:
    """Write the wheel of an empty package. Returns its line of the lock."""
    wheel, info = folder / f"{name}-1-py3-none-any.whl", f"{name}-1.dist-info"
    with ZipFile(wheel, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
    return f"{name}==1 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


class Clone:
    """A clone of a project that is built and installed as this one is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / ".venv"
        wheels = root / "wheels"
        wheels.mkdir(parents=True)
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "MAKE"))},
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheels),
        }
        for package in ("core", "sim", "app"):
            (root / package).mkdir()
            (root / package / "__init__.py").touch()
            (root / "trunkline").mkdir(exist_ok=True)
            (root / "trunkline" / package).symlink_to(f"../{package}")
        (root / "trunkline" / "__init__.py").write_text("def main(): print('the tour')\n", "utf-8")
        (root / "pyproject.toml").write_text(PROJECT, "utf-8")
        (root / "backend.py").write_text(BACKEND, "utf-8")
        parts = [["base", "screen"], ["server"], ["linter", "stubs", "checker"]]
        lock = "".join(
            f"# Part {number}: some packages.\n" + "".join(write_wheel(wheels, name) for name in names)
            for number, names in enumerate(parts, start=1)
        )
        (root / "requirements.lock").write_text(lock, "utf-8")
        (root / "tools").mkdir()
        for name in ("Makefile", "tools/env.sh"):
            shutil.copy(ROOT / name, root / name)

    def start(self, *command: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command, cwd=self.root, env=self.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def run(self, *command: str | Path, fails: bool = False) -> list[str]:
        """Run a command, and return its lines."""
        process = self.start(*command)
        output, _ = process.communicate()
        assert bool(process.returncode) is fails, output
        return output.splitlines()

    def make(self, target: str, *, fails: bool = False) -> list[str]:
        return self.run("make", f"PYTHON={sys.executable}", target, fails=fails)

    def imports(self, names: Sequence[str]) -> list[str]:
        """Return those of the modules that the environment has."""
        asking = f"import importlib.util as u; print(*[name for name in {names!r} if u.find_spec(name)])"
        return self.run(self.home / "bin" / "python", "-I", "-c", asking)[0].split()

    def code(self) -> Path:
        """Return the file that `import trunkline` finds."""
        [path] = self.run(self.home / "bin" / "python", "-I", "-c", "import trunkline; print(trunkline.__file__)")
        return Path(path)


EVERY = ["base", "screen", "server", "linter", "stubs", "checker"]
CREATED = f"trunkline: creating .venv with Python {'.'.join(map(str, sys.version_info[:3]))}"
COMPILED = "trunkline: compiling"
COPIED = "trunkline: .venv runs a copy of Trunkline, not this clone: linking it to the clone again"
TOUR = ["trunkline: starting the tour", "the tour"]


def installed(count: int, more: str = "") -> str:
    return f"trunkline: installing {count} {more}packages"


def test_an_environment_from_the_first_demo_on(tmp_path: Path) -> None:
    """One story, because each environment costs seconds."""
    clone = Clone(tmp_path / "clone")
    own = clone.root / "trunkline" / "__init__.py"

    # The demo installs the first part, and has a line for each stage.
    assert clone.make("demo") == [CREATED, installed(2), COMPILED, *TOUR]
    assert (clone.imports(EVERY), clone.code()) == (EVERY[:2], own)
    assert clone.make("demo") == TOUR

    # A copy in the place of the link is noticed and replaced.
    clone.run(clone.home / "bin" / "python", "-m", "pip", "install", "--quiet", ".")
    assert clone.code().is_relative_to(clone.home)
    assert clone.make("demo") == [COPIED, COMPILED, *TOUR]
    assert clone.code() == own

    # What fails is shown, and done again by the next run.
    lock = clone.root / "requirements.lock"
    right = lock.read_text("utf-8")
    lock.write_text(right.replace("linter==1", "linter==2"), "utf-8")
    lines = clone.make("env", fails=True)
    assert lines[0] == installed(6)
    assert any("No matching distribution found for linter==2" in line for line in lines)
    assert any(line.startswith("trunkline: this step failed: .venv/bin/python -m pip install") for line in lines)
    lock.write_text(right, "utf-8")

    # A changed lock is installed again; the other parts come on top of the demo.
    assert clone.make("env-demo") == [installed(2), COMPILED]
    assert clone.make("install") == [installed(1, "more "), COMPILED]
    assert clone.imports(EVERY) == EVERY[:3]
    assert clone.make("env") == [installed(3, "more "), COMPILED]
    assert clone.imports(EVERY) == EVERY
    assert clone.make("env") == clone.make("install") == clone.make("env-demo") == []

    # The complete environment is mended likewise.
    clone.run(clone.home / "bin" / "python", "-m", "pip", "install", "--quiet", ".")
    assert clone.make("env") == [COPIED, COMPILED]
    assert clone.code() == own

    # Of two runs at once, one installs, and the other waits for it.
    if shutil.which("flock"):
        (clone.home / ".stamp-3").unlink()
        with Path(f"{clone.home}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            runs = [clone.start("make", f"PYTHON={sys.executable}", "env") for _ in range(2)]
            for run in runs:
                assert run.stdout
                assert run.stdout.readline() == "trunkline: waiting for another run that installs into .venv\n"
        lines = [line for run in runs for line in run.communicate()[0].splitlines()]
        assert lines == [installed(3, "more "), COMPILED]
