"""The text by which a transcript remembers what was sent, and what upstream does to put it there.

The live mirror needs no plan: its line has the id of its intent, and the store takes an id once a session. Upstream's
has a key, or none, and then goes by the words (`plan_append`): a message that is said twice is remembered once.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Sequence
from urllib.parse import unquote

import msgspec

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


def mirror_text(text: str | None, media: Sequence[str] | None) -> str | None:
    """What is remembered: with media only the names of the files, else the text; none if nothing can be seen.

    >>> mirror_text(" see this ", ["https://example.com/b.pdf", "./c.png"]), mirror_text(" see this ", [])
    ('b.pdf, c.png', 'see this')
    """
    files = [one for one in media or () if one.strip()]
    if files:
        return ", ".join(name for one in files if (name := _name(one))) or _NO_NAME
    return (text or "").strip() or None


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


# -------------------------------------------------------------------- upstream's mirror


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a transcript, as upstream looks at it."""

    role: str
    text: str = ""
    #: idempotency key of the message that it mirrors
    key: str | None = None


class AppendPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done for a mirror. `refused`: why it cannot be put there; none: it is there, now or before."""

    append: bool = False
    text: str | None = None
    refused: str | None = None
    why: str = ""

    def __str__(self) -> str:
        return f"refused: {self.refused}" if self.refused else f"{'append' if self.append else 'leave'}: {self.why}"


def plan_append(
    session_key: str | None,
    text: str | None,
    media: Sequence[str] | None,
    *,
    key: str | None,
    sessions: Container[str],
    lines: Iterable[Remembered],
) -> AppendPlan:
    """Whether a message is put into a session's transcript. `sessions`: keys, in small letters; `lines`: its own."""
    session = (session_key or "").strip()
    said = mirror_text(text, media)
    if not session:
        return AppendPlan(refused="missing sessionKey")
    if said is None:
        return AppendPlan(refused="empty text")
    if session.lower() not in sessions:
        return AppendPlan(refused=f"unknown sessionKey: {session}")
    latest: Remembered | None = None
    for line in lines:
        if key and line.key == key:
            return AppendPlan(text=said, why=f"the key {key!r} is there")
        if line.role in _SEEN and line.text.strip():
            latest = line
    repeated = latest is not None and latest.role == "assistant" and latest.text.strip() == said
    if not key and repeated:
        return AppendPlan(text=said, why="it is what was said last")
    return AppendPlan(append=True, text=said, why=f"the key {key!r} is new" if key else "it was not said last")


#: roles whose lines people see
_SEEN = ("user", "assistant")
