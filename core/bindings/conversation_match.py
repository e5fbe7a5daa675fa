"""Conversations compared: the two ways to name one, and whether two names are the same place (seed 002).

A binding is owned by the full reference: channel, account, conversation and thread, folded as the channel folds. Ids of
threads alone mean nothing: they are unique only within a channel (museum B133).
"""

from __future__ import annotations

from trunkline.core.bindings.records import ConversationRef
from trunkline.core.channels import ChannelRules, Hints, rules_for
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, KIND_WORDS
from trunkline.core.errors import TargetError
from trunkline.core.values import Address, ChatKind

_TOPIC = ":topic:"


#: channel, account, conversation, thread: as they are compared
PlaceId = tuple[str, str, str, str]


def place_id(place: Address) -> PlaceId:
    """What makes a conversation itself: equal for every way to write it. Its kind and its parent are no part of it."""
    fold, kind = rules_for(place.channel).fold, place.kind
    thread = "" if place.thread is None else fold(kind, place.thread)
    return place.channel, place.account.lower(), fold(kind, place.conversation), thread


def same_place(one: Address, other: Address) -> bool:
    """Whether two addresses are one conversation. The kind of the first counts for both: the other's may be guessed."""
    return place_id(one) == place_id(_as(one, other))


def hangs_under(place: Address, room: Address) -> bool:
    """Whether a place is a thread or topic directly in a conversation."""
    if room.thread is not None or place.channel != room.channel or place.account.lower() != room.account.lower():
        return False
    above = place.parent if place.thread is None else place.conversation
    fold = rules_for(place.channel).fold
    return above is not None and fold(place.kind, above) == fold(place.kind, room.conversation)


def _as(like: Address, place: Address) -> Address:
    return Address(
        channel=place.channel,
        account=place.account,
        kind=like.kind,
        conversation=place.conversation,
        thread=place.thread,
    )


def ref_of(place: Address) -> ConversationRef:
    """A place as seed 002 names it."""
    tail = "" if place.thread is None else f"{_TOPIC}{place.thread}"
    return ConversationRef(
        channel=place.channel,
        account_id=place.account,
        conversation_id=f"{place.conversation}{tail}",
        parent_conversation_id=place.parent if place.thread is None else place.conversation,
    )


def place_of(ref: ConversationRef) -> Address:
    """The place that a reference names, whatever prefix its ids carry (museum B130).

    Raises `TargetError` where channel or conversation is missing. Where the id does not tell what kind of conversation
    it is, it is taken for a channel.
    """
    channel = ref.channel.strip().lower()
    text = ref.conversation_id.strip()
    if not channel or not text:
        raise TargetError(f"a conversation needs a channel and an id, not {ref.channel!r} and {ref.conversation_id!r}")
    rules = rules_for(channel)
    kind, conversation, thread = _read(rules, text)
    parent = _read(rules, above)[1] if (above := (ref.parent_conversation_id or "").strip()) else None
    if parent is not None and parent != conversation and thread is None and not rules.thread_is_conversation:
        # There a thread is part of its room, and the reference names the two apart.
        conversation, thread = (parent, conversation) if rules.has_threads else (conversation, None)
    return Address(
        channel=channel,
        account=ref.account_id.strip() or DEFAULT_ACCOUNT,
        kind=kind,
        conversation=conversation,
        thread=thread,
        parent=parent if rules.thread_is_conversation and parent != conversation else None,
    )


def _read(rules: ChannelRules, text: str) -> tuple[ChatKind, str, str | None]:
    """Kind, conversation and thread of an id as the channel reads its targets, else without the usual prefixes."""
    try:
        target = rules.read(text, Hints())
    except TargetError:
        word, bare = rules.kind_word(rules.strip(text, repeat=True))
        base, topic, thread = bare.rpartition(_TOPIC)
        kind = KIND_WORDS.get(word, ChatKind.CHANNEL)
        return (kind, base, thread) if base and topic and thread else (kind, bare or text, None)
    if target.thread is None and (parts := target.id.rpartition(_TOPIC))[0] and parts[2]:
        return target.kind, parts[0], parts[2]
    return target.kind, target.id, target.thread
