"""Cursors of lists: where a page ends, as a text that only the store reads."""

import base64
import binascii
from typing import TypeVar

import msgspec

from trunkline.core.errors import BadCursor

T = TypeVar("T")
_json = msgspec.json.Encoder().encode


def cursor_of(value: msgspec.Struct) -> str:
    return base64.urlsafe_b64encode(_json(value)).decode().rstrip("=")


def read_cursor(text: str, kind: type[T]) -> T:
    """The position that a cursor names. Raises `BadCursor` for a text that is no cursor of this list."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return msgspec.json.decode(raw, type=kind)
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        shown = text if len(text) <= 80 else f"{text[:80]}…"
        raise BadCursor(f"{shown!r}: give the `next` of a page of this list, or none for its beginning") from error
