"""Upstream's mirror: whether a message is appended to a session's transcript (the table `mirror_text`).

Ours needs no plan: its line has the id of its intent, and the store takes each id once per session. Upstream's line has
a key, or none; without one it compares texts, so that a message said twice is remembered once.
"""

from collections.abc import Container, Iterable, Sequence

import msgspec

from trunkline.core.text.mirror_text import mirror_text


class MirroredLine(msgspec.Struct, frozen=True, kw_only=True):
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


def names_or_text(text: str | None, media: Sequence[str] | None) -> str | None:
    """Upstream's text of a mirror: the names of the files, and a caption only where there is none."""
    return mirror_text(None, media) or mirror_text(text, ())


def plan_append(
    session_key: str | None,
    text: str | None,
    media: Sequence[str] | None,
    *,
    key: str | None,
    sessions: Container[str],
    lines: Iterable[MirroredLine],
) -> AppendPlan:
    """Whether a message is put into a session's transcript. `sessions`: keys, in small letters; `lines`: its own."""
    session = (session_key or "").strip()
    said = names_or_text(text, media)
    if not session:
        return AppendPlan(refused="missing sessionKey")
    if said is None:
        return AppendPlan(refused="empty text")
    if session.lower() not in sessions:
        return AppendPlan(refused=f"unknown sessionKey: {session}")
    latest: MirroredLine | None = None
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
