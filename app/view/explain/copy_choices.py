"""What can be taken along from where the cursor stands: the row, the decision, ids, and the line that runs it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from trunkline.app.view.explain.explanation import explain, reproduction
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.kinds import describe
from trunkline.app.view.text.cells import seconds
from trunkline.app.view.text.fact import Fact

#: ids of an event, the most telling first
_IDS = ("intent", "delegation", "binding", "turn", "inbound")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a menu: the key that takes it, what it is, and the text itself."""

    key: str
    title: str
    text: str


def copy_choices(view: RunView, seq: int, row: str = "") -> tuple[Choice, ...]:
    """Everything that can be copied at event `seq`. `row` is the selected row of the screen, as text."""
    return tuple(_yanks(view, seq, row))


def _yanks(view: RunView, seq: int, row: str) -> Iterator[Choice]:
    row = row or event_line(view, seq)
    if row:
        yield Choice(key="r", title="row", text=row)
    if 0 < seq <= view.last:
        yield Choice(key="d", title="decision", text=as_text(explain(view, seq).title, explain(view, seq).lines))
        for number, (name, value) in enumerate(ids_of(view, seq)):
            yield Choice(key="" if number else "i", title=f"id of the {name}", text=value)
    yield Choice(key="c", title="command", text=reproduction(view.header))


def event_line(view: RunView, seq: int) -> str:
    """An event in one line; nothing before the first."""
    if not 0 < seq <= view.last:
        return ""
    event = view.event(seq)
    return f"#{seq} {seconds(event.at)} {event.kind}: {describe(view, event)}"


def ids_of(view: RunView, seq: int) -> Iterator[tuple[str, str]]:
    """The ids that an event carries, the most telling first. One without any goes by its own number."""
    event = view.event(seq)
    found = [(name, value) for name in _IDS if (value := getattr(event, name)) is not None]
    key = getattr(event.body, "session_key", None)
    if isinstance(key, str) and key:
        found.append(("session", key))
    yield from found or [("event", str(seq))]


def as_text(title: str, facts: Iterable[Fact]) -> str:
    """An explanation as lines, with its labels in a column."""
    lines = [title]
    for fact in facts:
        mark = f"  {fact.mark}" if fact.mark else ""
        lines.append(f"{fact.label:<10}{fact.text}{mark}".rstrip())
    return "\n".join(lines)
