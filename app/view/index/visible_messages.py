"""The messages that people can see, place by place: posted by people, or accepted from the gateway."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from trunkline.app.view.index.places import PlaceKey, Places
from trunkline.core.action_names import Action
from trunkline.core.events import Event
from trunkline.core.values import Address
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
        who = self._places.person(body.address.channel, body.peer.id, body.peer.name)
        self._show(event, body.address, body.text, body.message_id, who=who)

    @on(WireAccepted)
    def _accepted(self, event: Event, body: WireAccepted) -> None:
        self.witnessed = True
        self._show(event, body.address, body.text, body.provider_id, chunk=body.chunk, media=body.media)

    @on(WireActed, WireEdited, WireDeleted)
    def _changed(self, event: Event, body: WireActed | WireEdited | WireDeleted) -> None:
        deleted = CHANGES_TEXT.get(body.action) if isinstance(body, WireActed) else isinstance(body, WireDeleted)
        if deleted is not None and not body.repeated:
            text = changed_text("" if isinstance(body, WireDeleted) else body.text, deleted=deleted)
            chunk = body.chunk if isinstance(body, WireActed) else 0
            self._show(event, body.address, text, body.message_id or "", chunk=chunk)

    def _show(self, event: Event, address: Address, text: str, message_id: str, who: str = "", **more: Any) -> None:
        place, intent = address.lane, event.intent
        seen = VisibleMessage(
            seq=event.seq, at=event.at, place=place, who=who, text=text, message_id=message_id, intent=intent, **more
        )
        self._seen.setdefault(place, []).append(seen)
