"""Places that the configuration lists: a channel, or a conversation of it."""

import functools

import msgspec

from trunkline.core.channels import Hints, rules_for
from trunkline.core.errors import TargetError
from trunkline.core.values import ChatKind


class ListedPlace(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An entry such as ``slack`` or ``slack:channel:C1``."""

    channel: str
    #: kind and id of the conversation; none: every conversation of the channel
    conversation: tuple[ChatKind, str] | None = None


@functools.lru_cache(maxsize=256)
def listed_place(entry: str) -> ListedPlace:
    """Read an entry. Raises `TargetError`."""
    channel, _, text = (part.strip() for part in entry.partition(":"))
    if not channel:
        raise TargetError(f"{entry!r}: expected a platform, or a platform and a target such as slack:channel:C1")
    if not text:
        return ListedPlace(channel=channel.lower())
    found = rules_for(channel.lower()).read(text, Hints())
    return ListedPlace(channel=channel.lower(), conversation=(found.kind, found.id))
