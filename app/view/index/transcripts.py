"""The transcripts of a run: every entry of every session, under the last key that the session had."""

from collections.abc import Iterable, Sequence
from heapq import merge
from typing import Any

import msgspec

from trunkline.app.view.index.growing import KeyFrames
from trunkline.app.view.index.places import PlaceKey, Places
from trunkline.core.action_catalogue import Action
from trunkline.core.events import Event, actions, delivery, gateway
from trunkline.core.values import Address
from trunkline.sim.events import wire, world
from trunkline.sim.events.actions import WireActed
from trunkline.sim.index.projection import EventFeed, Projection

# The sessions of a run after any of its events: their keys, generations, conversations and entry counts.

# The keys of sessions over time. A session that moves gets another key, and stays the same session.
#
# What was recorded of a session is found under the last key that it had. Keys are resolved for a moment, because the
# key that a session left may be given to another one later.


class SessionMoves(Projection):
    def __init__(self) -> None:
        #: seq, key before, key since
        self._moves: list[tuple[int, str, str]] = []

    def on_moved(self, event: Event, body: gateway.SessionMoved) -> None:
        self._moves.append((event.seq, body.old_key, body.session_key))

    def last_key(self, key: str, seq: int) -> str:
        """The last key of the session that had `key` after event `seq`."""
        for at, old, new in self._moves:
            if at > seq and old == key:
                key = new
        return key

    def key_at(self, last: str, seq: int) -> str:
        """The key that a session had after event `seq`, by the last key that it has."""
        for at, old, new in reversed(self._moves):
            if at > seq and new == last:
                last = old
        return last


class SessionState(msgspec.Struct, frozen=True, kw_only=True):
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

    def on_stored(self, event: Event, body: world.WorldSession) -> None:
        found = SessionState(key=body.session_key, id=body.session_id, since=event.seq, last=event.at)
        self._set(event, found, generation=1, address=body.address)

    def on_created(self, event: Event, body: gateway.SessionCreated) -> None:
        known, made = self._known(event, body.session_key, body.session_id), body.session_id
        self._set(event, known, id=made, agent=body.agent, generation=body.generation, address=body.address)

    def on_reset(self, event: Event, body: gateway.SessionReset) -> None:
        known = self._known(event, body.session_key, body.session_id)
        counts: dict[str, Any] = {"heard": 0, "said": 0, "last": event.at, "before": (*known.before, body.before)}
        self._set(event, known, id=body.session_id, generation=body.generation, **counts)

    def on_moved(self, event: Event, body: gateway.SessionMoved) -> None:
        known = self._now.get(body.old_key) or self._known(event, body.session_key, body.session_id)
        self._set(event, known, body.old_key, key=body.session_key, id=body.session_id)

    def on_prepared(self, event: Event, _body: delivery.IntentPrepared) -> None:
        self._partial.pop(event.intent or "", None)

    def on_heard(self, event: Event, body: gateway.TranscriptAppended) -> None:
        known = self._known(event, body.session_key, body.session_id)
        if body.session_id not in known.before:
            self._set(event, known, heard=known.heard + 1, last=event.at)

    def on_mirrored(self, event: Event, body: delivery.MirrorAppended) -> None:
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


# The messages that people can see, place by place: posted by people, or accepted from the gateway.

#: actions that change what people read, and whether they take it away
CHANGES_TEXT = {Action.EDIT: False, Action.DELETE: True, Action.UNSEND: True}


def changed_text(text: str, *, deleted: bool) -> str:
    """How a changed message is shown, to people and in transcripts alike."""
    return "(deleted)" if deleted else f"(edited) {text}"


class VisibleMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message in a place. `who` is empty for the gateway's own."""

    seq: int
    at: float
    place: PlaceKey
    who: str
    text: str
    message_id: str
    intent: str | None = None
    chunk: int = 0
    #: names of the files that came with it
    media: tuple[str, ...] = ()


class VisibleMessages(Projection):
    """Messages by place, and what people posted by message id."""

    def __init__(self, places: Places) -> None:
        self._places = places
        #: whether platforms record events too: the trace of a real gateway has only its own
        self.witnessed = False
        self._seen: dict[PlaceKey, list[VisibleMessage]] = {}
        self._posted: dict[tuple[str, str], Event] = {}

    def of(self, place: PlaceKey) -> Sequence[VisibleMessage]:
        """Everything that people ever saw in a place, in order."""
        return self._seen.get(place, ())

    def places(self) -> Iterable[PlaceKey]:
        return self._seen.keys()

    def posted(self, channel: str, message_id: str) -> Event | None:
        """The event in which a person posted a message, by its id."""
        return self._posted.get((channel, message_id))

    def on_world(self, _event: Event, _body: world.WorldAccount | world.WorldPlace) -> None:
        self.witnessed = True

    def on_said(self, event: Event, body: world.PeerSaid) -> None:
        self.witnessed = True
        self._posted.setdefault((body.address.channel, body.message_id), event)
        who = self._places.person(body.address.channel, body.peer.id, body.peer.name)
        self._show(event, body.address, body.words, body.message_id, who=who)

    def on_accepted(self, event: Event, body: wire.WireAccepted) -> None:
        self.witnessed = True
        self._show(event, body.address, body.text, body.provider_id, chunk=body.chunk, media=body.media)

    def on_changed(self, event: Event, body: WireActed | wire.WireEdited | wire.WireDeleted) -> None:
        deleted = CHANGES_TEXT.get(body.action) if isinstance(body, WireActed) else isinstance(body, wire.WireDeleted)
        if deleted is not None and not body.repeated:
            text = changed_text("" if isinstance(body, wire.WireDeleted) else body.text, deleted=deleted)
            chunk = body.chunk if isinstance(body, WireActed) else 0
            self._show(event, body.address, text, body.message_id or "", chunk=chunk)

    def _show(self, event: Event, address: Address, text: str, message_id: str, who: str = "", **more: Any) -> None:
        place, intent = address.lane, event.intent
        seen = VisibleMessage(
            seq=event.seq, at=event.at, place=place, who=who, text=text, message_id=message_id, intent=intent, **more
        )
        self._seen.setdefault(place, []).append(seen)


class TranscriptEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry. `role` is ``user``, ``hand``, ``delivery`` or ``agent``, or ``reset`` at a new generation."""

    seq: int
    at: float
    role: str
    text: str
    #: the inbound that was heard, or the intent that was mirrored
    inbound: str | None = None
    intent: str | None = None
    #: written for a generation that a reset had already ended: ``gen1<2``
    earlier: str = ""


class Transcripts(Projection):
    def __init__(self, moves: SessionMoves) -> None:
        self._moves = moves
        self._entries: dict[str, list[TranscriptEntry]] = {}
        #: id of a session that a reset ended -> its generation
        self._ended: dict[str, int] = {}
        #: key -> its current generation
        self._generations: dict[str, int] = {}

    def of(self, session_key: str) -> Sequence[TranscriptEntry]:
        """Everything that a session's transcript ever held, in order; by the last key that the session had."""
        return self._entries.get(session_key, ())

    def on_appended(self, event: Event, body: gateway.TranscriptAppended | delivery.MirrorAppended) -> None:
        earlier = self._earlier(body.session_id, body.session_key)
        if isinstance(body, gateway.TranscriptAppended):
            self._write(event, body.session_key, body.role, body.text, inbound=event.inbound, earlier=earlier)
        else:
            self._write(event, body.session_key, "agent", body.text, intent=event.intent, earlier=earlier)

    def on_changed(self, event: Event, body: actions.TranscriptChanged) -> None:
        """An edit or a deletion of an earlier entry: an entry of its own, since both texts were there."""
        if body.line == event.intent:
            return  # the message itself was lost, and nobody changed it: its note says so
        text = changed_text(body.text, deleted=body.deleted)
        earlier = self._earlier(body.session_id, body.session_key)
        role = "user" if event.intent is None else "agent"
        self._write(event, body.session_key, role, text, intent=event.intent, inbound=event.inbound, earlier=earlier)

    def _earlier(self, session: str, key: str) -> str:
        known = self._ended.get(session)
        return "" if known is None else f"gen{known}<{self._generations.get(key, known + 1)}"

    def on_reset(self, event: Event, body: gateway.SessionReset) -> None:
        self._ended[body.before] = body.generation - 1
        self._generations[body.session_key] = body.generation
        self._write(event, body.session_key, "reset", f"generation {body.generation}")

    def on_moved(self, event: Event, body: gateway.SessionMoved) -> None:
        if body.old_key != body.session_key and (entries := self._entries.pop(body.old_key, None)):
            there = self._entries.get(body.session_key, [])
            self._entries[body.session_key] = list(merge(there, entries, key=lambda entry: entry.seq))

    def _write(self, event: Event, key: str, role: str, text: str, **more: Any) -> None:
        entry = TranscriptEntry(seq=event.seq, at=event.at, role=role, text=text, **more)
        self._entries.setdefault(self._moves.last_key(key, entry.seq), []).append(entry)
