"""The text by which a transcript remembers a sent message: its text and the names of its files."""

import re
import unicodedata
from collections.abc import Sequence
from urllib.parse import unquote

_NO_NAME = "media"
_URL = re.compile(r"[a-z][a-z0-9+.-]+://[^/]*", re.IGNORECASE)
#: two letters at least: one letter is a Windows drive
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
#: a ``data:`` URL that says how its file is called
_DATA_NAME = re.compile(r"\s*data:[^,;]*;name=([^,;]+)[;,]", re.IGNORECASE)
_LONGEST = 10_000


def media_name(address: str) -> str:
    """The name of a file from its URL or path, without query and fragment, percent-decoded; ``media`` if it has none.

    >>> media_name("https://example.com/files/b%20c.pdf?sig=1")
    'b c.pdf'
    """
    return _name(address) or _NO_NAME


def said(chunks: Sequence[str]) -> str:
    """The text of a message by its chunks. Files whose text is too long for a caption are a chunk without text."""
    return "\n".join([one for one in chunks if one])


def mirror_text(text: str | None, media: Sequence[str] | None) -> str | None:
    """The transcript text: the text, and the names of the files on a line below; None if nothing is visible.

    >>> (mirror_text(" see this ", ["https://example.com/b.pdf", "./c.png"]) or "").splitlines()
    ['see this', 'b.pdf, c.png']
    """
    said, files = (text or "").strip(), [one for one in media or () if one.strip()]
    names = ", ".join(name for one in files if (name := _name(one))) or _NO_NAME if files else ""
    return "\n".join(filter(None, (said, names))) or None


def _name(address: str) -> str:
    """The name of a file; empty if the address names none."""
    data = _DATA_NAME.match(address)
    if data is not None:
        return _decoded(data[1])
    # A file that is part of its address may have megabytes.
    path = address[:_LONGEST].strip().partition("#")[0].partition("?")[0]
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
    """A name without percent-encoding; unchanged where the result would not be a file name."""
    try:
        decoded = unquote(name, errors="strict")
    except UnicodeDecodeError:
        return name
    readable = all(unicodedata.category(char)[0] != "C" for char in decoded) and "/" not in decoded
    return decoded.strip() if readable and decoded.strip() else name
