"""JSON of which nothing is known yet, read without surprises. Pure."""

from __future__ import annotations

from typing import Any, cast

#: a JSON object
Json = dict[str, Any]


def as_object(value: object) -> Json:
    """The value, if it is an object; else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value, if it is a list; else an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_objects(value: object) -> list[Json]:
    """The objects in a list."""
    return [cast("Json", one) for one in as_list(value) if isinstance(one, dict)]


def as_text(value: object) -> str:
    """The value, if it is a text; else an empty one."""
    return value if isinstance(value, str) else ""


def as_texts(value: object) -> list[str]:
    """The texts in a list."""
    return [one for one in as_list(value) if isinstance(one, str)]
