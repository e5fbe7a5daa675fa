"""Each part of requirements.lock has what its targets of make need, and no more: versions stand in one file, once."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.for_each import for_each
from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
BASE = PROJECT["project"]["dependencies"]
#: `make demo`: the third are what makes the editable install
DEMO = [*BASE, *EXTRAS["app"], *PROJECT["build-system"]["requires"]]
#: `make install`; `all` names the other extras
INSTALL = [*DEMO, *(text for name, extra in EXTRAS.items() if name not in ("all", "dev") for text in extra)]
#: `make env`, and all that begins with it
ENV = [*INSTALL, *EXTRAS["dev"]]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")


def parts(lock: str) -> list[list[Requirement]]:
    """Return the requirements of each part, without their hashes."""
    before, *found = re.split(r"^# Part [123]: .*\n", lock, flags=re.MULTILINE)
    assert before == ""
    return [pinned(part) for part in found]


def pinned(text: str) -> list[Requirement]:
    return [Requirement(line.rstrip("\\")) for line in re.findall(r"^\S.*", text, re.MULTILINE)]


def needed(requirements: Iterable[str]) -> dict[str, str]:
    """Return the names and installed versions of all that the requirements lead to on this machine."""
    found: dict[str, str] = {}
    waiting = [(Requirement(text), frozenset({""})) for text in requirements]
    seen = set()
    while waiting:
        requirement, extras = waiting.pop()
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        name, own = canonicalize_name(requirement.name), frozenset({"", *requirement.extras})
        if (name, own) in seen:
            continue
        seen.add((name, own))
        package = metadata.distribution(name)
        found[name] = package.version
        waiting += [(Requirement(text), own) for text in package.requires or ()]
    return found


def applying(requirements: Iterable[Requirement]) -> Iterator[tuple[str, str]]:
    for requirement in requirements:
        if requirement.marker is None or requirement.marker.evaluate():
            [version] = requirement.specifier
            yield canonicalize_name(requirement.name), version.version


def first(lock: str, count: int) -> dict[str, str]:
    """Return the names and versions of so many parts, as they apply to this machine."""
    return dict(applying(requirement for part in parts(lock)[:count] for requirement in part))


@for_each(("count", "wanted"), [(1, DEMO), (2, INSTALL), (3, ENV)], ids=["demo", "install", "env"])
def test_the_parts_are_what_is_needed(count: int, wanted: list[str]) -> None:
    assert first(LOCK, count) == needed(wanted)


def test_no_package_stands_in_the_lock_twice() -> None:
    names = [requirement.name for part in parts(LOCK) for requirement in part]
    assert len(names) == len(set(names))


@for_each("package", ["textual", "hatchling", "tomlkit"])
def test_a_package_in_the_wrong_part_is_found(package: str) -> None:
    entry = re.search(rf"^{package}==.*\n(?: .*\n)*", LOCK, re.MULTILINE)
    assert entry is not None
    wrong = LOCK.replace(entry[0], "") + entry[0]
    assert first(wrong, 3) == first(LOCK, 3)
    assert first(wrong, 1) != needed(DEMO)


# Bounds


def ranges() -> dict[str, set[str]]:
    """Every version range of the project, by package."""
    found: dict[str, set[str]] = {}
    for text in [*BASE, *PROJECT["build-system"]["requires"], *(text for extra in EXTRAS.values() for text in extra)]:
        requirement = Requirement(text)
        if requirement.name != PROJECT["project"]["name"]:
            found.setdefault(canonicalize_name(requirement.name), set()).add(str(requirement.specifier))
    return found


def is_bounded(specifier: str) -> bool:
    """Whether a range has both ends."""
    return "==" in specifier or (">=" in specifier and "<" in specifier)


def test_every_dependency_has_a_lower_and_an_upper_bound_and_the_same_everywhere() -> None:
    assert {name: found for name, found in ranges().items() if len(found) > 1} == {}
    open_ended = [name for name, [found] in ranges().items() if not is_bounded(found) and not name.startswith("types-")]
    assert open_ended == []


@for_each("specifier", [">=1", "<2", "", "!=1"])
def test_an_open_range_is_found(specifier: str) -> None:
    assert not is_bounded(specifier)
    assert is_bounded(">=1,<2") and is_bounded("==1.*")


def test_the_lock_keeps_the_bounds() -> None:
    locked = {canonicalize_name(one.name): one.specifier for part in parts(LOCK) for one in part}
    wrong = [
        name
        for name, [found] in ranges().items()
        if not Requirement(f"{name}{found}").specifier.contains(
            next(iter(locked[canonicalize_name(name)])).version, prereleases=True
        )
    ]
    assert wrong == []


def test_all_names_every_extra_for_users() -> None:
    [text] = EXTRAS["all"]
    assert Requirement(text).extras == EXTRAS.keys() - {"all", "dev"}
