"""What an OpenClaw gateway has stored, for people and for machines: text, Markdown and JSON.

Texts of messages are short, cleaned, and without anything that looks like a token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from trunkline.app.imports.openclaw.findings import Merger, OpenClawFindings, Prospect, Split, find
from trunkline.app.imports.openclaw.values import (
    ForeignPlace,
    ForeignSession,
    OpenClawState,
    QueuedDelivery,
    WaitingMessage,
)
from trunkline.app.report.markdown_text import code
from trunkline.app.report.redaction import PageRedaction
from trunkline.app.text.cells import clean, count, cut

#: version of the JSON
IMPORT_VERSION = 1
#: cells of a message's text, and of an error
_TEXT, _ERROR = 60, 100
#: tokens may be in texts, and in errors that name the address of a request
_REDACTION = PageRedaction(environment={})


class StateSection(msgspec.Struct, frozen=True):
    """A section: its title, what it means, and its lines."""

    title: str
    meaning: str
    lines: tuple[str, ...]


def parts(state: OpenClawState) -> tuple[StateSection, ...]:
    """The sections that have something in them; lines are cleaned."""
    found = find(state)
    made = (
        _part("In doubt", "whether the platform has these is not known", map(_entry, found.doubts)),
        _part("Dead letters", "these were given up; nobody has them, or nobody knows", map(_entry, found.dead)),
        _part("Answers that may not have arrived", "the sessions know it", map(_owed, found.owed)),
        _part(
            "Answers that nothing will send",
            "the turn ended, and its answer was never queued",
            map(_stranded, found.stranded),
        ),
        _part("After a restart", "what OpenClaw 2026.9.6 does then", _restart(found)),
        _part("Sessions that split", "one conversation under several keys", _several(found.splits, _split)),
        _part("Sessions that merged", "several conversations in one memory", _several(found.mergers, _merger)),
        _part("Not read", "everything else was", (f"{one.where}: {one.why}" for one in state.unreadable)),
        _part("Notes", "", state.notes),
    )
    return tuple(part for part in made if part.lines)


def _part(title: str, meaning: str, texts: Iterable[str]) -> StateSection:
    return StateSection(title, meaning, tuple(clean(_REDACTION.text(text)) for text in texts))


def state_text(state: OpenClawState) -> list[str]:
    """The lines for a terminal."""
    found = [clean(line) for line in _head(state)]
    for part in parts(state):
        meaning = f": {part.meaning}" if part.meaning else ""
        found += ["", f"{part.title} ({len(part.lines)}){meaning}", *(f"  {line}" for line in part.lines)]
    if not any(part.title != "Notes" for part in parts(state)):
        found += [
            "",
            "Nothing is noteworthy: no doubts, no dead letters, nothing open, each conversation has its session.",
        ]
    return found


def state_markdown(state: OpenClawState) -> str:
    """A page of Markdown; texts of strangers are code, so that nothing in them is markup."""
    found = ["# What an OpenClaw gateway has stored", "", *(f"- {code(line)}" for line in _head(state))]
    for part in parts(state):
        found += ["", f"## {part.title} ({len(part.lines)})", ""]
        if part.meaning:
            found += [f"{part.meaning.capitalize()}.", ""]
        found += [f"- {code(line)}" for line in part.lines]
    return "\n".join(found) + "\n"


def _head(state: OpenClawState) -> Iterator[str]:
    version = f", last written by OpenClaw {state.version}" if state.version else ""
    yield f"{state.folder}{version}"
    receipts = f", {count(state.completed, 'receipt')} of what is done" if state.completed else ""
    yield (
        f"{count(len(state.sessions), 'session')}, {count(len(state.queue), 'entry', 'entries')} in the delivery queue"
        f"{receipts}, {count(len(state.waiting), 'message')} of people not dealt with"
    )


# ------------------------------------------------------------ lines


def _when(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _said(texts: Sequence[str]) -> str:
    if not texts:
        return "its text is not kept"
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return f"“{cut(clean(_REDACTION.text(texts[0])), _TEXT)}”{more}"


def _where(place: ForeignPlace | None) -> str:
    return "a place that is not kept" if place is None else str(place)


def _joined(*words: str) -> str:
    return ", ".join(word for word in words if word)


def _entry(entry: QueuedDelivery) -> str:
    since = _when(entry.failed or entry.last_attempt or entry.enqueued)
    error = cut(clean(_REDACTION.text(entry.last_error)), _ERROR)
    return _joined(
        f"{entry.id} to {_where(entry.place)}: {_said(entry.texts)}",
        count(entry.attempts, "failed attempt") if entry.attempts else "",
        entry.recovery,
        f"since {since}" if since else "",
        f"session {entry.session_key}" if entry.session_key else "",
        f"error: {error}" if error else "",
    )


def _owed(session: ForeignSession) -> str:
    assert session.owed is not None
    states = sorted({state for _, state in session.owed.deliveries})
    notice = "the next message there is answered with a notice of it first" if session.owes_notice else ""
    place = session.owed.place or session.speaks_in
    texts = (session.owed.text,) if session.owed.text else ()
    return _joined(f"{session.key} to {_where(place)}: {_said(texts)}", " and ".join(states), notice)


def _stranded(session: ForeignSession) -> str:
    place = session.speaks_in
    since = f", since {_when(session.updated)}" if session.updated else ""
    return f"{session.key} to {_where(place)}: the last answer of the transcript{since}"


def _restart(found: OpenClawFindings) -> Iterator[str]:
    yield from map(_prospect, found.prospects)
    for session in found.resumed:
        yield f"{session.key}: its turn was interrupted; it is run again, after a notice in {_where(session.speaks_in)}"
    yield from map(_waiting, found.waiting)


def _prospect(one: Prospect) -> str:
    soon = f", not before {_when(one.not_before)}" if one.not_before is not None else ""
    return f"{one.entry.id} {one.after.value}{soon}: {_where(one.entry.place)} {_said(one.entry.texts)}"


def _waiting(one: WaitingMessage) -> str:
    said = f": {_said((one.text,))}" if one.text else ""
    received = f" received {_when(one.received)}" if one.received else ""
    return f"{one.id} from {one.lane or one.channel}{received} is answered{said} ({one.status})"


def _several(ones: Iterable[Any], lines: Callable[[Any], Iterator[str]]) -> Iterator[str]:
    for one in ones:
        yield from lines(one)


def _split(one: Split) -> Iterator[str]:
    keys = " and ".join(f"{session.key} ({_when(session.updated) or 'no time'})" for session in one.sessions)
    what = "keys that differ only in spelling" if one.place is None else str(one.place)
    yield f"agent {one.agent}: {what}: {keys}"


def _merger(one: Merger) -> Iterator[str]:
    places = " and ".join(str(place) for place in one.places) or "no place is known"
    why = " (by its setting: direct conversations share the main session)" if one.by_setting else ""
    yield f"agent {one.agent}: {' and '.join(one.keys)}: {places}{why}"


# ------------------------------------------------------------ JSON


def state_json(state: OpenClawState) -> str:
    """Everything as JSON: what was read, and what was found. Times are seconds since 1970."""
    found = find(state)
    document = {
        "trunkline_import": IMPORT_VERSION,
        "gateway": "openclaw",
        "state": msgspec.to_builtins(state),
        "findings": {
            "doubts": [one.id for one in found.doubts],
            "dead": [one.id for one in found.dead],
            "after_restart": [
                {"id": one.entry.id, "what": one.after.name.casefold(), "not_before": one.not_before}
                for one in found.prospects
            ],
            "resumed": [one.key for one in found.resumed],
            "owed": [one.key for one in found.owed],
            "stranded": [one.key for one in found.stranded],
            "waiting": [one.id for one in found.waiting],
            "splits": [{"agent": one.agent, "keys": [session.key for session in one.sessions]} for one in found.splits],
            "merged": [
                {"agent": one.agent, "keys": list(one.keys), "by_setting": one.by_setting} for one in found.mergers
            ],
        },
    }
    return msgspec.json.format(msgspec.json.encode(_shown(document)), indent=2).decode()


def _shown(tree: Any) -> Any:
    """The same with each text short and without tokens."""
    if isinstance(tree, str):
        return cut(clean(_REDACTION.text(tree)), 2 * _ERROR)
    if isinstance(tree, dict):
        return {name: _shown(value) for name, value in cast("dict[str, Any]", tree).items()}
    if isinstance(tree, list | tuple):
        return [_shown(one) for one in cast("Sequence[Any]", tree)]
    return tree
