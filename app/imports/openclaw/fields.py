"""Fields of JSON that somebody else wrote: each is what it should be, or missing."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

import msgspec

from trunkline.app.imports.openclaw.values import ForeignPlace

Json = Mapping[str, Any]


def parsed(text: str | bytes) -> Json:
    """A JSON object. Raises `ValueError`."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return cast("Json", found)


def part(tree: Json, *names: str) -> Json:
    """The object below some names; empty if it is not there."""
    found: Any = tree
    for name in names:
        found = cast("Json", found).get(name) if isinstance(found, dict) else None
    return cast("Json", found) if isinstance(found, dict) else {}


def objects(tree: Json, name: str) -> tuple[Json, ...]:
    """The objects of a list."""
    found = tree.get(name)
    if not isinstance(found, list):
        return ()
    return tuple(cast("Json", entry) for entry in cast("list[Any]", found) if isinstance(entry, dict))


def word(value: object) -> str:
    """A text or a whole number as text; empty for anything else."""
    if isinstance(value, bool):
        return ""
    return str(value) if isinstance(value, str | int) else ""


def number(value: object) -> int:
    """A whole number from 0; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def time_of(value: object) -> float | None:
    """Seconds since 1970, of a time in milliseconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 < value < 1e14:
        return None
    return value / 1000


def place_of(tree: Json) -> ForeignPlace | None:
    """The place of ``{channel, to, accountId, threadId}``, of which channel and target are needed."""
    channel, target = word(tree.get("channel")), word(tree.get("to"))
    if not channel or not target:
        return None
    thread = word(tree.get("threadId"))
    return ForeignPlace(channel=channel, target=target, account=word(tree.get("accountId")), thread=thread)
