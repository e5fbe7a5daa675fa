"""The text by which a transcript remembers what was sent (shared facts on routing, section 3.2)."""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote

_NO_NAME = "media"
_URL = re.compile(r"[a-z][a-z0-9+.-]+://[^/]*", re.IGNORECASE)
#: more than the one letter of a drive
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)


def media_name(address: str) -> str:
    """The name of a file from its URL or path: without query and fragment, percent-decoded; ``media`` if there is none.

    >>> media_name("https://example.com/files/b%20c.pdf?sig=1")
    'b c.pdf'
    """
    return _name(address) or _NO_NAME


def mirror_text(text: str, media: tuple[str, ...]) -> str:
    """What is remembered: with media only the names of the files, else the text."""
    if not media:
        return text
    return ", ".join(name for one in media if (name := _name(one))) or _NO_NAME


def _name(address: str) -> str:
    """The name of a file; empty if the address names none."""
    path = address.strip().partition("#")[0].partition("?")[0]
    url = _URL.match(path)
    if url is None and _SCHEME.match(path):
        # ``data:`` and the like carry the file itself.
        return ""
    path = path[url.end() :] if url else path
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if name in (".", "..", "~"):
        return ""
    return _decoded(name) if url else name


def _decoded(name: str) -> str:
    """A name as people write it; as it is where that would be no name."""
    try:
        decoded = unquote(name, errors="strict")
    except UnicodeDecodeError:
        return name
    readable = all(unicodedata.category(char)[0] != "C" for char in decoded) and "/" not in decoded
    return decoded.strip() if readable and decoded.strip() else name
