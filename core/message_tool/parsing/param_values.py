"""Reads the values that a model gave for the parameters of the message tool, by their types."""

import math
from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.parsing.params import Param, ParamType
from trunkline.core.reasons import Reason
from trunkline.core.well_formed import is_well_formed, plain_text

#: numbers beyond this are no ids
_LARGEST = 2**64
#: how many texts a list has at most
MOST_TEXTS = 1000
_EXAMPLES = {
    ParamType.TEXT: "a text",
    ParamType.ID: "an id as text",
    ParamType.FLAG: "true or false",
    ParamType.NUMBER: "a number",
    ParamType.INTEGER: "a whole number",
    ParamType.TEXTS: "a list of texts",
    ParamType.JSON: "an object or a list",
}


def read_value(param: Param, value: object) -> object:
    """The value of a parameter in its type; None if it is blank. Raises `InvalidAction`.

    A text keeps the blanks around it, an id does not. An object or a list comes back decoded.
    """
    if value is None:
        return None
    read = _READERS[param.type](param, value)
    if read is None and not _is_blank(value):
        raise wrong_value(param, value)
    # A list of blank texts is blank.
    return None if read == () else read


def wrong_value(param: Param, value: object) -> InvalidAction:
    shown = plain_text(value)
    got = type(value).__name__ if shown is None else repr(shown[:80])
    return InvalidAction(f"`{param.name}` cannot be {got}.", remedy=f"Give {_EXAMPLES[param.type]}.")


def _is_blank(value: object) -> bool:
    text = plain_text(value)
    return not text.strip() if text is not None else isinstance(value, list | tuple | dict) and not value


def _text(param: Param, value: object) -> str | None:
    text = _as_text(param, value)
    return None if text is None or not text.strip() else text


def _id(param: Param, value: object) -> str | None:
    text = _as_text(param, value)
    return None if text is None else text.strip() or None


def _as_text(param: Param, value: object) -> str | None:
    """A text, or a number as text; None for anything else."""
    if isinstance(value, str):
        if not is_well_formed(str.__str__(value)):
            sentence = f"`{param.name}` is not valid Unicode."
            raise InvalidAction(sentence, Reason.BAD_TEXT, remedy="It has half of a character.")
        return plain_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if not -_LARGEST < value < _LARGEST:
        return None
    # A number that another language wrote: 5.0 is 5.
    return str(int(value)) if value == int(value) else str(float(value))


def _flag(param: Param, value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    text = (plain_text(value) or "").strip().lower()
    return {"true": True, "false": False}.get(text)


def _number(param: Param, value: object) -> float | None:
    text = _as_text(param, value)
    try:
        number = float(text) if text is not None and text.strip() else math.nan
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _integer(param: Param, value: object) -> int | None:
    number = _number(param, value)
    return int(number) if number is not None and number == int(number) and abs(number) < _LARGEST else None


def _texts(param: Param, value: object) -> tuple[str, ...] | None:
    """A list without blank members; a single text counts as a list."""
    if not isinstance(value, list | tuple):
        text = _id(param, value)
        return None if text is None else (text,)
    members = cast("Sequence[object]", value)
    if len(members) > MOST_TEXTS:
        sentence = f"`{param.name}` has {len(members)} members."
        raise InvalidAction(sentence, remedy=f"Give at most {MOST_TEXTS}.")
    texts: list[str] = []
    for member in members:
        text = _as_text(param, member)
        if text is None and member is not None:
            raise wrong_value(param, member)
        if text is not None and text.strip():
            texts.append(text.strip())
    return tuple(texts)


def _json(param: Param, value: object) -> object:
    text = plain_text(value)
    if text is not None:
        if not text.strip():
            return None
        try:
            value = msgspec.json.decode(_as_text(param, value) or "")
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise InvalidAction(
                f"--{param.name} must be valid JSON", remedy=f"Give {_EXAMPLES[param.type]}."
            ) from error
    if not isinstance(value, dict | list | tuple):
        return None
    return cast("object", value) or None


_READERS: dict[ParamType, Callable[[Param, object], object]] = {
    ParamType.TEXT: _text,
    ParamType.ID: _id,
    ParamType.FLAG: _flag,
    ParamType.NUMBER: _number,
    ParamType.INTEGER: _integer,
    ParamType.TEXTS: _texts,
    ParamType.JSON: _json,
}
