"""What can be copied at the cursor: the row, the explanation, ids, and the command that repeats the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from trunkline.app.text.cells import seconds
from trunkline.app.text.fact import Fact
from trunkline.app.view.explain.explanation import explain, reproduction
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe

#: ids of an event, the most specific first
_IDS = ("intent", "delegation", "binding", "turn", "inbound")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a menu: its key, its title, and the text to copy."""

    key: str
    title: str
    text: str


def copy_choices(view: RunView, seq: int, row: str = "") -> tuple[Choice, ...]:
    """Everything that can be copied at event `seq`. `row`: the selected row of the screen, as text."""
    found = [("r", "row", row or event_line(view, seq))]
    if 0 < seq <= view.last:
        why = explain(view, seq)
        found.append(("d", "decision", as_text(why.title, why.lines)))
        ids = enumerate(ids_of(view, seq))
        found += [("" if number else "i", f"id of the {name}", value) for number, (name, value) in ids]
    found.append(("c", "command", reproduction(view.header, view.events)))
    return tuple(Choice(key=key, title=title, text=text) for key, title, text in found if text)


def event_line(view: RunView, seq: int) -> str:
    """An event in one line; empty before the first."""
    if not 0 < seq <= view.last:
        return ""
    event = view.event(seq)
    return f"#{seq} {seconds(event.at)} {event.kind}: {describe(view, event)}"


def ids_of(view: RunView, seq: int) -> Iterator[tuple[str, str]]:
    """The ids of an event, the most specific first; without any, its number."""
    event = view.event(seq)
    found = [(name, value) for name in _IDS if (value := getattr(event, name))]
    key = getattr(event.body, "session_key", None)
    if isinstance(key, str) and key:
        found.append(("session", key))
    yield from found or [("event", str(seq))]


def as_text(title: str, facts: Iterable[Fact]) -> str:
    """An explanation as lines, with the labels in a column."""
    lines = [title]
    for fact in facts:
        mark = f"  {fact.mark}" if fact.mark else ""
        lines.append(f"{fact.label:<10}{fact.text}{mark}".rstrip())
    return "\n".join(lines)
