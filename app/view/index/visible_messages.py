"""The messages that people can see, place by place: posted by people, or accepted from the gateway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trunkline.app.view.index.places import PlaceKey, Places
from trunkline.core.action_names import Action
from trunkline.core.events import Event
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireAccepted, WireDeleted, WireEdited
from trunkline.sim.events.world import PeerSaid, WorldAccount, WorldPlace
from trunkline.sim.index.projection import Projection, on

#: actions that change what people read, and whether they take it away
CHANGES_TEXT = {Action.EDIT: False, Action.DELETE: True, Action.UNSEND: True}


def changed_text(text: str, *, deleted: bool) -> str:
    """How a changed message is shown, to people and in transcripts alike."""
    return "(deleted)" if deleted else f"(edited) {text}"


class VisibleMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message in a place. `who` is empty for the gateway's own."""

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
        """Places in which people saw anything."""
        return self._seen.keys()

    def posted(self, channel: str, message_id: str) -> Event | None:
        """The event in which a person posted a message, by its id."""
        return self._posted.get((channel, message_id))

    @on(WorldAccount, WorldPlace)
    def _world(self, _event: Event, _body: WorldAccount | WorldPlace) -> None:
        self.witnessed = True

    @on(PeerSaid)
    def _said(self, event: Event, body: PeerSaid) -> None:
        self.witnessed = True
        self._posted.setdefault((body.address.channel, body.message_id), event)
        seen = VisibleMessage(
            seq=event.seq,
            at=event.at,
            place=body.address.lane,
            who=self._places.person(body.address.channel, body.peer.id, body.peer.name),
            text=body.text,
            message_id=body.message_id,
            intent=event.intent,
        )
        self._seen.setdefault(seen.place, []).append(seen)

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        self.witnessed = True
        seen = VisibleMessage(
            seq=event.seq,
            at=event.at,
            place=body.address.lane,
            who="",
            text=body.text,
            message_id=body.provider_id,
            intent=event.intent,
            chunk=body.chunk,
            media=body.media,
        )
        self._seen.setdefault(seen.place, []).append(seen)

    @on(WireActed)
    def _acted(self, event: Event, body: WireActed) -> None:
        deleted = CHANGES_TEXT.get(body.action)
        if deleted is not None and not body.repeated:
            self._changed(event, body, changed_text(body.text, deleted=deleted), body.chunk)

    @on(WireEdited)
    def _edited(self, event: Event, body: WireEdited) -> None:
        if not body.repeated:
            self._changed(event, body, changed_text(body.text, deleted=False))

    @on(WireDeleted)
    def _deleted(self, event: Event, body: WireDeleted) -> None:
        if not body.repeated:
            self._changed(event, body, changed_text("", deleted=True))

    def _changed(self, event: Event, body: WireActed | WireEdited | WireDeleted, text: str, chunk: int = 0) -> None:
        seen = VisibleMessage(
            seq=event.seq,
            at=event.at,
            place=body.address.lane,
            who="",
            text=text,
            message_id=body.message_id or "",
            intent=event.intent,
            chunk=chunk,
        )
        self._seen.setdefault(seen.place, []).append(seen)
