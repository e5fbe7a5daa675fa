"""Nothing of one machine or of a package index stands in the files of the repository."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.for_each import for_each
from tests.support.paths import ROOT


def machine_folders() -> list[str]:
    """Return the folders that exist on one machine only, as patterns in pieces, so that they do not match here."""
    folders = [r"home/[\w.-]+", r"Users/[\w.-]+", "ro" + "ot", "wo" + "rk", "opt/(?:py" + "pi|whe" + "els)"]
    for own in (ROOT.parent, Path.home()):
        if len(own.parts) > 2:  # a folder at the very top, such as the one for temporary files, says nothing
            folders.append(re.escape(own.as_posix().lstrip("/")))
    return folders


INDEX = re.compile(
    "|".join(
        [
            r"\bpy" + r"pi\.org",
            r"python" + r"hosted\.org",
            r"registry\.np" + r"mjs",
            r"deb\.deb" + r"ian\.org",
            "index" + "-url",
            "find" + r"-links[ =]",
            r'"resolved": *"' + "http",
            "/packages/" + r"[0-9a-f]{2}/",
        ]
    )
)
MACHINE_PATH = re.compile(
    r"/(?<![A-Za-z0-9_.}]/)(?:" + "|".join(machine_folders()) + ")(?:/|\\b(?![\\w-]))"  # slash first: it is found fast
)
FORBIDDEN_FILES = re.compile(r"(^|/)uv\.lock$")


def repository_files() -> list[Path]:
    """Return what is or would be committed; without git, everything but hidden folders."""
    git = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        names = subprocess.run(git, capture_output=True, check=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        return [path for path in ROOT.rglob("*") if path.is_file() and not is_hidden(path.relative_to(ROOT))]
    return [path for name in names if name and (path := ROOT / name).is_file()]


def is_hidden(path: Path) -> bool:
    ours = {".ci", ".github", ".gitignore", ".gitattributes", ".editorconfig"}
    return any((part.startswith(".") and part not in ours) or part == "__pycache__" for part in path.parts)


def machine_traces(name: str, content: bytes) -> list[str]:
    if FORBIDDEN_FILES.search(name):
        return [f"{name}: must not be committed"]
    if b"\0" in content:
        return []
    text = content.decode("utf-8", errors="replace")
    hits = [hit for pattern in (INDEX, MACHINE_PATH) for hit in pattern.finditer(text)]
    return [f"{name}:{text.count(chr(10), 0, hit.start()) + 1}: {hit.group().strip()}" for hit in hits]


def test_no_file_names_an_index_or_a_machine() -> None:
    files = repository_files()
    assert ROOT / "pyproject.toml" in files
    assert [
        trace for path in files for trace in machine_traces(path.relative_to(ROOT).as_posix(), path.read_bytes())
    ] == []


@for_each(
    "text",
    [
        "--index" + "-url somewhere",
        "https://py" + "pi.org/sim" + "ple",
        "url = 'https://files.python" + "hosted.org/x.whl'",
        "open('/ro" + "ot/notes.txt')",
        "see /ho" + "me/somebody/trunkline",
        "see /Us" + "ers/somebody/trunkline",
        "cd /wo" + "rk/main",
        "cd /wo" + "rk",
        "packages at https://host/packages/" + "3f/aa",
    ],
)
def test_a_machine_trace_is_found(text: str) -> None:
    assert machine_traces("notes.md", f"first line\n{text}\n".encode())


def test_a_forbidden_lock_file_is_found() -> None:
    assert machine_traces("uv" + ".lock", b"")


@pytest.mark.parametrize(
    "text", ["/usr/bin/env bash", "https://example.org/wo" + "rk/x", "POST /v1/home", "a/home/b/c", "/workers"]
)
def test_an_ordinary_path_passes(text: str) -> None:
    assert machine_traces("notes.md", text.encode()) == []
