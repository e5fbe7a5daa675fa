"""Compares conversations, and converts between the two ways to name one: `Address` and `ConversationRef`.

A binding belongs to the full reference: channel, account, conversation and thread, folded by the channel's rules.
Thread ids alone are not enough: they are unique only within a channel.
"""

from trunkline.core.channels import ChannelRules, Hints, rules_for
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, KIND_WORDS
from trunkline.core.errors import TargetError
from trunkline.core.records.bindings import TOPIC, ConversationRef
from trunkline.core.values import Address, ChatKind

#: channel, account, conversation and thread in the form to compare
PlaceId = tuple[str, str, str, str]


def place_id(place: Address) -> PlaceId:
    """The identity of a conversation: equal for all spellings, without kind and parent."""
    fold, kind = rules_for(place.channel).fold, place.kind
    thread = "" if place.thread is None else fold(kind, place.thread)
    return place.channel, place.account.lower(), fold(kind, place.conversation), thread


def shared_id(place: Address) -> tuple[str, str, str]:
    """The identity of a conversation for all accounts there. Only for groups and channels."""
    channel, _, conversation, thread = place_id(place)
    return channel, conversation, thread


def same_place(place: Address, other: Address) -> bool:
    """Whether two addresses are the same conversation, both with the kind of the first: the other's may be a guess."""
    return place_id(place) == place_id(_as(place, other))


def hangs_under(place: Address, room: Address) -> bool:
    """Whether a place is a thread or topic directly under a conversation."""
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


def place_of(ref: ConversationRef) -> Address:
    """The place named by a reference, with any prefix in the ids.

    Raises `TargetError` if channel or conversation is missing. If the id does not show the kind of conversation, the
    kind is channel.
    """
    channel = ref.channel.strip().lower()
    text = ref.conversation_id.strip()
    if not channel or not text:
        raise TargetError(f"a conversation needs a channel and an id, not {ref.channel!r} and {ref.conversation_id!r}")
    rules = rules_for(channel)
    kind, conversation, thread = _read(rules, text)
    parent = _read(rules, above)[1] if (above := (ref.parent_conversation_id or "").strip()) else None
    if parent is not None and parent != conversation and thread is None and not rules.thread_is_conversation:
        # On such platforms a thread is part of its room, but the reference names the two separately.
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
    """Kind, conversation and thread of an id, read as a target of the channel, else without the usual prefixes."""
    try:
        target = rules.read(text, Hints())
    except TargetError:
        word, bare = rules.kind_word(rules.strip(text, repeat=True))
        base, topic, thread = bare.rpartition(TOPIC)
        kind = KIND_WORDS.get(word, ChatKind.CHANNEL)
        return (kind, base, thread) if base and topic and thread else (kind, bare or text, None)
    if target.thread is None and (parts := target.id.rpartition(TOPIC))[0] and parts[2]:
        return target.kind, parts[0], parts[2]
    return target.kind, target.id, target.thread
