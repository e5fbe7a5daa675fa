"""Webhooks of a platform, through which the gateway can post under other names.

Rules taken from Discord: a webhook belongs to one room and posts in its threads too, under any name. Its messages have
no nonce, so the platform cannot recognise a repeat. A deleted webhook is gone permanently, and its successor has
another id. An account may lose the permission to use the webhooks of a room.
"""

from collections import Counter

from trunkline.core.errors import IdentityGone, Refused
from trunkline.core.values import Address, ChatKind, Identity
from trunkline.sim.events.world import WebhookGone
from trunkline.sim.platforms.rooms import RoomsHost


class Webhooks:
    def __init__(self, platform: RoomsHost) -> None:
        self._platform = platform
        #: (account, conversation of the room) -> id and name of its webhook
        self._here: dict[tuple[str, str], tuple[str, str]] = {}
        self._made: Counter[tuple[str, str]] = Counter()
        #: rooms in which an account may not use webhooks
        self._forbidden: set[tuple[str, str]] = set()

    def found(self, place: Address) -> str | None:
        return self._here.get(self._where(place) or ("", ""), (None,))[0]

    def listed(self, place: Address) -> list[tuple[str, str, str]]:
        """Account, id and name of all webhooks in the room of a place. Raises `Refused` without permission."""
        where = self._where(place)
        if where in self._forbidden:
            raise Refused("missing permissions: webhooks")
        return [(owner, *known) for (owner, room), known in self._here.items() if where and room == where[1]]

    def create(self, place: Address, name: str) -> str:
        """Create a webhook in the room of a place; returns its id. Raises `Refused` if not possible."""
        where, room = self._where(place), self._platform.room_above(place)
        if where is None or room is None or place.account not in room.accounts:
            raise Refused("no such conversation")
        if room.kind is ChatKind.DIRECT:
            raise Refused("there are no webhooks in a direct conversation")
        if where in self._forbidden:
            raise Refused("missing permissions: webhooks")
        self._made[where] += 1
        count = self._made[where]
        more = () if count == 1 else (str(count),)
        found = self._platform.new_id("webhook", place.account, room.name, *more)
        self._here[where] = found, name
        return found

    def check(self, identity: Identity, place: Address) -> None:
        """Raise `IdentityGone` unless this webhook can post at a place."""
        where = self._where(place)
        if where in self._forbidden:
            raise IdentityGone(f"the account may not use {identity}")
        if self.found(place) != identity.id:
            raise IdentityGone(f"there is no {identity}")

    def end(self, place: Address, how: str, cause: int | None) -> bool:
        """Delete the webhook in the room of a place, or forbid webhooks there; `how` is ``deleted`` or ``forbidden``.

        Returns false if nothing changed.
        """
        where = self._where(place)
        if where is None:
            return False
        known = self.found(place)
        if how == "forbidden":
            if where in self._forbidden:
                return False
            self._forbidden.add(where)
        elif known is None:
            return False
        else:
            del self._here[where]
        body = WebhookGone(channel=self._platform.channel, webhook=known or "", how=how)
        self._platform.events.record(body, cause)
        return True

    def _where(self, place: Address) -> tuple[str, str] | None:
        room = self._platform.room_above(place)
        return None if room is None else (place.account, room.conversation)
