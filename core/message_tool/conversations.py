"""Whether two places are one conversation, and whether the configuration lists a place."""

from __future__ import annotations

import functools

import msgspec

from trunkline.core.channels import Hints, rules_for
from trunkline.core.errors import TargetError
from trunkline.core.values import Address, ChatKind


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


def is_listed(place: Address, entry: str) -> bool:
    """Whether an entry names a place; a thread belongs to the conversation that it is in."""
    listed = listed_place(entry)
    if listed.channel != place.channel:
        return False
    if listed.conversation is None:
        return True
    return not conversation_ids(place).isdisjoint(_ids(place.channel, *listed.conversation))


def same_conversation(one: Address, other: Address) -> bool:
    """Whether two places belong to one conversation of one account: a thread belongs to the one that it is in."""
    if (one.channel, one.account) != (other.channel, other.account):
        return False
    return not conversation_ids(one).isdisjoint(conversation_ids(other))


def conversation_ids(place: Address) -> frozenset[tuple[bool, str]]:
    """A conversation and the one that it is in, as its channel compares them: whether it is direct, and its id.

    Groups and channels are one kind here: not every target says which of the two it is.
    """
    own = _ids(place.channel, place.kind, place.conversation)
    return own if place.parent is None else own | _ids(place.channel, place.kind, place.parent)


def _ids(channel: str, kind: ChatKind, id: str) -> frozenset[tuple[bool, str]]:  # noqa: A002 -- the word
    return frozenset([(kind is ChatKind.DIRECT, rules_for(channel).fold(kind, id))])
