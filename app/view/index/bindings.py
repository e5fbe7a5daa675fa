"""Session bindings after any event of a run: one record for each change of a binding, and the points of its life bar.

Rows repeat what the gateway recorded. Only `Standing` adds the clock: a binding past its deadline does not route any
more, even before the gateway has ended it (invariant B1).
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from trunkline.app.text.fact import Tone
from trunkline.app.view.index.growing import KeyFrames
from trunkline.app.view.index.places import PlaceKey
from trunkline.core.decisions import BOUND_TIER
from trunkline.core.events import Body, Event, bindings, gateway
from trunkline.core.reasons import Reason
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address


class Standing(StrEnum):
    #: not bound yet
    LATER = "later"
    ACTIVE = "active"
    #: past its deadline and not ended yet: it does not route
    EXPIRED = "expired"
    ENDING = "ending"
    ENDED = "ended"


#: shape and tone of each
STANDINGS = {
    Standing.LATER: ("·", Tone.DIM),
    Standing.ACTIVE: ("●", Tone.GOOD),
    Standing.EXPIRED: ("✗", Tone.BAD),
    Standing.ENDING: ("◐", Tone.WARN),
    Standing.ENDED: ("○", Tone.DIM),
}


class BarPoint(msgspec.Struct, frozen=True):
    """A point of a life bar: the binding was touched there, or used although it did not route any more."""

    at: float
    seq: int
    wrong: bool


class BindingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A binding after an event. Times are in virtual seconds."""

    id: str
    #: seq of the event that created it
    since: int
    conversation: Address
    session_key: str
    target_kind: str = ""
    placement: str = ""
    #: ``spawn``, ``operator``, or a peer
    by: str = ""
    label: str = ""
    #: the identity that posts there; none for the bot
    identity: str | None = None
    #: why the bot posts instead
    degraded: Reason | None = None
    #: chunks that the bot posted instead
    as_bot: int = 0
    status: BindingStatus = BindingStatus.ACTIVE
    bound_at: float
    idle_timeout: float = 0.0
    max_age: float = 0.0
    expires_at: float | None = None
    touches: int = 0
    active_at: float
    #: why it is ending or has ended
    reason: Reason | None = None
    #: turns and messages in flight when it began to end
    under_way: int = 0
    ending_at: float | None = None
    ended_at: float | None = None
    #: who ended it; empty if it expired or was cleaned up
    ended_by: str = ""
    detail: str = ""
    #: the conversation's previous binding
    instead_of: str | None = None
    #: the last event that changed it
    last: int

    def standing(self, seq: int, now: float) -> Standing:
        """The state of a binding after event `seq`."""
        if seq < self.since:
            return Standing.LATER
        if self.status is BindingStatus.ACTIVE and self.expires_at is not None and self.expires_at <= now:
            return Standing.EXPIRED
        return Standing(self.status.value)


#: the fields of a row that a binding's first event records under the same names
_RECORDED = (
    *("target_kind", "placement", "by", "label", "identity"),
    *("idle_timeout", "max_age", "expires_at", "instead_of"),
)


class BindingHistory:
    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._states: dict[str, list[BindingRow]] = {}
        #: the same by number
        self._order: list[list[BindingRow]] = []
        self._by_place: dict[PlaceKey, list[str]] = {}
        self._points: dict[str, list[BarPoint]] = {}
        #: which have not ended: a run may make thousands, and hold a few at any moment
        self._open = KeyFrames[PlaceKey, tuple[str, ...], tuple[PlaceKey, str, bool]](_open_or_end)
        #: events about a binding, in order
        self._stories: dict[str, list[Event]] = {}
        self._first: float | None = None
        #: screens show numbers instead of the long ids
        self._names: dict[str, str] = {}
        for event in events:
            self.learn(event)

    def __len__(self) -> int:
        return len(self._states)

    def name(self, binding: str | None) -> str:
        """The name of a binding on screens: ``b1`` for the first of the run; an unknown one has its id."""
        return self._names.get(binding or "", binding or "a binding")

    def time(self, seq: int) -> float:
        """Virtual time after event `seq`; 0 before the first."""
        return self._events[min(seq, len(self._events)) - 1].at if seq and self._events else 0.0

    def rows(self, seq: int) -> list[BindingRow]:
        """Every binding of the run after event `seq`. A later one is shown as it will begin."""
        return [self._at(states, seq) for states in self._states.values()]

    def nth(self, index: int, seq: int) -> BindingRow:
        return self._at(self._order[index], seq)

    def row(self, binding: str | None, seq: int) -> BindingRow | None:
        states = self._states.get(binding or "")
        return self._at(states, seq) if states else None

    def standing(self, row: BindingRow, seq: int) -> Standing:
        return row.standing(seq, self.time(seq))

    def bound(self, seq: int) -> dict[PlaceKey, str]:
        """The conversations with an active binding after event `seq`, with its id."""
        found = ((place, self._newest_open(place, seq, Standing.ACTIVE)) for place in self._open.at(seq))
        return {place: row.id for place, row in found if row is not None}

    def held(self, place: PlaceKey, seq: int) -> BindingRow | None:
        """The newest active or ending binding of a conversation after event `seq`."""
        return self._newest_open(place, seq, Standing.ACTIVE, Standing.ENDING)

    def _newest_open(self, place: PlaceKey, seq: int, *wanted: Standing) -> BindingRow | None:
        now = self.time(seq)
        rows = (self._at(self._states[binding], seq) for binding in reversed(self._open.at(seq).get(place, ())))
        return next((row for row in rows if row.standing(seq, now) in wanted), None)

    def _at(self, states: Sequence[BindingRow], seq: int) -> BindingRow:
        return states[max(bisect_right(states, seq, key=lambda row: row.last) - 1, 0)]

    @property
    def span(self) -> tuple[float, float]:
        """The scale of the life bars: from the first binding to the end of the run."""
        first = 0.0 if self._first is None else self._first
        return first, max(self.time(len(self._events)), first)

    def points(self, binding: str) -> Sequence[BarPoint]:
        return self._points.get(binding, ())

    def misused(self, binding: str, seq: int) -> list[BarPoint]:
        """The points up to event `seq` at which it was used although it did not route any more."""
        return [point for point in self.points(binding) if point.wrong and point.seq <= seq]

    def story(self, binding: str | None) -> Sequence[Event]:
        return self._stories.get(binding or "", ())

    @property
    def lanes(self) -> Collection[PlaceKey]:
        """The keys of every conversation that was ever bound, each once."""
        return self._by_place.keys()

    def concerned(self, event: Event) -> str | None:
        """The binding of an event: the named one, the chosen one, or the latest of its place."""
        named = event.binding or _named(event.body)
        if named in self._states:
            return named
        place = getattr(event.body, "conversation", None) or getattr(event.body, "address", None)
        if not isinstance(place, Address):
            return None
        near = reversed(self._by_place.get(place.lane, ()))
        return next((state for state in near if self._states[state][0].since <= event.seq), None)

    def learn(self, event: Event) -> None:
        binding = event.binding or _named(event.body)
        if binding is None:
            return
        known = self._states.get(binding, [None])[-1]
        if _misused(event, known):
            self._mark(binding, event, wrong=True)
        row = _changed(known, event)
        if row is not None:
            if row.id not in self._states:
                self._first = row.bound_at if self._first is None else min(self._first, row.bound_at)
                self._names[row.id] = f"b{len(self._names) + 1}"
                self._by_place.setdefault(row.conversation.lane, []).append(row.id)
                self._order.append(self._states.setdefault(row.id, []))
            is_open = row.status is not BindingStatus.ENDED
            if known is None or is_open != (known.status is not BindingStatus.ENDED):
                self._open.add((row.last, (row.conversation.lane, row.id, is_open)))
            self._states[row.id].append(row)
            if isinstance(event.body, bindings.BindingTouched):
                self._mark(row.id, event, wrong=False)
        if row is not None or known is not None:
            self._stories.setdefault(binding, []).append(event)

    def _mark(self, binding: str, event: Event, *, wrong: bool) -> None:
        points = self._points.setdefault(binding, [])
        if not points or points[-1].seq != event.seq:
            points.append(BarPoint(event.at, event.seq, wrong))


def _open_or_end(now: dict[PlaceKey, tuple[str, ...]], change: tuple[PlaceKey, str, bool]) -> None:
    """Change the bindings of a conversation that have not ended, the oldest first."""
    place, binding, is_open = change
    now[place] = (*(other for other in now.get(place, ()) if other != binding), *((binding,) if is_open else ()))
    if not now[place]:
        del now[place]


def _named(body: Body) -> str | None:
    """The binding that a decision chose."""
    if isinstance(body, gateway.RouteDecided) and body.matched_by == BOUND_TIER:
        return body.binding
    if isinstance(body, bindings.RouterDecided):
        return next((candidate.binding for candidate in body.candidates if candidate.chosen), None)
    return None


def _misused(event: Event, known: BindingRow | None) -> bool:
    """Whether a binding was used or touched although it did not route any more (B1). Ending ones may be touched."""
    if known is None:
        return False
    if isinstance(event.body, bindings.BindingTouched):
        return known.status is BindingStatus.ENDED
    return _named(event.body) == known.id and known.standing(event.seq, event.at) is not Standing.ACTIVE


def _changed(known: BindingRow | None, event: Event) -> BindingRow | None:
    """A binding after an event; none if the event does not change it."""
    body, changes = event.body, dict[str, Any]()
    match body:
        case bindings.BindingBound():
            changes = {name: getattr(body, name) for name in _RECORDED} | {"since": known.since if known else event.seq}
            known = _found(event, body)
        case bindings.BindingEnding():
            known = known or _found(event, body)
            changes = {"status": BindingStatus.ENDING, "under_way": body.under_way, "ending_at": event.at}
            changes |= {"reason": body.reason}
        case bindings.BindingEnded():
            known = known or _found(event, body)
            changes = {"status": BindingStatus.ENDED, "ended_at": event.at, "ended_by": body.by or ""}
            changes |= {"reason": body.reason, "detail": body.detail}
        case bindings.BindingTouched() if known:
            changes = {"touches": known.touches + 1, "active_at": body.last_activity_at, "expires_at": body.expires_at}
        case bindings.BindingDegraded() if known:
            changes = {"degraded": body.reason}
        case bindings.IdentityFallback() if known:
            changes = {"as_bot": known.as_bot + 1}
        case _:
            pass
    return msgspec.structs.replace(known, **changes, last=event.seq) if known and changes else None


def _found(event: Event, body: bindings.BindingBound | bindings.BindingEnding | bindings.BindingEnded) -> BindingRow:
    """A binding that begins with an event; one of which only the end is recorded was made by an earlier run."""
    return BindingRow(
        id=event.binding or "",
        since=event.seq,
        conversation=body.conversation,
        session_key=body.session_key,
        bound_at=event.at,
        active_at=event.at,
        last=event.seq,
    )


def active(rows: Iterable[BindingRow], seq: int, now: float) -> int:
    """The number of bindings that route after event `seq`."""
    return sum(row.standing(seq, now) is Standing.ACTIVE for row in rows)
