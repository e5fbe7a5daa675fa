"""JSON of which nothing is known yet, read without surprises. Pure."""

import json
import re
from typing import Any, cast

import msgspec

from trunkline.core.errors import Refused

Json = dict[str, Any]
#: strings, so that what is in them does not count, and the ends of objects and lists
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
#: how deep values may be nested, and how many digits a number may have, if they could not be read otherwise
_DEEPEST, _DIGITS = 100, 300
#: entries of a list, unless the question asks for fewer
_MOST_ENTRIES = 50


def careful_json(text: str) -> Any:
    """JSON; values with too much nesting or too many digits are null. Raises `ValueError` for anything else.

    Without that, one event of a room would hide the answer that it is in, for ever.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError):
        return json.loads(_flattened(text), parse_int=_number)


def _flattened(text: str) -> str:
    pieces: list[str] = []
    depth = start = 0
    for token in _TOKENS.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            if depth == _DEEPEST:
                pieces += (text[start : token.start()], "null")
                start = len(text)
        elif token[0] in ("]", "}"):
            if depth == _DEEPEST:
                start = token.end()
            depth -= 1
    return "".join((*pieces, text[start:]))


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS else None


def as_object(value: object) -> Json:
    """The value as an object; anything else is an empty object."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The value as a list; anything else is an empty list."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_objects(value: object) -> list[Json]:
    return [cast("Json", entry) for entry in as_list(value) if isinstance(entry, dict)]


def as_text(value: object) -> str:
    """The value as a text; anything else is an empty text."""
    return value if isinstance(value, str) else ""


def as_texts(value: object) -> list[str]:
    return [entry for entry in as_list(value) if isinstance(entry, str)]


def parameters_of(text: str | None) -> Json:
    """The parameters of an action. Raises `Refused` for anything but a JSON object."""
    if text is None:
        return {}
    try:
        return msgspec.json.decode(text, type=Json)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise Refused(f"the parameters are no JSON object: {error}") from None


def list_limit(parameters: Json) -> int:
    """How many entries the answer to a question may have: `limit`, and at most 50."""
    limit = parameters.get("limit")
    return min(_MOST_ENTRIES, limit) if isinstance(limit, int) and limit > 0 else _MOST_ENTRIES
