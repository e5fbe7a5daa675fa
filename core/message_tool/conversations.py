"""Whether two places are one conversation, and whether the configuration lists a place."""

from __future__ import annotations

from trunkline.core.channels import rules_for
from trunkline.core.channels.listed_place import listed_place
from trunkline.core.values import Address, ChatKind


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
