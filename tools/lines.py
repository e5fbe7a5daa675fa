"""States the lines of the product by room, a folder of the second level, in tests/unit/house/lines.toml.

    python tools/lines.py            write the file anew, and print what has changed

A test compares the file with the source: whoever makes a room larger says so in the same commit.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
STATED = ROOT / "tests" / "unit" / "house" / "lines.toml"
PACKAGES = ("core", "sim", "app")
_HEAD = "# Lines of the product by room; `python tools/lines.py` writes them. A room may only be smaller than stated.\n"


def room_of(path: PurePosixPath) -> str:
    """The room of a module: ``core/adapters``, or ``core`` for a module beside the rooms."""
    return "/".join(path.parts[:2]) if len(path.parts) > 2 else path.parts[0]


def lines_by_room(root: Path = ROOT) -> dict[str, int]:
    """The lines of each room."""
    count: Counter[str] = Counter()
    for package in PACKAGES:
        for file in (root / package).rglob("*.py"):
            count[room_of(PurePosixPath(file.relative_to(root).as_posix()))] += file.read_bytes().count(b"\n")
    return dict(sorted(count.items()))


def stated(text: str) -> dict[str, int]:
    """The lines that a file states."""
    return tomllib.loads(text)


def as_text(lines: Mapping[str, int]) -> str:
    """The file that states lines."""
    return _HEAD + "".join(f'"{room}" = {number}\n' for room, number in lines.items())


def growth(before: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    """What has to be stated anew: rooms that are larger or new, and rooms that are gone."""
    larger = [
        f"{room} has {number} lines, and {before.get(room, 0)} are stated"
        for room, number in now.items()
        if number > before.get(room, 0)
    ]
    return [*larger, *(f"{room} is stated, and there is no such room" for room in before if room not in now)]


if __name__ == "__main__":
    found = lines_by_room()
    known = stated(STATED.read_text()) if STATED.exists() else {}
    STATED.write_text(as_text(found))
    for name in sorted({*known, *found}):
        if known.get(name) != found.get(name):
            print(f"{name}: {known.get(name, 0)} -> {found.get(name, 0)}")
    print(f"{sum(found.values())} lines, {sum(found.values()) - sum(known.values()):+}")
