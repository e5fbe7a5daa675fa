"""The steps of docs/examples/serve/Containerfile, without a container: what it builds is served, and asked.

Left out are `useradd` and the download of the packages of the lock, which are those of the running environment here.
"""

import fnmatch
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.paths import DOCS, ROOT
from tests.support.serve.processes import PATIENCE, say, serve

pytestmark = pytest.mark.slow

CONTAINER = (DOCS / "examples" / "serve" / "Containerfile").read_text("utf-8").replace("\\\n", " ")
#: what lies about in a clone and must not get into an image
STRAY = (
    "core/gateway.db",
    "core/gateway.db-wal",
    "app/token",
    "sim/secrets.env",
    "tests/notes.txt",
    ".git/config",
    ".env",
)


def lines(word: str) -> list[str]:
    return [line.removeprefix(f"{word} ").strip() for line in CONTAINER.splitlines() if line.startswith(f"{word} ")]


def context(folder: Path) -> None:
    """Copy what a build gets."""
    rules = [rule for rule in (ROOT / ".containerignore").read_text("utf-8").split("\n") if rule and rule[0] != "#"]
    named = [rule[1:] for rule in rules if rule[0] == "!"]
    left_out = [rule.removeprefix("**/") for rule in rules if rule.startswith("**/")]

    def ignored(_: str, names: list[str]) -> set[str]:
        return {name for name in names for rule in left_out if fnmatch.fnmatch(name, rule)}

    for name in named:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / name)


def run(step: str, folder: Path) -> str:
    """Run a command as the build does, with its absolute paths below a folder."""
    words = step.replace("/tmp/", f"{folder}/tmp/").replace("/opt/trunkline", str(folder / "opt"))
    # pip would leave out what the packages of this environment have already.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {**os.environ, "PATH": path, "PIP_IGNORE_INSTALLED": "1"}
    done = subprocess.run(
        ["sh", "-ec", words], cwd=folder / "source", capture_output=True, text=True, check=False, env=environ
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_what_the_recipe_builds_serves_and_is_healthy(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "tmp").mkdir()
    context(tmp_path / "source")
    [build, _] = lines("RUN")
    sed, venv, of_lock, of_clone = (step.strip() for step in build.split("&&"))
    run(sed, tmp_path)
    kept = (tmp_path / "tmp" / "requirements.lock").read_text("utf-8")
    assert ("\nuvicorn==" in kept, "\npytest==" in kept) == (True, False)
    run(venv, tmp_path)
    # Its packages are those of this environment, at the versions of the same lock.
    assert "--require-hashes" in of_lock
    site = run("/opt/trunkline/bin/python -c \"import sysconfig; print(sysconfig.get_path('purelib'))\"", tmp_path)
    Path(site.strip(), "locked.pth").write_text(sysconfig.get_path("purelib"))
    run(of_clone, tmp_path)

    [entry], [health] = lines("ENTRYPOINT"), lines("HEALTHCHECK")
    program, *words = json.loads(entry)
    state = tmp_path / "state"
    options = [word.replace("/state", str(state)).replace("0.0.0.0:8420", "127.0.0.1:0") for word in words]
    built = tmp_path / "opt" / "bin"
    # The clone is not on its path: it runs what was installed.
    alone = {"PYTHONPATH": "", "PYTHONUNBUFFERED": "1"}
    with serve(tmp_path, *options[1:], command=(str(built / program), options[0]), environ=alone) as server:
        url = server.ready().url
        check = json.loads(health[health.index("[") :])
        assert check[0] == "python"
        asked = [word.replace("http://127.0.0.1:8420", url) for word in check[1:]]
        subprocess.run([built / "python", *asked], check=True, timeout=PATIENCE)
        token = (state / "token").read_text().strip()
        assert say(url, token, "hello", "id-1")[0] == 200
        server.signal(signal.Signals[lines("STOPSIGNAL")[0]])
        assert server.ended() == 0


def test_nothing_that_lies_about_gets_into_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone, build = tmp_path / "clone", tmp_path / "build"
    build.mkdir()
    for name in ("core", "sim", "app", "scenarios", "trunkline"):
        (clone / name).mkdir(parents=True)
    files = (line[1:] for line in (ROOT / ".containerignore").read_text("utf-8").splitlines() if line.startswith("!"))
    for name in (".containerignore", *(name for name in files if (ROOT / name).is_file())):
        shutil.copy(ROOT / name, clone / name)
    for name in STRAY:
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text("secret")
    monkeypatch.setattr("tests.packaging.test_container.ROOT", clone)
    context(build)
    found = [path.name for path in build.rglob("*") if path.is_file() and path.read_text("utf-8") == "secret"]
    assert found == []
