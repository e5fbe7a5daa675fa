"""Threads and topics of a platform: opened on messages, by sends, or for the gateway; archived, deleted, reopened.

This is state of the world; latency, tokens and faults of requests are in `sim.platforms.api.api_calls`.
"""

from collections import Counter

from trunkline.core.errors import PlaceGone, Refused, UnknownName
from trunkline.core.records.bindings import PlaceState
from trunkline.core.values import Address, ChatKind
from trunkline.sim.events.world import ThreadClosed, ThreadOpened, ThreadReopened
from trunkline.sim.platforms.rooms import Room, RoomsHost

_TITLE = 40


class Threads:
    def __init__(self, platform: RoomsHost) -> None:
        self._platform = platform
        #: messages that a thread can be opened on: owner and id of the conversation, message id
        self._roots: set[tuple[str, str, str]] = set()
        #: (conversation of the room, key) -> number of threads opened for it
        self._made: Counter[tuple[str, str]] = Counter()

    def note_root(self, room: Room, message_id: str) -> None:
        """Remember a posted message that a thread can be opened on: one that is not in a thread."""
        if room.thread is None:
            self._roots.add((room.owner, room.conversation, message_id))

    def on_message(self, place: Address, message_id: str, title: str) -> Room | None:
        """The thread on a message, opened if necessary; `place` is its room or the thread. None if not possible."""
        platform = self._platform
        parent = platform.room_above(place)
        if parent is None or not (platform.opens_threads or platform.opens_by_sending):
            return None
        name = platform.people.said_as(parent.conversation, message_id) or message_id
        thread = platform.thread_room(parent, f"{parent.name}/{name}", message_id)
        known = platform.room_at(thread.address(place.account))
        return known if known is not None else self._open(thread, parent, place.account, title, message_id)

    def by_sending(self, place: Address, title: str) -> Room | None:
        """The thread that a send opens by naming a message as its thread; None if it opens none."""
        parent, root = self._platform.room_above(place), place.thread
        if not self._platform.opens_by_sending or parent is None or root is None:
            return None
        known = (parent.owner, parent.conversation, root) in self._roots
        return self.on_message(place, root, title) if known else None

    def child(self, place: Address, title: str, key: str) -> Room:
        """Open a new thread in the room of a place, named after its key; never reuses one. Raises `Refused`."""
        platform = self._platform
        parent = platform.room_above(place)
        if parent is None or place.account not in parent.accounts:
            raise Refused("no such conversation")
        if parent.kind is ChatKind.DIRECT or not platform.has_threads:
            raise Refused("there are no threads here")
        self._made[parent.conversation, key] += 1
        count = self._made[parent.conversation, key]
        name = key if count == 1 else f"{key}+{count}"
        thread_id, more = platform.new_id("thread", parent.name, name), 0
        while platform.room_at(platform.thread_room(parent, "", thread_id).address(place.account)) is not None:
            more += 1
            thread_id = platform.new_id("thread", parent.name, name, str(more))
        thread = platform.thread_room(parent, f"{parent.name}/{name}", thread_id)
        return self._open(thread, parent, place.account, title, None)

    def _open(self, thread: Room, parent: Room, account: str, title: str, on_message: str | None) -> Room:
        thread.title = title
        self._platform.add_room(thread, under=parent.name)
        body = ThreadOpened(address=thread.address(account), name=title[:_TITLE], on_message=on_message)
        self._platform.events.record(body)
        return thread

    def state(self, place: Address) -> PlaceState:
        room = self._platform.room_at(place)
        if room is None or place.account not in room.accounts or room.closed == "deleted":
            return PlaceState.GONE
        return PlaceState.OPEN if room.closed is None else PlaceState.ARCHIVED

    def close(self, room: Room, how: str, cause: int | None, *, locked: bool = False) -> None:
        """Archive or delete a thread, which then takes no messages. Only operators can reopen a `locked` one."""
        room.closed, room.locked = how, locked
        self._platform.events.record(ThreadClosed(address=room.address(room.accounts[0]), how=how), cause)

    def reopen(self, room: Room, cause: int | None = None, *, account: str | None = None) -> None:
        """Reopen an archived thread. Raises `UnknownName` if it is not archived."""
        if room.closed != "archived":
            raise UnknownName(f"{room.name} is {room.closed or 'open'}, not archived")
        room.closed, room.locked = None, False
        self._platform.events.record(ThreadReopened(address=room.address(account or room.accounts[0])), cause)
        for own in room.accounts:
            self._platform.pushes.reopened(room.address(own))

    def unarchive(self, place: Address) -> None:
        """Reopen a thread for the gateway; an open one stays open. Raises `Refused` if it is locked."""
        room = self._platform.room_at(place)
        if room is None or place.account not in room.accounts or room.closed == "deleted":
            raise PlaceGone("no such thread")
        if room.locked:
            raise Refused(f"{room.name} is archived and locked")
        if room.closed is not None:
            self.reopen(room, account=place.account)

    def reopen_for_post(self, room: Room, cause: int | None) -> None:
        """Reopen an archived thread because a person posts. Raises `UnknownName` if it is deleted or locked."""
        if room.closed == "deleted" or room.locked:
            raise UnknownName(f"{room.name} takes no messages: it is {room.closed}{' and locked' * room.locked}")
        if room.closed is not None:
            self.reopen(room, cause)
