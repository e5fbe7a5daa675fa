"""Which session a thing that people saw belongs to, where a conversation had several.

A conversation may get another session (`session.left`), and several agents may answer in one. A message belongs to the
session that heard it, an answer to the session whose turn gave it. What was said outside of such turns belongs to the
session that the conversation had by then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from app.view.places import PlaceKey
from app.view.story import RunView, Seen
from core.events import Event
from core.events import bodies as b
from core.values import Address


class Holders:
    """Asked by `app.view.sessions`; keys are the last ones that sessions had."""

    def __init__(
        self, view: RunView, places: Mapping[str, Collection[PlaceKey]], heard: Mapping[int, Collection[str]]
    ) -> None:
        """`places`: the conversations of each session. `heard`: the sessions that were given a posted message."""
        self._view = view
        self._places = places
        self._heard = heard
        self._left: dict[PlaceKey, list[tuple[int, str, str]]] = {}
        #: sessions that some conversation has left
        self.deserted: set[str] = set()
        for event in view.events:
            if isinstance(event.body, b.SessionLeft):
                self.deserted.add(view.homes.last_key(event.body.old_key, event.seq))
                self._learn(event, event.body)

    def _learn(self, event: Event, body: b.SessionLeft) -> None:
        homes = self._view.homes
        old, new = homes.last_key(body.old_key, event.seq), homes.last_key(body.session_key, event.seq)
        both = [place for place in self._places.get(old, ()) if place in self._places.get(new, ())]
        own = self._conversation(event)
        for place in [own] if own in both else both:
            self._left.setdefault(place, []).append((event.seq, old, new))

    def _conversation(self, event: Event) -> PlaceKey | None:
        """The conversation whose message or answer had the session left."""
        near = self._view.nearest(event.seq, b.RouteDecided, b.IntentPrepared)
        address = getattr(near.body, "reply_to", None) or getattr(near.body, "address", None) if near else None
        return address.lane if isinstance(address, Address) else None

    def holds(self, key: str, one: Seen) -> bool:
        """Whether a session is one that something in its conversation belongs to."""
        held = [other for other in self._holders(one) if one.place in self._places.get(other, ())]
        return key in held if held else self.has(key, one.place, one.seq)

    def has(self, key: str, place: PlaceKey, seq: int) -> bool:
        """Whether a conversation of a session is still, or already, its own after event `seq`."""
        left = self._left.get(place, [])
        if not any(key in (old, new) for _, old, new in left):
            return True
        holder = left[0][1]
        for at, _, new in left:
            holder = new if at <= seq else holder
        return holder == key

    def _holders(self, one: Seen) -> Collection[str]:
        if one.who:
            return self._heard.get(one.seq, ())
        prepared = self._view.of_intent(one.intent, b.IntentPrepared)
        turn = self._view.nearest(prepared[0].seq, b.TurnStarted) if prepared else None
        if turn is None or not isinstance(turn.body, b.TurnStarted) or turn.body.origin is None:
            return ()
        if turn.body.origin.lane != one.place:
            return ()
        return (self._view.homes.last_key(turn.body.session_key, turn.seq),)
