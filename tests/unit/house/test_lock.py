"""The first part of requirements.lock is what `make demo` needs, and no more: the versions stand in one file, once."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
#: what the three commands of README's first screen need, and what makes the editable install
DEMO = [
    *PROJECT["project"]["dependencies"],
    *EXTRAS["http"],
    *EXTRAS["fakes"],
    *PROJECT["build-system"]["requires"],
]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")


def parts(lock: str) -> tuple[list[Requirement], list[Requirement]]:
    """Return the requirements of both parts, without their hashes."""
    _, first, second = re.split(r"^# Part [12]: .*\n", lock, flags=re.MULTILINE)
    return pinned(first), pinned(second)


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


def test_the_first_part_is_what_the_demo_needs() -> None:
    first, _ = parts(LOCK)
    assert dict(applying(first)) == needed(DEMO)


def test_no_package_stands_in_the_lock_twice() -> None:
    names = [requirement.name for part in parts(LOCK) for requirement in part]
    assert len(names) == len(set(names))


def test_both_parts_are_what_every_extra_needs() -> None:
    first, second = parts(LOCK)
    assert dict(applying([*first, *second])) == needed([*DEMO, *(text for extra in EXTRAS.values() for text in extra)])


@pytest.mark.parametrize("package", ["aiohttp", "hatchling", "tomlkit"])
def test_a_package_in_the_wrong_part_is_found(package: str) -> None:
    entry = re.search(rf"^{package}==.*\n(?: .*\n)*", LOCK, re.MULTILINE)
    assert entry is not None
    first, second = parts(LOCK.replace(entry[0], "") + entry[0])
    assert package in {requirement.name for requirement in second}
    assert dict(applying(first)) != needed(DEMO)
