"""Events of people beside writing: reactions, votes, edits, deletions. A press is a `peer.said`."""

from __future__ import annotations

from typing import ClassVar

from trunkline.core.values import Address, Peer
from trunkline.sim.events.base import PlatformBody


class PeerReacted(PlatformBody, frozen=True, kw_only=True):
    """A person reacted to a message, or took a reaction away. The gateway does not hear of it."""

    kind: ClassVar[str] = "peer.reacted"
    address: Address
    peer: Peer
    message_id: str
    emoji: str
    removed: bool = False
    #: it was so already
    repeated: bool = False


class PeerVoted(PlatformBody, frozen=True, kw_only=True):
    """A person voted in a poll. The gateway does not hear of it; it may ask for the results."""

    kind: ClassVar[str] = "peer.voted"
    address: Address
    peer: Peer
    message_id: str
    #: the chosen options; empty: the vote was withdrawn
    options: tuple[str, ...]
    #: what was chosen before
    before: tuple[str, ...] = ()
    #: it was so already
    repeated: bool = False


class PeerEdited(PlatformBody, frozen=True, kw_only=True):
    """A person edited a message of theirs. The gateway does not hear of it, and keeps what was written first."""

    kind: ClassVar[str] = "peer.edited"
    address: Address
    peer: Peer
    message_id: str
    text: str
    before: str


class PeerDeleted(PlatformBody, frozen=True, kw_only=True):
    """A person deleted a message of theirs. The gateway does not hear of it, and keeps what was written."""

    kind: ClassVar[str] = "peer.deleted"
    address: Address
    peer: Peer
    message_id: str
    before: str
