"""Writes NOTICE: the licences of all packages that an installation of Trunkline may bring, from their own metadata.

    python -m tools.notice            write the file
    python -m tools.notice --check    change nothing; exit with 1 if it is stale

The packages are those of the first two parts of requirements.lock; the third is for developers. What only other
platforms or newer versions of Python need may not be installed here, and keeps its line: write that one by hand.
"""

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTICE = ROOT / "NOTICE"
_HEAD = """\
Trunkline is under the MIT license; see LICENSE.

Nothing of others is part of it. `pip install 'trunkline[all]'` installs these packages beside it, each under a license
of its own, which it brings along. `python -m tools.notice` writes this list from their metadata.

"""
_WORDY = 60


def packages(lock: str) -> Iterator[tuple[str, bool]]:
    """Names of the packages of the first two parts, and whether every platform has them."""
    for name, marker in re.findall(r"^([\w.-]+)==\S+( ;.*)?", lock.partition("# Part 3")[0], re.MULTILINE):
        yield name, not marker


def license_of(name: str) -> str:
    """The license that a package states. Raises `PackageNotFoundError`, and `ValueError` where it states none."""
    stated = metadata.metadata(name)
    named = [line.rpartition(" :: ")[2] for line in stated.get_all("Classifier", ()) if line.startswith("License ::")]
    text = (stated["License"] or "").strip()
    found = stated["License-Expression"] or (text if 0 < len(text) < _WORDY and "\n" not in text else "")
    found = found or ", ".join(word for word in named if word != "OSI Approved")
    if not found:
        raise ValueError(f"{name} states no license")
    return found


def notice(lock: str, known: str) -> str:
    """The text of the file; `known`: that of today, for what only some platforms need."""
    lines: list[str] = []
    for name, everywhere in sorted(packages(lock)):
        kept = None if everywhere else re.search(rf"^{re.escape(name)}: .*$", known, re.MULTILINE)
        lines.append(kept[0] if kept else f"{name}: {license_of(name)}")
    return _HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Write the file, or with ``--check`` say whether it is stale."""
    known = NOTICE.read_text("utf-8") if NOTICE.exists() else ""
    fresh = notice((ROOT / "requirements.lock").read_text("utf-8"), known)
    if "--check" in sys.argv[1:]:
        if fresh != known:
            print("NOTICE: stale: run python -m tools.notice")
        return int(fresh != known)
    NOTICE.write_text(fresh, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
