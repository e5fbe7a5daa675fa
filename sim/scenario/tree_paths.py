"""Finds values in the plain tree of a scenario file by patterns such as ``script[].in``."""

import functools
from typing import Any, cast

from trunkline.core.config.files.problems import Path


@functools.cache
def steps_of(pattern: str) -> tuple[str, ...]:
    """Split a pattern: ``script[].in`` -> ``script``, ``[]``, ``in``."""
    return tuple(part for part in pattern.replace("[]", ".[]").split(".") if part)


def select(value: Any, steps: tuple[str, ...], path: Path = ()) -> list[tuple[Path, Any]]:
    """Every value of a tree that matches a pattern, with its path."""
    found = [(path, value)]
    for step in steps:
        if not found:
            break
        if step == "[]":
            found = [each for at, inner in found for each in _items(at, inner)]
        elif step == "*":
            found = [((*at, name), field) for at, inner in found for name, field in _fields(inner).items()]
        else:
            found = [((*at, step), fields[step]) for at, inner in found if step in (fields := _fields(inner))]
    return found


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _items(path: Path, value: Any) -> list[tuple[Path, Any]]:
    """The items of a list; a value that stands where a list may stand is the only one."""
    if not isinstance(value, list):
        return [(path, value)]
    return [((*path, index), item) for index, item in enumerate(cast("list[Any]", value))]
