"""Reading the data of one event, or of one object of an answer, whatever was sent."""

from __future__ import annotations

import re
from typing import TypeVar, cast

import msgspec

from trunkline.core.adapters.discord.calls import SNOWFLAKE
from trunkline.core.adapters.discord.receiving.inbound import BadEvent

T = TypeVar("T")


def read_event(data: object, kind: type[T]) -> T:
    """Data as a struct. Raises `BadEvent` with the field that is wrong."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise BadEvent(str(error)) from None
    except (UnicodeEncodeError, RecursionError) as error:
        # The name of a field has one half of a surrogate pair, or it is nested too deeply.
        raise BadEvent(type(error).__name__) from None


def id_of(data: object) -> str:
    """The id in data of any shape; empty if it has none."""
    found: object = cast("dict[str, object]", data).get("id") if isinstance(data, dict) else None
    return found[:40] if isinstance(found, str) else ""


def number_of(data: object) -> int:
    """The id as a number; 0 if it has none."""
    found = id_of(data)
    return int(found) if re.match(SNOWFLAKE, found) else 0
