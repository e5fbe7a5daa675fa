"""Short forms of scenario fields, expanded before validation."""

from typing import cast

from pydantic_core import PydanticCustomError


def as_rules(value: object) -> object:
    """A hand may be written as one rule instead of a list of rules."""
    return [cast("object", value)] if isinstance(value, dict) else value


def as_crowd(value: object) -> object:
    """A crowd may be written as the number of its people."""
    return {"count": value} if isinstance(value, int) else value


def as_list(value: object) -> object:
    """A single item may be written without a list."""
    if value is None:
        return []
    return cast("object", value) if isinstance(value, list) else [value]


def as_names(value: object) -> object:
    """Named things may be a list of names, or a mapping where a name without settings gets the defaults."""
    usual: dict[str, object] = {}
    if isinstance(value, dict):
        named = cast("dict[object, object]", value)
        return {name: usual if settings is None else settings for name, settings in named.items()}
    if not isinstance(value, list):
        raise PydanticCustomError("names_type", "a list of names, or a mapping of names")
    names = cast("list[object]", value)
    named: dict[object, object] = {}
    for index, name in enumerate(names):
        if not isinstance(name, str) or name in named:
            kind = "names_twice" if isinstance(name, str) else "names_item"
            raise PydanticCustomError(kind, "a name, once", {"index": index})
        named[name] = usual
    return named


def as_settings(value: object) -> object:
    """A key without a value gets the default settings: `restart:` alone is enough."""
    return {} if value is None else value


def as_switch(value: object) -> object:
    """A key without a value, or with `true`, gets the default settings."""
    return {} if value is None or value is True else value
