"""The row filter that people type after ``/``, and the rows of a run that match it.

Words stand for themselves: a row must say all of them. ``k:`` names a kind of event, ``lane:`` a place or a hand,
``v:`` a verdict, ``sess:`` a session key, ``id:`` an intent, turn, delegation, inbound or binding. A ``!`` before the
whole keeps the other rows. Nothing is guessed: what a row is about is what its own events recorded.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from trunkline.app.text.cells import clean
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.rows.lanes import TimelineLane, TimelineLanes
from trunkline.app.view.rows.row import Look, TimelineRow
from trunkline.core.errors import UsageError
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import RouteDecided
from trunkline.sim.events.world import PeerSaid

INVERSE = "!"
#: the fields before a colon, and what they match
FIELDS = {
    "k": "kind of event, or the beginning of one: k:wire",
    "lane": "place or hand: lane:#ops",
    "v": "verdict: v:dup",
    "sess": "session key: sess:subagent",
    "id": "intent, turn, delegation, inbound or binding: id:m1.reply-1",
}
_SPELLED = {"kind": "k", "verdict": "v", "session": "sess"}
#: verdicts by word
VERDICTS = {
    "bad": "an invariant names it as evidence",
    "dup": "one of several copies",
    "leak": "at a place where it should not be",
    "fb": "a recorded fallback",
    "mirror": "a wrong or missing mirror",
    "unknown": "unknown whether it arrived",
    "retry": "will be tried again",
    "dead": "will not be delivered",
    "sup": "not said, on purpose",
}
_LOOKS = {
    "dup": (Look.COPY, Look.FIRST),
    "leak": (Look.MISPLACED,),
    "fb": (Look.FALLBACK,),
    "unknown": (Look.UNKNOWN,),
    "retry": (Look.RETRY,),
    "dead": (Look.DEAD,),
    "sup": (Look.SUPPRESSED,),
}
_TAGS = {"leak": "!!", "fb": "FB"}


class FilterTerm(msgspec.Struct, frozen=True):
    """A condition. `field` is empty for a word."""

    field: str
    value: str


class TimelineFilter(msgspec.Struct, frozen=True, kw_only=True):
    """All conditions must hold; `inverse`: not all of them may."""

    text: str
    terms: tuple[FilterTerm, ...]
    inverse: bool = False

    def __str__(self) -> str:
        return self.text


def parse_filter(text: str) -> TimelineFilter | None:
    """Parse a filter; none if it is blank. Raises `UsageError` with the valid forms."""
    plain = " ".join(text.split())
    inverse = plain.startswith(INVERSE)
    terms = tuple(_term(word) for word in plain.removeprefix(INVERSE).split())
    return TimelineFilter(text=plain, terms=terms, inverse=inverse) if terms else None


def _term(word: str) -> FilterTerm:
    name, colon, value = word.partition(":")
    field = _SPELLED.get(name.lower(), name.lower())
    if not colon or (field not in FIELDS and not name.isalpha()):
        # ``12:30`` and ``://`` are words.
        return FilterTerm("", word.casefold())
    if field not in FIELDS:
        raise UsageError(f"no filter is called {clean(name)}: there are {', '.join(f'{one}:' for one in FIELDS)}")
    if not value:
        raise UsageError(f"{name}: needs something after the colon: {FIELDS[field]}")
    if field == "v" and value.casefold() not in VERDICTS:
        raise UsageError(f"no verdict is called {clean(value)}: there are {', '.join(VERDICTS)}")
    return FilterTerm(field, value.casefold())


class FilterMatcher:
    """Matches the rows of a run against a filter."""

    def __init__(self, view: RunView, lanes: TimelineLanes) -> None:
        self._view = view
        self._lanes = [_lane_words(lane) for lane in lanes.all]

    def rows(self, filter_: TimelineFilter, rows: Iterable[TimelineRow]) -> tuple[TimelineRow, ...]:
        return tuple(row for row in rows if self.keeps(filter_, row))

    def keeps(self, filter_: TimelineFilter, row: TimelineRow) -> bool:
        return all(self._holds(term, row) for term in filter_.terms) is not filter_.inverse

    def intents(self, filter_: TimelineFilter, rows: Iterable[TimelineRow]) -> frozenset[str]:
        """The messages for which each condition holds at some row or event; the caller applies `inverse`."""
        rows = tuple(row for row in rows if self._view.event(row.seq).intent is not None)
        first, *more = (self._having(term, rows) for term in filter_.terms)
        return first.intersection(*more)

    def _having(self, term: FilterTerm, rows: Iterable[TimelineRow]) -> frozenset[str]:
        events = (self._view.event(row.seq) for row in rows if self._holds(term, row))
        if term.field == "k":
            # Events inside the gateway have no row while folded.
            events = (event for event in self._view.events if _is_kind(event.kind, term.value))
        return frozenset(event.intent for event in events if event.intent is not None)

    def _holds(self, term: FilterTerm, row: TimelineRow) -> bool:
        event = self._view.event(row.seq)
        match term.field:
            case "k":
                return _is_kind(event.kind, term.value)
            case "lane":
                # The full path of a thread includes its parent, which is another lane.
                whole = "/" in term.value
                return any(term.value in self._lanes[lane][whole] for lane in (row.start, row.end))
            case "v":
                return self._judged(term.value, row)
            case "sess":
                return any(term.value in key.casefold() for key in session_keys(self._view, event))
            case "id":
                return any(term.value in name.casefold() for name in ids_of(event))
            case _:
                return term.value in f"{row.who} {row.text} {' '.join(row.tags)}".casefold()

    def _judged(self, verdict: str, row: TimelineRow) -> bool:
        if verdict == "bad":
            return bool(self._view.marks.of(row.seq))
        if verdict == "mirror":
            return len(row.mirror) > 1
        return row.look in _LOOKS[verdict] or _TAGS.get(verdict) in row.tags


def _is_kind(kind: str, wanted: str) -> bool:
    """``wire``, ``wire.acc`` and ``accepted`` all mean ``wire.accepted``."""
    return kind.startswith(wanted) or any(part.startswith(wanted) for part in kind.split("."))


def _lane_words(lane: TimelineLane) -> tuple[str, str]:
    """The name of a lane, alone and with its path."""
    path = lane.path if lane.place else lane.group
    return f"{lane.label} {lane.group} {' '.join(lane.place or ())}".casefold(), path.casefold()


def ids_of(event: Event) -> tuple[str, ...]:
    """The ids that an event carries."""
    found = (event.intent, event.turn, event.delegation, event.inbound, event.binding)
    return tuple(one for one in found if one is not None)


def session_keys(view: RunView, event: Event) -> tuple[str, ...]:
    """The session keys that an event names, or the intent or the inbound that it belongs to."""
    found = [getattr(event.body, "session_key", None), getattr(event.body, "mirror_key", None)]
    found += [body.mirror_key for _, body in typed(view.of_intent(event.intent), IntentPrepared)]
    found += [body.session_key for _, body in typed(view.of_inbound(event.inbound), RouteDecided)]
    if isinstance(event.body, PeerSaid):
        found += [getattr(view.event(seq).body, "session_key", None) for seq in view.causes.effects(event.seq)[:8]]
    return tuple(dict.fromkeys(key for key in found if isinstance(key, str) and key))
