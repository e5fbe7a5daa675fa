"""JSON that clients send. Nothing in it need be what a protocol expects."""

import json
from typing import Any, cast

Json = dict[str, Any]


class NoObject(ValueError):
    """The text is JSON of another kind than an object."""


def object_in(text: str | bytes) -> Json:
    """The JSON object in a text. Raises `ValueError` for a text without JSON, `NoObject` for another value."""
    found = value_in(text)
    if not isinstance(found, dict):
        raise NoObject
    return cast("Json", found)


def value_in(text: str | bytes) -> Any:
    """The JSON value in a text. Raises `ValueError`."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def mapping(value: object) -> Json:
    """A JSON object; anything else counts as an empty object."""
    return cast("Json", value) if isinstance(value, dict) else {}


def sequence(value: object) -> list[Any]:
    """A JSON list; anything else counts as an empty list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def mappings(value: object) -> list[Json]:
    """The objects in a JSON list; anything else is left out."""
    return [cast("Json", item) for item in sequence(value) if isinstance(item, dict)]
