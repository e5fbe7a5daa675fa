"""The directory of a fake platform: the channels and people that an account may look up by name."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.core.channels import DirectoryEntry
from trunkline.core.values import ChatKind
from trunkline.sim.platforms.base import FakePlatform


def entries_of(platform: FakePlatform, account: str) -> Iterator[DirectoryEntry]:
    """The channels that an account is in, and the people that it has a direct conversation with."""
    if not platform.has_directory:
        return
    for room in platform.rooms:
        away = account not in room.accounts or account in room.left or room.closed is not None
        if away or room.thread is not None or room.parent is not None:
            continue
        direct = room.kind is ChatKind.DIRECT
        member = platform.server.members.get(room.conversation) if direct else None
        word = "user" if direct else room.kind.value
        yield DirectoryEntry(
            target=f"{word}:{room.conversation}",
            kind=room.kind,
            name=room.title or room.name if member is None else member.peer.name,
            handle=room.name,
        )
