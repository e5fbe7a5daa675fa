"""The row filter that people type after ``/``, and the rows of a run that match it.

Words stand for themselves: a row must say all of them. ``k:`` names a kind of event, ``lane:`` a place or a hand,
``v:`` a verdict, ``sess:`` a session key, ``id:`` an intent, turn, delegation, inbound or binding. A ``!`` before the
whole keeps the other rows. Nothing is guessed: what a row is about is what its own events recorded.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from enum import StrEnum

import msgspec

from trunkline.app.text.cells import clean, seconds
from trunkline.app.view.index.run_index import RunView, typed
from trunkline.app.view.rows.lanes import Look, TimelineLane, TimelineLanes, TimelineRow
from trunkline.core.errors import UsageError
from trunkline.core.events import Event, delivery, gateway
from trunkline.sim.events.world import PeerSaid

# Positions in a run as people type them: ``t 1.27`` and ``1.27`` are times, ``#14`` is an event.

_TIME = re.compile(r"t?\s*(\d{1,18}(?:\.\d*)?|\.\d+)\s*s?", re.IGNORECASE | re.ASCII)
_EVENT = re.compile(r"#\s*(\d{1,18})", re.ASCII)
_SPEED = re.compile(r"(?:speed|[x×])\s*(\d{1,18}(?:\.\d*)?|\.\d+)", re.IGNORECASE)


def read_moment(view: RunView, text: str) -> int:
    """The event at a typed position: the last one up to a time, or the one with a number. Raises `UsageError`."""
    text = text.strip()
    if found := _EVENT.fullmatch(text):
        seq = int(found[1])
        if seq > view.last:
            raise UsageError(f"there is no event {seq}: the last one is #{view.last}")
        return seq
    if found := _TIME.fullmatch(text):
        at = float(found[1])
        end = view.time(view.last)
        if at > end:
            raise UsageError(f"the run ends at {seconds(end)} s: {seconds(at)} is later")
        return view.seq_before(at + 1e-6)
    raise UsageError(f"{clean(text)!r} is no moment: t 1.27 is a time in seconds, #14 an event")


def read_speed(text: str) -> float | None:
    """``speed 8``, ``x8``: the speed; none for other texts."""
    found = _SPEED.fullmatch(text.strip())
    return float(found[1]) if found and float(found[1]) > 0 else None


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
#: verdicts by word: the meaning, and the looks of rows with it
VERDICTS: dict[str, tuple[str, tuple[Look, ...]]] = {
    "bad": ("an invariant names it as evidence", ()),
    "dup": ("one of several copies", (Look.COPY, Look.FIRST)),
    "leak": ("at a place where it should not be", (Look.MISPLACED,)),
    "fb": ("a recorded fallback", (Look.FALLBACK,)),
    "mirror": ("a wrong or missing mirror", ()),
    "unknown": ("unknown whether it arrived", (Look.UNKNOWN,)),
    "retry": ("will be tried again", (Look.RETRY,)),
    "dead": ("will not be delivered", (Look.DEAD,)),
    "sup": ("not said, on purpose", (Look.SUPPRESSED,)),
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
        raise UsageError(f"no filter is called {clean(name)}: there are {', '.join(f'{field}:' for field in FIELDS)}")
    if not value:
        raise UsageError(f"{name}: needs something after the colon: {FIELDS[field]}")
    if field == "v" and value.casefold() not in VERDICTS:
        raise UsageError(f"no verdict is called {clean(value)}: there are {', '.join(VERDICTS)}")
    return FilterTerm(field, value.casefold())


class FilterMatcher:
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
        return row.look in VERDICTS[verdict][1] or _TAGS.get(verdict) in row.tags


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
    return tuple(term for term in found if term is not None)


def session_keys(view: RunView, event: Event) -> tuple[str, ...]:
    """The session keys that an event names, or the intent or the inbound that it belongs to."""
    found = [getattr(event.body, "session_key", None), getattr(event.body, "mirror_key", None)]
    found += [body.mirror_key for _, body in typed(view.of_intent(event.intent), delivery.IntentPrepared)]
    found += [body.session_key for _, body in typed(view.of_inbound(event.inbound), gateway.RouteDecided)]
    if isinstance(event.body, PeerSaid):
        found += [getattr(view.event(seq).body, "session_key", None) for seq in view.causes.effects(event.seq)[:8]]
    return tuple(dict.fromkeys(key for key in found if isinstance(key, str) and key))


# Breakpoints stop playback at a kind of event, a lane, an invariant, or the matches of a filter.


class BreakpointKind(StrEnum):
    KIND = "kind"
    LANE = "lane"
    INVARIANT = "invariant"
    FILTER = "filter"


class Breakpoint(msgspec.Struct, frozen=True):
    """A breakpoint. `value` is a kind, the name of a lane, the id of an invariant, or the text of a filter."""

    on: BreakpointKind
    value: str

    def __str__(self) -> str:
        return f"{self.on} {clean(self.value)}"


class BreakpointTargets:
    def __init__(self, view: RunView, lanes: TimelineLanes, rows: Iterable[TimelineRow], *, since: int = 0) -> None:
        """Match only events after `since`; `rows` are the rows after it."""
        self.view = view
        self.since = since
        self.rows = tuple(rows)
        self.matcher = FilterMatcher(view, lanes)
        #: of the lanes
        self.names = tuple(lane.path if lane.place else lane.label for lane in lanes.all)

    def hits(self, point: Breakpoint) -> frozenset[int]:
        """The events at which a breakpoint stops."""
        match point.on:
            case BreakpointKind.KIND:
                events = self.view.events[self.since :]
                return frozenset(event.seq for event in events if event.kind == point.value)
            case BreakpointKind.LANE:
                lanes = {index for index, name in enumerate(self.names) if name == point.value}
                return frozenset(row.seq for row in self.rows if row.start in lanes or row.end in lanes)
            case BreakpointKind.INVARIANT:
                found = (v.at for v in self.view.marks.violations if v.invariant == point.value)
                return frozenset(at for at in found if at > self.since)
            case BreakpointKind.FILTER:
                with suppress(UsageError):
                    if filter_ := parse_filter(point.value):
                        return frozenset(row.seq for row in self.matcher.rows(filter_, self.rows))
                return frozenset()

    def offers(self, seq: int, row: TimelineRow | None, text: str) -> Iterator[Breakpoint]:
        """Suggested breakpoints for the cursor's event, its row and the typed text, the likeliest first."""
        if text.strip():
            yield Breakpoint(BreakpointKind.FILTER, " ".join(text.split()))
        if not 0 < seq <= self.view.last:
            return
        for violation in self.view.marks.of(seq):
            yield Breakpoint(BreakpointKind.INVARIANT, violation.invariant)
        yield Breakpoint(BreakpointKind.KIND, self.view.event(seq).kind)
        for lane in dict.fromkeys((row.start, row.end)) if row else ():
            yield Breakpoint(BreakpointKind.LANE, self.names[lane])


class Breakpoints:
    """The breakpoints that are set. They survive the opening of another run."""

    def __init__(self) -> None:
        #: playback stops at any violation
        self.on_broken = True
        self.set: tuple[Breakpoint, ...] = ()

    def toggle(self, point: Breakpoint) -> bool:
        """Toggle a breakpoint. Whether it is set now. Raises `UsageError` for an invalid filter."""
        if point in self.set:
            self.set = tuple(other for other in self.set if other != point)
            return False
        if point.on is BreakpointKind.FILTER:
            parse_filter(point.value)
        self.set = (*self.set, point)
        return True

    def stops(self, field: BreakpointTargets) -> frozenset[int]:
        """Every event of a run at which playback stops, except violations in general."""
        return frozenset(seq for point in self.set for seq in field.hits(point))


# The lanes of a run that can be hidden, with their names and their numbers of rows.


class LaneChoice(msgspec.Struct, frozen=True):
    """A lane that can be hidden: its name, the number of its rows, and whether it is hidden."""

    index: int
    name: str
    rows: int
    hidden: bool


def choosable(lanes: TimelineLanes, rows: Iterable[TimelineRow], hidden: Collection[str]) -> list[LaneChoice]:
    """Every lane but the gateway's, from left to right."""
    touched = Counter(lane for row in rows for lane in {row.start, row.end})
    every = ((index, lane.path) for index, lane in enumerate(lanes.all) if index != lanes.gateway)
    return [LaneChoice(index, name, touched[index], name in hidden) for index, name in every]


def hidden_lanes(lanes: TimelineLanes, hidden: Collection[str]) -> frozenset[int]:
    """The lanes of a run with one of these names."""
    return frozenset(index for index, lane in enumerate(lanes.all) if lane.path in hidden and index != lanes.gateway)
