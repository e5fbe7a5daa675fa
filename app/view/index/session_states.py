"""The sessions of a run after any of its events: their keys, generations, conversations and entry counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.app.view.index.growing import KeyFrames
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import SessionCreated, SessionMoved, SessionReset, TranscriptAppended
from trunkline.core.values import Address
from trunkline.sim.events.world import WorldSession
from trunkline.sim.index.projection import EventFeed, Projection, on


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
    """A session: its conversation and how much was said in it."""

    key: str
    id: str
    agent: str = ""
    generation: int = 0
    #: ids of its earlier generations
    before: tuple[str, ...] = ()
    address: Address | None = None
    #: seq of the first event that mentions it
    since: int
    #: entries of this generation that the agent was given: messages and results of hands
    heard: int = 0
    #: entries of this generation that mirror what a platform accepted
    said: int = 0
    last: float = 0.0


#: the key that a session had before, if it moved; and the session from then on
_Change = tuple[str | None, SessionState]


class SessionStates(Projection):
    """Sessions by key, after any event. Events are folded when a moment beyond them is asked for."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        self._done = 0
        self._feed = EventFeed(self)
        self._frames = KeyFrames[str, SessionState, _Change](_apply)
        self._now: dict[str, SessionState] = {}
        #: intent -> id of the session whose transcript holds only a part of it
        self._partial: dict[str, str] = {}

    def at(self, seq: int) -> dict[str, SessionState]:
        """The sessions after event `seq`, by key. Treat it as read-only."""
        for event in self._events[self._done :]:
            self._feed.deliver(event)
        self._done = len(self._events)
        return self._frames.at(seq)

    def _set(self, event: Event, known: SessionState, old_key: str | None = None, **fields: Any) -> None:
        change = (old_key, msgspec.structs.replace(known, **fields))
        self._frames.add((event.seq, change))
        _apply(self._now, change)

    def _known(self, event: Event, key: str, session: str) -> SessionState:
        """A session by its key; an unknown one was made by an earlier run."""
        return self._now.get(key) or SessionState(key=key, id=session, since=event.seq, last=event.at)

    @on(WorldSession)
    def _stored(self, event: Event, body: WorldSession) -> None:
        found = SessionState(key=body.session_key, id=body.session_id, since=event.seq, last=event.at)
        self._set(event, found, generation=1, address=body.address)

    @on(SessionCreated)
    def _created(self, event: Event, body: SessionCreated) -> None:
        known, made = self._known(event, body.session_key, body.session_id), body.session_id
        self._set(event, known, id=made, agent=body.agent, generation=body.generation, address=body.address)

    @on(SessionReset)
    def _reset(self, event: Event, body: SessionReset) -> None:
        known = self._known(event, body.session_key, body.session_id)
        counts: dict[str, Any] = {"heard": 0, "said": 0, "last": event.at, "before": (*known.before, body.before)}
        self._set(event, known, id=body.session_id, generation=body.generation, **counts)

    @on(SessionMoved)
    def _moved(self, event: Event, body: SessionMoved) -> None:
        known = self._now.get(body.old_key) or self._known(event, body.session_key, body.session_id)
        self._set(event, known, body.old_key, key=body.session_key, id=body.session_id)

    @on(IntentPrepared)
    def _prepared(self, event: Event, _body: IntentPrepared) -> None:
        self._partial.pop(event.intent or "", None)

    @on(TranscriptAppended)
    def _heard(self, event: Event, body: TranscriptAppended) -> None:
        known = self._known(event, body.session_key, body.session_id)
        if body.session_id not in known.before:
            self._set(event, known, heard=known.heard + 1, last=event.at)

    @on(MirrorAppended)
    def _mirrored(self, event: Event, body: MirrorAppended) -> None:
        intent = event.intent or ""
        known = self._known(event, body.session_key, body.session_id)
        if body.session_id in known.before:
            return
        # A whole line replaces the one that held only a part.
        replaces = self._partial.pop(intent, None) == body.session_id
        if body.partial and intent:
            self._partial[intent] = body.session_id
        if not replaces:
            self._set(event, known, said=known.said + 1, last=event.at)


def _apply(now: dict[str, SessionState], change: _Change) -> None:
    old_key, session = change
    if old_key is not None:
        # A session that moves keeps its place in the order.
        now.pop(session.key, None)
        others = [(session.key if key == old_key else key, other) for key, other in now.items()]
        now.clear()
        now.update(others)
    now[session.key] = session
