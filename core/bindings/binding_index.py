"""The index of a running gateway's bindings: by conversation, by session and by deadline.

It holds the bindings that are durable and not ended. A look-up takes constant time. Finding expired bindings costs only
the expired ones: a touch does not move the heap entry; an entry that comes up too early is put back.
"""

import heapq
from collections.abc import Iterator

import msgspec

from trunkline.core.bindings.conversation_match import PlaceId, place_id, shared_id
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address, ChatKind


class BindingIndex:
    """An index of the active and ending bindings."""

    def __init__(self) -> None:
        self._by_id: dict[str, SessionBindingRecord] = {}
        self._by_place: dict[PlaceId, SessionBindingRecord] = {}
        #: the same bindings as `_by_place`, by the conversation that accounts share
        self._by_shared: dict[tuple[str, str, str], dict[str, SessionBindingRecord]] = {}
        self._by_session: dict[str, dict[str, None]] = {}
        #: heap with one entry per binding with a deadline: deadline when pushed, serial number, id
        self._due: list[tuple[float, int, str]] = []
        self._queued: set[str] = set()
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[SessionBindingRecord]:
        """All bindings, in the order of creation."""
        return iter(tuple(self._by_id.values()))

    def get(self, binding: str) -> SessionBindingRecord | None:
        return self._by_id.get(binding)

    def add(self, record: SessionBindingRecord) -> None:
        """Add or update a durable binding. An ended binding is removed."""
        if record.status is BindingStatus.ENDED:
            self.remove(record.binding_id)
            return
        if record.binding_id not in self._by_id:
            self._by_session.setdefault(record.target_session_key, {})[record.binding_id] = None
        self._by_id[record.binding_id] = record
        if record.status is BindingStatus.ACTIVE:
            self._enter(record)
        else:
            self._leave(record)
        self._queue(record)

    def move(self, before: str, after: str) -> None:
        """Rename a session's key; the bindings stay bound to the session."""
        for binding in tuple(self._by_session.pop(before, ())):
            record = msgspec.structs.replace(self._by_id[binding], target_session_key=after)
            self._by_id[binding] = record
            if record.status is BindingStatus.ACTIVE:
                self._enter(record)
            self._by_session.setdefault(after, {})[binding] = None

    def remove(self, binding: str) -> None:
        record = self._by_id.pop(binding, None)
        if record is None:
            return
        self._leave(record)
        others = self._by_session[record.target_session_key]
        del others[binding]
        if not others:
            del self._by_session[record.target_session_key]

    def _enter(self, record: SessionBindingRecord) -> None:
        place = record.conversation
        self._by_place[place_id(place)] = record
        self._by_shared.setdefault(shared_id(place), {})[place.account.lower()] = record

    def _leave(self, record: SessionBindingRecord) -> None:
        """Free the conversation of a binding, unless taken by another binding already."""
        place = place_id(record.conversation)
        here = self._by_place.get(place)
        if here is not None and here.binding_id == record.binding_id:
            del self._by_place[place]
            shared = shared_id(record.conversation)
            accounts = self._by_shared[shared]
            del accounts[record.conversation.account.lower()]
            if not accounts:
                del self._by_shared[shared]

    def at(self, address: Address) -> SessionBindingRecord | None:
        """The active binding of a conversation, perhaps with a passed deadline."""
        return self._by_place.get(place_id(address)) if self._by_place else None

    def of_other_accounts(self, address: Address) -> tuple[SessionBindingRecord, ...]:
        """The active bindings of a group or channel through other accounts; their deadlines may have passed."""
        if not self._by_shared or address.kind is ChatKind.DIRECT:
            return ()
        accounts = self._by_shared.get(shared_id(address), {})
        return tuple(record for account, record in accounts.items() if account != address.account.lower())

    def of_session(self, session_key: str) -> tuple[SessionBindingRecord, ...]:
        """The bindings of a session, in the order of creation."""
        return tuple(self._by_id[binding] for binding in self._by_session.get(session_key, ()))

    def _queue(self, record: SessionBindingRecord) -> None:
        ends = record.expires_at
        if record.status is not BindingStatus.ACTIVE or ends is None or record.binding_id in self._queued:
            return
        self._numbers += 1
        self._queued.add(record.binding_id)
        heapq.heappush(self._due, (ends, self._numbers, record.binding_id))

    def due(self, now: float) -> tuple[SessionBindingRecord, ...]:
        """Pop the expired bindings from the heap; they stay in the index until removed."""
        found: list[SessionBindingRecord] = []
        while self._due and self._due[0][0] <= now:
            _, _, binding = heapq.heappop(self._due)
            self._queued.discard(binding)
            record = self._by_id.get(binding)
            if record is None or record.status is not BindingStatus.ACTIVE:
                continue
            if record.expired(now):
                found.append(record)
            else:
                self._queue(record)
        return tuple(found)

    @property
    def next_due(self) -> float | None:
        """When to call `due` again; no binding expires earlier."""
        return self._due[0][0] if self._due else None
