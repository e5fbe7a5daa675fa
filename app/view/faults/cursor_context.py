"""Where a fault is placed: the time of the cursor, and the conversation and message under it.

Places have the names of the scenario file, so that a step can use them.
"""

from __future__ import annotations

import msgspec

from trunkline.app.view.index.places import PlaceKey
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import InboundReceived
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.values import Address
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, WorldPlace
from trunkline.sim.run.fault_board import where
from trunkline.sim.scenario import PlaceError, PlaceRef, ScenarioFile

#: resolution of the clock, seconds
GRAIN = 1e-6


class CursorContext(msgspec.Struct, frozen=True, kw_only=True):
    """Place and time of the cursor. `place` is the scenario's name of the conversation; none: not in a conversation."""

    at: float
    seq: int
    place: str | None = None
    ref: PlaceRef | None = None
    address: Address | None = None
    #: id and text of the `say` step under the cursor
    said: str | None = None
    text: str = ""
    #: the gateway has posted there under another identity, so it has a webhook
    webhook: bool = False

    @property
    def early(self) -> bool:
        """Whether a fault can be placed before the instant of the cursor, to be active when that begins."""
        return bool(self.seq) and self.at > GRAIN


def cursor_context(view: RunView, file: ScenarioFile, seq: int) -> CursorContext:
    """The context of a cursor; 0 is before the first event."""
    if not seq:
        return CursorContext(at=0.0, seq=0)
    event = view.event(seq)
    address = address_of(view, event)
    place, ref = place_names(view, file).get(address.lane, (None, None)) if address else (None, None)
    posted = view.posted(seq)
    said = posted.inbound if posted and posted.inbound in _said_before(file, event.at) else None
    text = posted.body.text if said and posted and isinstance(posted.body, PeerSaid) else ""
    return CursorContext(
        at=event.at,
        seq=seq,
        place=place,
        ref=ref,
        address=address,
        said=said,
        text=text,
        webhook=address is not None and _has_webhook(view, address, seq),
    )


def address_of(view: RunView, event: Event) -> Address | None:
    """The conversation of an event: its own, else that of its message, its delegation or its causes."""
    near = (
        event,
        *view.of_intent(event.intent, IntentPrepared),
        *view.of_inbound(event.inbound, InboundReceived, PeerSaid),
        *view.of_delegation(event.delegation, DelegationAccepted),
        *(view.event(seq) for seq in reversed(view.causes.path(event.seq))),
    )
    return next((place for one in near if (place := _where(one)) is not None), None)


def _where(event: Event) -> Address | None:
    origin = getattr(event.body, "origin", None)
    return where(event.body) or (origin if isinstance(origin, Address) else None)


def place_names(view: RunView, file: ScenarioFile) -> dict[PlaceKey, tuple[str, PlaceRef]]:
    """The places of a run that the scenario can name, each with its shortest name."""
    found: dict[PlaceKey, tuple[str, PlaceRef]] = {}
    for event in view.events:
        body = event.body
        if isinstance(body, WorldPlace) and body.address.lane not in found:
            named = name_of(file, body.address, body.name)
            if named is not None:
                found[body.address.lane] = named
    return found


def name_of(file: ScenarioFile, address: Address, tail: str) -> tuple[str, PlaceRef] | None:
    """The shortest unambiguous name of a place in a file; none if the file cannot name it."""
    for text in (tail, f"{address.channel}/{tail}", f"{address.channel}:{address.account}/{tail}"):
        try:
            ref = file.resolve(text)
        except PlaceError:
            continue
        if (ref.platform, ref.account, ref.tail) == (address.channel, address.account, tail):
            return text, ref
    return None


def _said_before(file: ScenarioFile, at: float) -> set[str]:
    """Ids of the `say` steps up to a time."""
    times = [time for step, time in zip(file.scenario.script, file.times, strict=True) if step.say is not None]
    return {name for name, time in zip(file.say_ids, times, strict=True) if time <= at}


def _has_webhook(view: RunView, address: Address, seq: int) -> bool:
    bodies = (event.body for event in view.events[:seq])
    posted = (body for body in bodies if isinstance(body, WireAccepted) and body.identity is not None)
    return any(_room(body.address) == _room(address) for body in posted)


def _room(address: Address) -> tuple[str, str, str]:
    return address.channel, address.account, address.parent or address.conversation
