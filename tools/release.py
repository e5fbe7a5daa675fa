"""Builds a release into `dist/` and tries it where nothing of the clone is. Nothing is published.

    python -m tools.release

1. CHANGELOG has the version: with a date, unless it is a development version.
2. The sdist is built from the clone, the wheel from the sdist, as pip would do it.
3. Every link of the long description leads somewhere without the clone, and NOTICE is fresh.
4. The wheel is installed into an empty environment with the versions of requirements.lock, without the tools of
   developers. What is too large, or does not run there, fails the release.
5. The extra `app` is added, and a scenario runs.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

from tools.notice import ROOT

DIST = ROOT / "dist"
#: how large the base may be: distributions, with Trunkline and without pip; and MB on disk without byte code
MOST_DISTRIBUTIONS, MOST_MB = 32, 60
#: the domain of examples: an address that is still to be chosen
_NOWHERE = "https://example.org/"


class ReleaseError(Exception):
    """A release that must not go out, with what is wrong."""


def say(text: str) -> None:
    """Print a line at once."""
    print(f"release: {text}", flush=True)


def run(*command: str | Path, cwd: Path, code: int = 0) -> str:
    """Run a command without the settings of this one, and return what it prints. Raises `ReleaseError`."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False, env=_environ(cwd))
    printed = done.stdout + done.stderr
    if done.returncode != code:
        words = " ".join(map(str, command))
        raise ReleaseError(f"{words} ended with {done.returncode}, expected {code}:\n{printed}")
    return printed


def _environ(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV", "XDG_"))}
    return {**kept, "HOME": str(home), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def changelog_problem(changelog: str, version: str) -> str | None:
    """What the changelog lacks for a version."""
    base = version.partition(".dev")[0]
    found = re.search(rf"^## {re.escape(base)}(?: \((.+)\))?$", changelog, re.MULTILINE)
    if found is None:
        return f"CHANGELOG.md has no section '## {base}'"
    if base == version and not re.fullmatch(r"\d{4}-\d\d-\d\d", found[1] or ""):
        return f"the section '{found[0]}' of CHANGELOG.md has no date: ## {base} (YYYY-MM-DD)"
    return None


def dead_links(description: str) -> list[str]:
    """Targets of links and images that need a clone beside the text."""
    text = re.sub(r"^```.*?^```$", "", description, flags=re.MULTILINE | re.DOTALL)
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"https?://|mailto:", target)]


def build(folder: Path) -> Path:
    """Build the sdist, and the wheel from it; the wheel's path."""
    shutil.rmtree(DIST, ignore_errors=True)
    hatchling = (sys.executable, "-m", "hatchling", "build", "-d", DIST)
    run(*hatchling, "-t", "sdist", cwd=ROOT)
    [sdist] = DIST.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [source] = folder.glob("trunkline-*")
    run(*hatchling, "-t", "wheel", cwd=source)
    [wheel] = DIST.glob("*.whl")
    return wheel


def check_metadata(wheel: Path, version: str) -> None:
    """Look at what the wheel says of itself. Raises `ReleaseError`."""
    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        stated = message_from_bytes(archive.read(name))
        licenses = {Path(name).name for name in archive.namelist() if ".dist-info/licenses/" in name}
    if stated["Version"] != version:
        raise ReleaseError(f"the wheel has the version {stated['Version']}, and the code {version}")
    if licenses != {"LICENSE", "NOTICE"}:
        raise ReleaseError(f"the wheel has the licenses {sorted(licenses)}")
    if dead := dead_links(str(stated.get_payload())):
        raise ReleaseError(f"links of the long description that lead nowhere: {', '.join(dead)}")
    if any(_NOWHERE in url for url in stated.get_all("Project-URL", ())):
        say(f"the address of the repository is still {_NOWHERE}...: choose it in pyproject.toml before you publish")


def installed(site: Path) -> tuple[int, float]:
    """How many distributions an environment has, without pip, and their MB."""
    names = [info.name for info in site.glob("*.dist-info") if not info.name.startswith(("pip-", "setuptools-"))]
    files = [
        path
        for path in site.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and path.relative_to(site).parts[0].partition("-")[0] != "pip"
    ]
    return len(names), sum(path.stat().st_size for path in files) / 1e6


def try_out(wheel: Path, folder: Path, version: str) -> None:
    """Install the wheel into an empty environment, and use it. Raises `ReleaseError`."""
    home = folder / "environment"
    run(sys.executable, "-m", "venv", home, cwd=folder)
    # Hashes cannot be checked for a file of our own, so only the versions are those of the lock.
    lock = re.findall(r"^[a-z0-9][^\\\n]*", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)
    (folder / "versions.txt").write_text("\n".join(lock), "utf-8")
    python, trunkline = home / "bin" / "python", home / "bin" / "trunkline"
    pip = (python, "-m", "pip", "install", "--no-compile", "--quiet", "--constraint", folder / "versions.txt")
    run(*pip, wheel, cwd=folder)
    [site] = home.glob("lib/python*/site-packages")
    count, size = installed(site)
    say(f"the base: {count} distributions, {size:.0f} MB")
    if count > MOST_DISTRIBUTIONS or size > MOST_MB:
        raise ReleaseError(f"the base may have {MOST_DISTRIBUTIONS} distributions and {MOST_MB} MB")
    for command in ((trunkline,), (python, "-m", "trunkline")):
        if run(*command, "--version", cwd=folder).strip() != version:
            raise ReleaseError(f"{command} has another version")
    run(trunkline, "serve", "--check", cwd=folder)
    scenario = "scenarios/tour/told-twice.yaml"
    if "pip install 'trunkline[app]'" not in run(trunkline, "run", scenario, cwd=folder, code=2):
        raise ReleaseError("without the extra app, the line that installs it is not printed")
    run(*pip, f"trunkline[app] @ {wheel.as_uri()}", cwd=folder)
    say("with the extra app: {} distributions, {:.0f} MB".format(*installed(site)))
    if "1 run: all hold" not in run(trunkline, "run", scenario, cwd=folder):
        raise ReleaseError(f"{scenario} does not hold")
    say(f"{scenario} holds")


def main() -> int:
    """Build and try a release; the exit code."""
    [version] = re.findall(r'^VERSION = "(.+)"$', (ROOT / "core" / "__init__.py").read_text("utf-8"), re.MULTILINE)
    try:
        if problem := changelog_problem((ROOT / "CHANGELOG.md").read_text("utf-8"), version):
            raise ReleaseError(problem)
        run(sys.executable, "-m", "tools.notice", "--check", cwd=ROOT)
        with tempfile.TemporaryDirectory(prefix="trunkline-release-") as name:
            folder = Path(name)
            wheel = build(folder)
            check_metadata(wheel, version)
            say(f"built {version}: {', '.join(sorted(path.name for path in DIST.iterdir()))}")
            try_out(wheel, folder, version)
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    say("nothing is published; the files are in dist/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
