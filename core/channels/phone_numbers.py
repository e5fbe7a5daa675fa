"""Phone numbers, which several platforms have as ids."""

from __future__ import annotations

import re

#: what people put between digits: blanks, brackets, dots, slashes and every kind of dash
_SIGNS = re.compile(r"[\s().\-/\u2010-\u2015\u2212]+")
#: E.164: up to 15 digits, of which the first belongs to the country and is no zero
_NUMBER = re.compile(r"(?:\+|00)?([1-9][0-9]{0,14})")
_NOT_PHONE = re.compile(r"[^0-9+]")


def normal_phone(text: str) -> str | None:
    """``+`` and the digits of an international phone number, or none for a text that is no such number.

    ``00`` in front means ``+``, and a zero in brackets behind the country is not dialled from abroad. A number that
    begins with a single zero (``0151 234``) is none: nobody can tell which country it is in.
    """
    if text.lstrip().startswith(("+", "00")):
        text = text.replace("(0)", "")
    found = _NUMBER.fullmatch(_SIGNS.sub("", text))
    return f"+{found[1]}" if found else None


def upstream_phone(text: str) -> str:
    """What upstream makes of any text: ``+`` and the digits that are in it, of which there may be none."""
    return "+" + _NOT_PHONE.sub("", text).removeprefix("+")
