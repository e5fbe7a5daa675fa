"""How answers of commands are laid out: facts as lines, tables, and JSON with stable names."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from rich.cells import cell_len

from trunkline.app.text.cells import clean, pad
from trunkline.app.text.fact import Fact
from trunkline.core.values import Address

#: version of the JSON of each command
_VERSION = 1


def lines(facts: Iterable[Fact]) -> list[str]:
    """Facts as lines, with the labels in a column."""
    shown = list(facts)
    width = max(cell_len(fact.label) for fact in shown)
    return [f"{pad(fact.label, width)}  {clean(fact.text)}".rstrip() for fact in shown]


def as_json(command: str, document: Mapping[str, Any]) -> str:
    """The document of a command with its version, as indented text."""
    whole = {f"trunkline_{command}": _VERSION, **document}
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def some_fields(value: object, *names: str) -> dict[str, Any]:
    """Fields of a value with the same names in the JSON."""
    return {name: getattr(value, name) for name in names}


def fields_json(value: msgspec.Struct, **names: str) -> dict[str, Any]:
    """The fields of a struct; `names` renames some."""
    return {names.get(field, field): content for field, content in msgspec.structs.asdict(value).items()}


def place_json(address: Address | None) -> dict[str, Any] | None:
    """An address with all fields."""
    return None if address is None else fields_json(address)
