"""The server of a platform: members and their roles, objects, presences, groups."""

from dataclasses import dataclass, field
from typing import Any

from trunkline.core.values import Peer


@dataclass(slots=True)
class Member:
    """A person on the platform, as far as the gateway changed something about them."""

    peer: Peer
    #: roles that the gateway gave or took away; others are the scenario's
    given: set[str] = field(default_factory=set[str])
    taken: set[str] = field(default_factory=set[str])
    #: ``kicked`` or ``banned``
    out: str | None = None
    #: may not post in rooms until then
    timeout: float = 0.0


class Server:
    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        #: kind, such as ``category`` or ``emoji`` -> id -> its fields
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        #: account -> the presence that it shows
        self.presences: dict[str, dict[str, Any]] = {}
        self.profiles: dict[str, dict[str, Any]] = {}
        #: conversation -> the settings of a room or group that the gateway changed
        self.rooms: dict[str, dict[str, Any]] = {}

    def meet(self, peer: Peer) -> None:
        self.members.setdefault(peer.id, Member(peer))

    def roles(self, person: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        """The roles of a person now; `usual`: those of the scenario."""
        member = self.members.get(person)
        if member is None or not (member.given or member.taken):
            return usual
        kept = tuple(role for role in usual if role not in member.taken)
        return (*kept, *sorted(member.given - set(kept)))

    def may_post(self, person: str, now: float) -> str | None:
        """Why a person may not post in a room; None if they may."""
        member = self.members.get(person)
        if member is None:
            return None
        return member.out or ("timed out" if now < member.timeout else None)

    def objects_of(self, kind: str) -> dict[str, dict[str, Any]]:
        return self.objects.setdefault(kind, {})

    def settings(self, conversation: str) -> dict[str, Any]:
        return self.rooms.setdefault(conversation, {})
