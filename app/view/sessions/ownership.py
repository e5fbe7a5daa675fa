"""Which session a visible message belongs to, where a conversation had several.

A conversation may get another session (`session.left`), and several agents may answer in one. A message belongs to the
session that received it, an answer to the session of its turn unless the conversation has left that, and anything else
to the session that the conversation had at that time. While a conversation is bound, it belongs to the bound session,
no matter who posts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.app.view.index.visible_messages import VisibleMessage
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import RouteDecided, SessionLeft, TurnStarted
from trunkline.core.values import Address, IntentKind


class Ownership:
    """Assigns visible messages to sessions. A session goes by the last key that it had."""

    def __init__(
        self, view: RunView, places: Mapping[str, Collection[PlaceKey]], heard: Mapping[int, Collection[str]]
    ) -> None:
        """`places`: the conversations of each session. `heard`: the sessions that received a posted message."""
        self._view = view
        self._places = places
        self._heard = heard
        self._left: dict[PlaceKey, list[tuple[int, str, str]]] = {}
        #: sessions that a conversation has left
        self.deserted: set[str] = set()
        sessions = view.sessions.at(view.last)
        #: the conversation that a session was created for
        self._own = {key: facts.address for key, facts in sessions.items() if facts.address is not None}
        #: for a place with a session of its own, the sessions that own it only while it is bound to them
        self._guests = self._find_guests()
        for event in view.left:
            assert isinstance(event.body, SessionLeft)
            self.deserted.add(view.session_moves.last_key(event.body.old_key, event.seq))
            self._learn(event, event.body)

    def _find_guests(self) -> dict[PlaceKey, set[str]]:
        homes, found = self._view.session_moves, dict[PlaceKey, set[str]]()
        for row in self._view.bindings.rows(self._view.last):
            place, key = row.conversation.lane, homes.last_key(row.session_key, row.since)
            address = self._own.get(key)
            if address is None or address.lane != place:
                found.setdefault(place, set()).add(key)
        hosted = {place for key, places in self._places.items() for place in places if key not in found.get(place, ())}
        return {place: keys for place, keys in found.items() if place in hosted}

    def _bound_to(self, place: PlaceKey, seq: int) -> str | None:
        """The session that a conversation is bound to after event `seq`, including a binding that is ending."""
        row = self._view.bindings.held(place, seq)
        return self._view.session_moves.last_key(row.session_key, row.since) if row else None

    def _learn(self, event: Event, body: SessionLeft) -> None:
        homes = self._view.session_moves
        old, new = homes.last_key(body.old_key, event.seq), homes.last_key(body.session_key, event.seq)
        both = [place for place in self._places.get(old, ()) if place in self._places.get(new, ())]
        own = self._conversation(event)
        for place in [own] if own in both else both:
            self._left.setdefault(place, []).append((event.seq, old, new))

    def _conversation(self, event: Event) -> PlaceKey | None:
        """The conversation whose message or answer caused it to leave the session."""
        near = self._view.nearest(event.seq, RouteDecided, IntentPrepared)
        address = getattr(near.body, "reply_to", None) or getattr(near.body, "address", None) if near else None
        return address.lane if isinstance(address, Address) else None

    def holds(self, key: str, one: VisibleMessage) -> bool:
        """Whether a visible message belongs to a session."""
        held = [other for other in self._holders(one) if one.place in self._places.get(other, ())]
        return key in held if held else self.has(key, one.place, one.seq)

    def has(self, key: str, place: PlaceKey, seq: int) -> bool:
        """Whether a conversation belongs to a session after event `seq`."""
        bound = self._bound_to(place, seq)
        if bound is not None:
            return bound == key
        if key in self._guests.get(place, ()):
            return False
        left = self._left.get(place, [])
        if not any(key in (old, new) for _, old, new in left):
            return True
        holder = left[0][1]
        for at, _, new in left:
            holder = new if at <= seq else holder
        return holder == key

    def _holders(self, one: VisibleMessage) -> Collection[str]:
        if one.who:
            return self._heard.get(one.seq, ())
        for prepared in self._view.of_intent(one.intent, IntentPrepared):
            assert isinstance(prepared.body, IntentPrepared)
            if prepared.body.intent_kind is IntentKind.NOTICE:
                # A notice answers no turn, so it belongs to the session of the conversation.
                return [key for key, address in self._own.items() if address.lane == one.place]
            key = self._answering(self._view.nearest(prepared.seq, TurnStarted), one.place)
            if key is not None and not self._has_left(key, one):
                return (key,)
            row = self._view.bindings.row(prepared.binding, prepared.seq)
            if row is not None and row.conversation.lane == one.place:
                return (self._view.session_moves.last_key(row.session_key, row.since),)
        return ()

    def _has_left(self, key: str, one: VisibleMessage) -> bool:
        """Whether the conversation of a message had left a session by then: it is remembered where people are."""
        return any(old == key and at <= one.seq for at, old, _ in self._left.get(one.place, ()))

    def _answering(self, turn: Event | None, place: PlaceKey) -> str | None:
        """The session of a turn that answers in its own conversation."""
        body = turn.body if turn is not None else None
        if turn is None or not isinstance(body, TurnStarted) or body.origin is None or body.origin.lane != place:
            return None
        return self._view.session_moves.last_key(body.session_key, turn.seq)
