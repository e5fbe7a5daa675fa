"""Phone numbers, which several platforms use as ids."""

from __future__ import annotations

import re

#: separators between digits: blanks, brackets, dots, slashes and dashes
_SIGNS = re.compile(r"[\s().\-/\u2010-\u2015\u2212]+")
#: E.164: up to 15 digits; the first belongs to the country code and is not zero
_NUMBER = re.compile(r"(?:\+|00)?([1-9][0-9]{0,14})")


def normal_phone(text: str) -> str | None:
    """``+`` and the digits of an international phone number, or None.

    A leading ``00`` means ``+``, and a zero in brackets after the country code is dropped. A number with a single
    leading zero (``0151 234``) is rejected because its country is unknown.
    """
    if text.lstrip().startswith(("+", "00")):
        text = text.replace("(0)", "")
    found = _NUMBER.fullmatch(_SIGNS.sub("", text))
    return f"+{found[1]}" if found else None
