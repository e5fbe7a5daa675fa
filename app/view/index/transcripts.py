"""The transcripts of a run: every entry of every session, under the last key that the session had."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import merge
from typing import Any

import msgspec

from trunkline.app.view.index.session_moves import SessionMoves
from trunkline.app.view.index.visible_messages import changed_text
from trunkline.core.events import Event
from trunkline.core.events.actions import TranscriptChanged
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.events.gateway import SessionMoved, SessionReset, TranscriptAppended
from trunkline.sim.index.projection import Projection, on


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
    """Entries by session key."""

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

    @on(TranscriptAppended, MirrorAppended)
    def _appended(self, event: Event, body: TranscriptAppended | MirrorAppended) -> None:
        earlier = self._earlier(body.session_id, body.session_key)
        if isinstance(body, TranscriptAppended):
            self._write(event, body.session_key, body.role, body.text, inbound=event.inbound, earlier=earlier)
        else:
            self._write(event, body.session_key, "agent", body.text, intent=event.intent, earlier=earlier)

    @on(TranscriptChanged)
    def _changed(self, event: Event, body: TranscriptChanged) -> None:
        """An edit or a deletion of an earlier entry: an entry of its own, since both texts were there."""
        text = changed_text(body.text, deleted=body.deleted)
        earlier = self._earlier(body.session_id, body.session_key)
        self._write(event, body.session_key, "agent", text, intent=event.intent, earlier=earlier)

    def _earlier(self, session: str, key: str) -> str:
        known = self._ended.get(session)
        return "" if known is None else f"gen{known}<{self._generations.get(key, known + 1)}"

    @on(SessionReset)
    def _reset(self, event: Event, body: SessionReset) -> None:
        self._ended[body.before] = body.generation - 1
        self._generations[body.session_key] = body.generation
        self._write(event, body.session_key, "reset", f"generation {body.generation}")

    @on(SessionMoved)
    def _moved(self, event: Event, body: SessionMoved) -> None:
        if body.old_key != body.session_key and (entries := self._entries.pop(body.old_key, None)):
            there = self._entries.get(body.session_key, [])
            self._entries[body.session_key] = list(merge(there, entries, key=lambda entry: entry.seq))

    def _write(self, event: Event, key: str, role: str, text: str, **more: Any) -> None:
        entry = TranscriptEntry(seq=event.seq, at=event.at, role=role, text=text, **more)
        self._entries.setdefault(self._moves.last_key(key, entry.seq), []).append(entry)
