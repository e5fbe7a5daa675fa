"""Finds values in the plain tree of a scenario file by patterns such as ``script[].in``."""

import functools
from collections.abc import Iterator
from typing import Any, cast

from trunkline.core.config.files.problems import Path


@functools.cache
def steps_of(pattern: str) -> tuple[str, ...]:
    """Split a pattern: ``script[].in`` -> ``script``, ``[]``, ``in``."""
    return tuple(part for part in pattern.replace("[]", ".[]").split(".") if part)


def select(value: Any, steps: tuple[str, ...], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value of a tree that matches a pattern, with its path."""
    if not steps:
        yield path, value
    elif steps[0] == "[]":
        if isinstance(value, list):
            for index, item in enumerate(cast("list[Any]", value)):
                yield from select(item, steps[1:], (*path, index))
        else:
            yield from select(value, steps[1:], path)
    elif isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        for name in found if steps[0] == "*" else steps[:1]:
            if name in found:
                yield from select(found[name], steps[1:], (*path, name))
