"""Files that a call of the message tool carries itself, as base64. Pure."""

import binascii
from functools import cache
from mimetypes import MimeTypes
from urllib.parse import quote

from trunkline.core.errors import InvalidAction
from trunkline.core.message_parts import MessageParts
from trunkline.core.reasons import Reason

#: what a file is when nobody says it
_UNKNOWN_TYPE = "application/octet-stream"
_URL_SAFE = str.maketrans("-_", "+/")


def attachment_url(buffer: str, parts: MessageParts | None, most: int) -> str:
    """A file as a ``data:`` URL with its type and its name. Raises `InvalidAction`.

    `buffer`: base64, also the form for URLs, without the head of a data URL. `most`: maximum size in bytes.
    """
    standard = buffer.translate(_URL_SAFE).rstrip("=")
    size = len(standard) * 3 // 4
    if size > most:
        sentence = f"The file has {size} bytes, and the limit is {most}."
        remedy = "Give a URL or a path in `media` instead, or raise tools.message.max_attachment."
        raise InvalidAction(sentence, Reason.BAD_ATTACHMENT, remedy=remedy)
    padded = standard + "=" * (-len(standard) % 4)
    try:
        content = binascii.a2b_base64(padded, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidAction(f"`buffer` is not base64: {error}.", Reason.BAD_ATTACHMENT) from error
    if not content:
        raise InvalidAction("`buffer` has no content.", Reason.BAD_ATTACHMENT)
    kind = ("" if parts is None else parts.mime_type or "").strip().lower()
    name = ("" if parts is None else parts.file_name or "").strip() or file_name(kind)
    return f"data:{kind or _UNKNOWN_TYPE};name={quote(name, safe='')};base64,{padded}"


@cache
def _types() -> MimeTypes:
    """The built-in table only: those of the machine differ. Made when a file first needs it: that takes 2 ms."""
    return MimeTypes()


def file_name(mime_type: str) -> str:
    """The name of a file without one.

    >>> file_name("image/png"), file_name("")
    ('attachment.png', 'attachment')
    """
    return f"attachment{_types().guess_extension(mime_type) or ''}" if mime_type else "attachment"
