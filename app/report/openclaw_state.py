"""The stored state of an OpenClaw gateway, for people and for machines: text, Markdown and JSON.

Texts of messages are short, cleaned, and without anything that looks like a token.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from trunkline.app.imports.openclaw import values
from trunkline.app.imports.openclaw.findings import Merger, OpenClawFindings, Prospect, Split, find
from trunkline.app.report.redaction import PageRedaction, code
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


def parts(state: values.OpenClawState) -> tuple[StateSection, ...]:
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
        _part("Sessions that split", "one conversation under several keys", map(_split, found.splits)),
        _part("Sessions that merged", "several conversations in one memory", map(_merger, found.mergers)),
        _part("Not read", "everything else was", (f"{problem.where}: {problem.why}" for problem in state.unreadable)),
        _part("Notes", "", state.notes),
    )
    return tuple(part for part in made if part.lines)


def _part(title: str, meaning: str, texts: Iterable[str]) -> StateSection:
    return StateSection(title, meaning, tuple(clean(_REDACTION.text(text)) for text in texts))


def state_text(state: values.OpenClawState) -> list[str]:
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


def state_markdown(state: values.OpenClawState) -> str:
    """A page of Markdown; texts of strangers are code, so that nothing in them is markup."""
    found = ["# What an OpenClaw gateway has stored", "", *(f"- {code(line)}" for line in _head(state))]
    for part in parts(state):
        found += ["", f"## {part.title} ({len(part.lines)})", ""]
        if part.meaning:
            found += [f"{part.meaning.capitalize()}.", ""]
        found += [f"- {code(line)}" for line in part.lines]
    return "\n".join(found) + "\n"


def _head(state: values.OpenClawState) -> Iterator[str]:
    version = f", last written by OpenClaw {state.version}" if state.version else ""
    yield f"{state.folder}{version}"
    receipts = f", {count(state.completed, 'receipt')} of what is done" if state.completed else ""
    yield (
        f"{count(len(state.sessions), 'session')}, {count(len(state.queue), 'entry', 'entries')} in the delivery queue"
        f"{receipts}, {count(len(state.waiting), 'message')} of people not dealt with"
    )


def _when(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def _said(texts: Sequence[str]) -> str:
    if not texts:
        return "its text is not kept"
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return f"“{cut(clean(_REDACTION.text(texts[0])), _TEXT)}”{more}"


def _where(place: values.ForeignPlace | None) -> str:
    return "a place that is not kept" if place is None else str(place)


def _joined(*words: str) -> str:
    return ", ".join(word for word in words if word)


def _entry(entry: values.QueuedDelivery) -> str:
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


def _owed(session: values.ForeignSession) -> str:
    assert session.owed is not None
    states = sorted({state for _, state in session.owed.deliveries})
    notice = "the next message there is answered with a notice of it first" if session.owes_notice else ""
    place = session.owed.place or session.speaks_in
    texts = (session.owed.text,) if session.owed.text else ()
    return _joined(f"{session.key} to {_where(place)}: {_said(texts)}", " and ".join(states), notice)


def _stranded(session: values.ForeignSession) -> str:
    place = session.speaks_in
    since = f", since {_when(session.updated)}" if session.updated else ""
    return f"{session.key} to {_where(place)}: the last answer of the transcript{since}"


def _restart(found: OpenClawFindings) -> Iterator[str]:
    yield from map(_prospect, found.prospects)
    for session in found.resumed:
        yield f"{session.key}: its turn was interrupted; it is run again, after a notice in {_where(session.speaks_in)}"
    yield from map(_waiting, found.waiting)


def _prospect(prospect: Prospect) -> str:
    soon = f", not before {_when(prospect.not_before)}" if prospect.not_before is not None else ""
    entry = prospect.entry
    return f"{entry.id} {prospect.after.value}{soon}: {_where(entry.place)} {_said(entry.texts)}"


def _waiting(message: values.WaitingMessage) -> str:
    said = f": {_said((message.text,))}" if message.text else ""
    received = f" received {_when(message.received)}" if message.received else ""
    return f"{message.id} from {message.lane or message.channel}{received} is answered{said} ({message.status})"


def _split(split: Split) -> str:
    keys = " and ".join(f"{session.key} ({_when(session.updated) or 'no time'})" for session in split.sessions)
    what = "keys that differ only in spelling" if split.place is None else str(split.place)
    return f"agent {split.agent}: {what}: {keys}"


def _merger(merger: Merger) -> str:
    places = " and ".join(str(place) for place in merger.places) or "no place is known"
    why = " (by its setting: direct conversations share the main session)" if merger.by_setting else ""
    return f"agent {merger.agent}: {' and '.join(merger.keys)}: {places}{why}"


def state_json(state: values.OpenClawState) -> str:
    """Everything as JSON: what was read, and what was found. Times are seconds since 1970."""
    found = find(state)
    document = {
        "trunkline_import": IMPORT_VERSION,
        "gateway": "openclaw",
        "state": msgspec.to_builtins(state),
        "findings": {
            "doubts": [doubt.id for doubt in found.doubts],
            "dead": [message.id for message in found.dead],
            "after_restart": [
                {"id": prospect.entry.id, "what": prospect.after.name.casefold(), "not_before": prospect.not_before}
                for prospect in found.prospects
            ],
            "resumed": [message.key for message in found.resumed],
            "owed": [message.key for message in found.owed],
            "stranded": [message.key for message in found.stranded],
            "waiting": [message.id for message in found.waiting],
            "splits": [
                {"agent": split.agent, "keys": [session.key for session in split.sessions]} for split in found.splits
            ],
            "merged": [
                {"agent": merger.agent, "keys": list(merger.keys), "by_setting": merger.by_setting}
                for merger in found.mergers
            ],
        },
    }
    return msgspec.json.format(msgspec.json.encode(_ShortTexts(environment={}).tree(document)), indent=2).decode()


class _ShortTexts(PageRedaction):
    def text(self, text: str) -> str:
        """The text cut to a line, without tokens."""
        return cut(clean(super().text(text)), 2 * _ERROR)
