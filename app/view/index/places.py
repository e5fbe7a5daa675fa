"""The places of a run by their names, with threads and topics directly after their parent."""

from collections.abc import Iterable

import msgspec

from trunkline.app.text.cells import clean, quoted
from trunkline.core.events import Body, Event, gateway
from trunkline.core.events.bindings import BindingBound
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.values import Address, ChatKind, Peer
from trunkline.sim.events import wire, world
from trunkline.sim.index.projection import EventFeed, Projection, on

#: channel, account, conversation, thread
PlaceKey = tuple[str, str, str, str]

#: joins the names of a parent and its thread
UNDER = "/"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation, thread or topic. Its name can be drawn."""

    key: PlaceKey
    address: Address
    name: str
    parent: PlaceKey | None = None

    @property
    def channel(self) -> str:
        return self.address.channel


class Places(Projection):
    """All places of a trace. An address without an announced name is shown by its id."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._by_key: dict[PlaceKey, Place] = {}
        self._people: dict[tuple[str, str], str] = {}
        self._bots: dict[tuple[str, str], Peer] = {}
        #: accounts of each platform
        self._accounts: dict[str, set[str]] = {}
        #: incremented with every new place and every new name
        self.version = 0
        self._ordered: tuple[int, list[Place]] = (0, [])
        feed = EventFeed(self)
        for event in events:
            feed.deliver(event)

    def on_named(self, event: Event, body: world.WorldPlace | world.ThreadOpened) -> None:
        self._add(body.address, body.name, body.under if isinstance(body, world.WorldPlace) else None)

    def on_account(self, _event: Event, body: world.WorldAccount) -> None:
        self._bots[body.channel, body.account] = body.bot

    def bot(self, address: Address) -> Peer | None:
        """The bot of the account of a place, where the trace names it."""
        return self._bots.get((address.channel, address.account))

    def on_person(self, event: Event, body: world.WorldPerson) -> None:
        self._people[body.channel, body.peer.id] = body.peer.name or body.peer.id

    @on(world.PeerSaid, wire.WireAccepted, IntentPrepared, gateway.SessionCreated, world.WorldSession, BindingBound)
    def _used(self, _event: Event, body: Body) -> None:
        address: Address | None = getattr(body, "conversation" if isinstance(body, BindingBound) else "address")
        if address is not None and address.lane not in self._by_key:
            self._add(address, "", None)

    def _add(self, address: Address, name: str, under: str | None) -> None:
        key = address.lane
        known = self._by_key.get(key)
        if known is not None and not (name and known.name == _own_name(known.address)):
            return
        self.version += 1
        self._accounts.setdefault(address.channel, set()).add(address.account)
        self._by_key[key] = Place(
            key=key,
            address=address,
            name=clean(name.removeprefix(f"{under}{UNDER}")) or _own_name(address),
            parent=self._parent(address, under),
        )

    def _parent(self, address: Address, under: str | None) -> PlaceKey | None:
        if address.thread:
            return (address.channel, address.account, address.conversation, "")
        if address.parent:
            return (address.channel, address.account, address.parent, "")
        if under is None:
            return None
        same = (p.key for p in self._by_key.values() if p.name == clean(under) and p.channel == address.channel)
        return next(same, None)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def of(self, address: Address) -> Place:
        """The place at an address, known or not."""
        known = self._by_key.get(address.lane)
        return known or Place(key=address.lane, address=address, name=_own_name(address))

    def at(self, key: PlaceKey) -> Place:
        return self._by_key[key]

    def person(self, channel: str, peer_id: str, name: str = "") -> str:
        """The name of a person, else the id."""
        return clean(name or self._people.get((channel, peer_id), peer_id))

    def label(self, address: Address | None) -> str:
        """The label of a place, as in invariants: ``discord/ops/deploy``."""
        if address is None:
            return "nowhere"
        place = self.of(address)
        return f"{place.channel}/{self.short(place)}"

    def full(self, address: Address) -> str:
        """The label with its account, if the platform has several: ``telegram:work/@bo``."""
        place = self.of(address)
        account = f":{address.account}" if self.several(place.channel) else ""
        return f"{place.channel}{account}/{self.short(place)}"

    def several(self, channel: str) -> bool:
        """Whether a platform has more than one account in this run."""
        return len(self._accounts.get(channel, ())) > 1

    def target(self, text: str) -> str:
        """The label of a target: that of the known place that it spells out, else the text itself."""
        known = next((place.address for place in self._by_key.values() if str(place.address) == text), None)
        return self.label(known) if known else quoted(text)

    def short(self, place: Place) -> str:
        """The label of a place without its platform."""
        parent = self._by_key.get(place.parent) if place.parent else None
        return f"{parent.name}{UNDER}{place.name}" if parent else place.name

    def in_order(self) -> list[Place]:
        """Every place: by platform and account as first met, threads directly after their parent."""
        if self._ordered[0] != self.version:
            groups: dict[tuple[str, str], list[Place]] = {}
            for place in self._by_key.values():
                groups.setdefault(place.key[:2], []).append(place)
            self._ordered = self.version, [place for group in groups.values() for place in _families(group)]
        return self._ordered[1]


def _families(group: list[Place]) -> Iterable[Place]:
    keys = {place.key for place in group}
    children: dict[PlaceKey, list[Place]] = {}
    for place in group:
        if place.parent in keys:
            children.setdefault(place.parent, []).append(place)
    for place in group:
        if place.parent not in keys:
            yield place
            yield from children.get(place.key, ())


def _own_name(address: Address) -> str:
    if address.thread:
        return clean(address.thread)
    return clean(f"@{address.conversation}" if address.kind is ChatKind.DIRECT else address.conversation)


#: separates a parent and its thread on screens
CHILD_OF = " ▸ "


def title(places: Places, address: Address) -> str:
    """A conversation as the Bindings screen shows it: ``#ops ▸ deploy``."""
    return places.short(places.of(address)).replace(UNDER, CHILD_OF)
