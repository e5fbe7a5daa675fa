"""Decides which message an action means. Pure: the store says what is known of the message that was named.

An agent names a message by the platform's id, or by the intent that sends it, which may still be queued. For a message
of ours either name means the whole message, however many chunks it has.
"""

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionPart
from trunkline.core.channels import rules_for
from trunkline.core.channels.registry import is_misplaced
from trunkline.core.delivery.line_changes import place_of
from trunkline.core.errors import InvalidAction
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import NO_MESSAGE_ID, REMOVES, KnownMessage, OwnMessage
from trunkline.core.states.intent import is_final
from trunkline.core.values import Address, Identity, IntentId, Receipt

_OF_OWN = frozenset({Action.EDIT, *REMOVES})


class MessageReference(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    #: the conversation of the message, as its intent has it
    address: Address
    #: the platform's id; none: it is not known yet
    message_id: str | None = None
    #: the intent that sends it; none: it is not ours
    of: IntentId | None = None
    #: number of requests that the action needs
    chunks: int = 1
    identity: Identity | None = None


def decide_reference(
    action: Action,
    name: str,
    place: Address,
    found: KnownMessage,
    *,
    agent: str | None = None,
    moderates: bool = False,
    author: str | None = None,
) -> MessageReference:
    """The message that an action means. Raises `InvalidAction`.

    Any message may be answered, pinned and reacted to. Only own messages are edited and deleted, and others are deleted
    where the account `moderates` the conversation. `place`: the conversation that the action names. `agent`: the agent
    that asks, whose own messages are those that it sent; none: those of every agent are. `author`: who wrote the
    message, as the agent says.
    """
    ours, any_author = found.ours, moderates and action is Action.DELETE
    if ours is not None and action in _OF_OWN and not (any_author or ours.change or agent in (None, ours.agent)):
        raise InvalidAction(
            f"{action}: agent {ours.agent} sent message {name!r}; only own messages can be changed",
            Reason.NOT_OWN_MESSAGE,
        )
    # Many platforms number the messages of each conversation: an id that is ours elsewhere may be a person's here.
    if ours is not None and (action in _OF_OWN or ours.chunk is None or same_place(place, place_of(ours))):
        return _ours(action, name, place, ours)
    if action in _OF_OWN and not any_author:
        if found.inbound is not None:
            raise InvalidAction(
                f"{action}: somebody else wrote message {name!r}; only own messages can be changed",
                Reason.NOT_OWN_MESSAGE,
            )
        raise InvalidAction(
            f"{action}: no own message {name!r} is known in {place}; use the messageId that its send returned",
            Reason.UNKNOWN_MESSAGE,
        )
    known = bool(author) or found.inbound is not None
    wrong = rules_for(place.channel).unusable_reference(action, place, name, author=known)
    if wrong is not None:
        raise InvalidAction(f"{action}: message {name!r}: {wrong}", Reason.UNKNOWN_MESSAGE)
    return MessageReference(address=place, message_id=name)


def _ours(action: Action, name: str, place: Address, sent: OwnMessage) -> MessageReference:
    if sent.change:
        raise InvalidAction(f"{action}: {name!r} is a change, and no message", Reason.UNKNOWN_MESSAGE)
    where = place_of(sent)
    if not same_place(place, where):
        raise InvalidAction(
            f"{action}: message {name!r} is in {where}, and not in {place}; name that place, or none",
            Reason.OTHER_CONVERSATION,
        )
    ids = [one.provider_id for one in sent.receipts if named(one)]
    if is_final(sent.state) and not ids:
        raise InvalidAction(
            f"{action}: message {name!r} has ended as {sent.state.value}, and the platform gave no id for it",
            Reason.NOTHING_TO_CHANGE,
        )
    if action is Action.EDIT and sent.chunks > 1:
        raise InvalidAction(
            f"edit: message {name!r} is {sent.chunks} messages on the platform; delete it and send it again",
            Reason.BAD_ACTION,
        )
    identity = sent.identity if action in _OF_OWN else None
    if action in REMOVES:
        chunks = len(sent.receipts) if is_final(sent.state) else sent.chunks
        known = ids[0] if chunks == 1 and ids else None
        return MessageReference(
            address=where, message_id=known, of=sent.intent, chunks=max(chunks, 1), identity=identity
        )
    chunk = sent.chunk or 0
    known = _id(sent.receipts, chunk)
    return MessageReference(address=where, message_id=known, of=sent.intent, identity=identity)


def same_place(one: Address, other: Address) -> bool:
    """Whether two addresses are one conversation or one thread, whatever the case of ids that ignore it."""
    if one.lane == other.lane:
        return True
    fold = rules_for(one.channel).fold
    apart = (one.channel, one.account, one.thread or "") != (other.channel, other.account, other.thread or "")
    return not apart and fold(one.kind, one.conversation) == fold(other.kind, other.conversation)


def named(receipt: Receipt) -> bool:
    return bool(receipt.provider_id.strip()) and receipt.provider_id != NO_MESSAGE_ID


def _id(receipts: tuple[Receipt, ...], chunk: int) -> str | None:
    return receipts[chunk].provider_id if chunk < len(receipts) and named(receipts[chunk]) else None


class MeantMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message for one request of a change, or why there is none."""

    message_id: str | None = None
    reason: Reason | None = None
    detail: str = ""


def needs_receipts(part: ActionPart, chunks: int) -> bool:
    """Whether the id of the message is in the receipts of the intent that sends it."""
    return part.of is not None and (part.message_id is None or chunks > 1)


def message_meant(part: ActionPart, chunk: int, address: Address, receipts: tuple[Receipt, ...]) -> MeantMessage:
    """The message that a request of a change concerns, by the `receipts` of the intent that sends it.

    An id counts within the conversation of its message only: in another one it may name another message.
    """
    at = chunk if part.action in REMOVES else 0
    known = _id(receipts, at)
    if known is None:
        detail = f"{part.of} has no message number {at + 1} with an id"
        return MeantMessage(reason=Reason.NOTHING_TO_CHANGE, detail=detail)
    if is_misplaced(address, receipts[at]):
        detail = f"{part.of} is at {receipts[at].address}, and not at {address}"
        return MeantMessage(reason=Reason.OTHER_CONVERSATION, detail=detail)
    return MeantMessage(message_id=known)
