"""Which message an action means."""

from typing import Any

import pytest

from tests.support.factories import direct, group, room
from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionPart
from trunkline.core.errors import InvalidAction
from trunkline.core.message_tool.conversations import account_place, is_conversation, server_place
from trunkline.core.message_tool.references import (
    MessageReference,
    decide_reference,
    message_meant,
    needs_receipts,
    same_place,
)
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import NO_MESSAGE_ID, KnownMessage, OwnMessage
from trunkline.core.values import Address, ChatKind, InboundId, IntentId, IntentState, Receipt

HERE = room()
ELSEWHERE = room("501")
ONE = IntentId("m1.send1")


def receipts(*ids: str, at: Address = HERE) -> tuple[Receipt, ...]:
    return tuple(Receipt(provider_id=one, address=at) for one in ids)


def ours(*ids: str, at: Address = HERE, **fields: Any) -> KnownMessage:
    """A message of ours in `HERE`: delivered, with these ids."""
    defaults: dict[str, Any] = {"state": IntentState.DELIVERED, "chunks": len(ids), "receipts": receipts(*ids, at=at)}
    return KnownMessage(ours=OwnMessage(intent=ONE, agent="main", address=HERE, **{**defaults, **fields}))


SIGNAL_GROUP = Address(channel="signal", account="default", kind=ChatKind.GROUP, conversation="q=")
SIGNAL_PERSON = Address(channel="signal", account="default", kind=ChatKind.DIRECT, conversation="+15551")


@for_each(
    ("name", "place", "found", "author", "words"),
    [
        ("m1", SIGNAL_PERSON, KnownMessage(), None, "time in milliseconds"),
        ("17x", SIGNAL_GROUP, KnownMessage(), "+15551", "time in milliseconds"),
        ("1700000000000", SIGNAL_GROUP, KnownMessage(), None, "targetAuthor"),
        ("1700000000000", SIGNAL_GROUP, KnownMessage(), "+15551", ""),
        ("1700000000000:+15551", SIGNAL_GROUP, KnownMessage(), None, ""),
        ("1700000000000", SIGNAL_GROUP, KnownMessage(inbound=InboundId("m7")), None, ""),
        ("1700000000000", SIGNAL_PERSON, KnownMessage(), None, ""),
    ],
)
def test_a_reaction_on_signal_that_would_fail_is_refused_before_it_is_queued(
    name: str, place: Address, found: KnownMessage, author: str | None, words: str
) -> None:
    if not words:
        assert decide_reference(Action.REACT, name, place, found, author=author).message_id == name
        return
    with pytest.raises(InvalidAction, match=words) as caught:
        decide_reference(Action.REACT, name, place, found, author=author)
    assert caught.value.reason is Reason.UNKNOWN_MESSAGE


PERSON = KnownMessage(inbound=InboundId("m7"))
NOBODY = KnownMessage()
QUEUED = ours(state=IntentState.PREPARED, chunks=1)
#: action, what is known of the message, and the message that is meant
MEANT: list[Any] = [
    (Action.EDIT, ours("11"), {"message_id": "11", "of": ONE}),
    (Action.EDIT, ours("11", chunk=0), {"message_id": "11", "of": ONE}),
    (Action.EDIT, QUEUED, {"of": ONE}),
    (Action.UNSEND, ours("11"), {"message_id": "11", "of": ONE}),
    (Action.DELETE, QUEUED, {"of": ONE}),
    # Any id of a message in three parts means all of it; a reaction is to the part that was named.
    (Action.DELETE, ours("11", "12", "13", chunk=1), {"of": ONE, "chunks": 3}),
    (Action.DELETE, ours(state=IntentState.PREPARED, chunks=3), {"of": ONE, "chunks": 3}),
    (Action.DELETE, ours("11", state=IntentState.PARTIAL, chunks=3), {"message_id": "11", "of": ONE}),
    (Action.REACT, ours("11", "12", "13", chunk=1), {"message_id": "12", "of": ONE}),
    (Action.PIN, ours("11", "12", "13"), {"message_id": "11", "of": ONE}),
    (Action.PIN, QUEUED, {"of": ONE}),
    (Action.REACT, PERSON, {"message_id": "x"}),
    (Action.PIN, PERSON, {"message_id": "x"}),
    (Action.REACT, NOBODY, {"message_id": "x"}),
    (Action.POLL_VOTE, NOBODY, {"message_id": "x"}),
]


@for_each(("action", "found", "meant"), MEANT)
def test_the_message_that_is_meant_is_found(action: Action, found: KnownMessage, meant: dict[str, Any]) -> None:
    assert decide_reference(action, "x", HERE, found) == MessageReference(address=HERE, **meant)


REFUSED: list[Any] = [
    *[(action, PERSON, Reason.NOT_OWN_MESSAGE) for action in (Action.EDIT, Action.UNSEND, Action.DELETE)],
    *[(action, NOBODY, Reason.UNKNOWN_MESSAGE) for action in (Action.EDIT, Action.UNSEND, Action.DELETE)],
    *[(action, ours("11", change=True), Reason.UNKNOWN_MESSAGE) for action in (Action.EDIT, Action.PIN)],
    (Action.EDIT, ours("11", "12"), Reason.BAD_ACTION),
    (Action.EDIT, ours(state=IntentState.PREPARED, chunks=2), Reason.BAD_ACTION),
    (Action.EDIT, ours(state=IntentState.FAILED, chunks=1), Reason.NOTHING_TO_CHANGE),
    (Action.DELETE, ours(state=IntentState.UNKNOWN, chunks=1), Reason.NOTHING_TO_CHANGE),
    (Action.PIN, ours(state=IntentState.CANCELLED, chunks=0), Reason.NOTHING_TO_CHANGE),
    # An operator's word is a receipt, but it names no message.
    (Action.EDIT, ours(NO_MESSAGE_ID), Reason.NOTHING_TO_CHANGE),
    (Action.EDIT, ours(" "), Reason.NOTHING_TO_CHANGE),
    (Action.DELETE, ours("11", at=ELSEWHERE, state=IntentState.MISPLACED), Reason.OTHER_CONVERSATION),
]


@for_each(("action", "found", "reason"), REFUSED)
def test_what_is_refused(action: Action, found: KnownMessage, reason: Reason) -> None:
    with pytest.raises(InvalidAction) as caught:
        decide_reference(action, "x", HERE, found)
    assert caught.value.reason is reason
    assert caught.value.facts.startswith(f"{action}: message 'x'") or "'x'" in caught.value.facts


def test_a_moderator_may_delete_what_others_wrote_and_edits_nothing_of_it() -> None:
    assert decide_reference(Action.DELETE, "x", HERE, PERSON, moderates=True).message_id == "x"
    with pytest.raises(InvalidAction):
        decide_reference(Action.EDIT, "x", HERE, PERSON, moderates=True)
    with pytest.raises(InvalidAction):
        decide_reference(Action.UNSEND, "x", HERE, PERSON, moderates=True)


def test_an_agent_changes_its_own_messages_only_and_may_react_to_those_of_others() -> None:
    found = ours("11")
    for action in (Action.EDIT, Action.UNSEND, Action.DELETE):
        assert decide_reference(action, "x", HERE, found, agent="main").of == ONE
        with pytest.raises(InvalidAction, match="agent main sent message 'x'") as caught:
            decide_reference(action, "x", HERE, found, agent="other")
        assert caught.value.reason is Reason.NOT_OWN_MESSAGE
    assert decide_reference(Action.REACT, "x", HERE, found, agent="other").message_id == "11"
    assert decide_reference(Action.DELETE, "x", HERE, found, agent="other", moderates=True).message_id == "11"


def test_a_message_that_arrived_elsewhere_is_changed_where_it_is() -> None:
    astray = ours("11", at=ELSEWHERE, state=IntentState.MISPLACED)
    assert decide_reference(Action.DELETE, "x", ELSEWHERE, astray).address == ELSEWHERE


def test_an_id_that_is_ours_elsewhere_may_be_a_persons_here() -> None:
    found = ours("11", chunk=0)
    assert decide_reference(Action.REACT, "11", ELSEWHERE, found) == MessageReference(
        address=ELSEWHERE, message_id="11"
    )
    for action, known in ((Action.EDIT, found), (Action.REACT, ours("11"))):
        with pytest.raises(InvalidAction) as caught:
            decide_reference(action, "11", ELSEWHERE, known)
        assert caught.value.reason is Reason.OTHER_CONVERSATION


SAME: list[Any] = [
    (HERE, HERE, True),
    (room("ABC"), room("abc"), True),
    (direct("U1", channel="slack"), direct("u1", channel="slack"), True),
    (direct("Ana", channel="signal"), direct("Ben", channel="signal"), False),
    (group(), group(thread="7"), False),
    (room(), room(account="other"), False),
    (direct("500"), room("500"), True),
    (room("500", channel="matrix"), room("500", channel="telegram"), False),
]


@for_each(("one", "other", "same"), SAME)
def test_one_conversation_or_two(one: Address, other: Address, same: bool) -> None:
    assert same_place(one, other) is same


# ---------------------------------------------------------------- at the moment of the request


def part(action: Action, message_id: str | None = None) -> ActionPart:
    return ActionPart(action=action, of=ONE, message_id=message_id)


@for_each(
    ("what", "chunks", "needed"),
    [
        (part(Action.EDIT), 1, True),
        (part(Action.EDIT, "11"), 1, False),
        (part(Action.DELETE, "11"), 1, False),
        (part(Action.DELETE), 3, True),
        (ActionPart(action=Action.REACT, message_id="p1"), 1, False),
        (ActionPart(action=Action.KICK), 1, False),
    ],
)
def test_receipts_are_read_only_where_the_id_is_in_them(what: ActionPart, chunks: int, needed: bool) -> None:
    assert needs_receipts(what, chunks) is needed


@for_each(
    ("action", "chunk", "has", "meant"),
    [
        (Action.EDIT, 0, receipts("11"), "11"),
        (Action.DELETE, 0, receipts("11", "12"), "11"),
        (Action.UNSEND, 1, receipts("11", "12"), "12"),
        (Action.PIN, 0, receipts("11", "12"), "11"),
        (Action.EDIT, 0, (), Reason.NOTHING_TO_CHANGE),
        (Action.DELETE, 1, receipts("11"), Reason.NOTHING_TO_CHANGE),
        (Action.EDIT, 0, receipts(NO_MESSAGE_ID), Reason.NOTHING_TO_CHANGE),
        (Action.EDIT, 0, receipts("11", at=ELSEWHERE), Reason.OTHER_CONVERSATION),
    ],
)
def test_the_id_for_a_request(action: Action, chunk: int, has: tuple[Receipt, ...], meant: str | Reason) -> None:
    found = message_meant(part(action), chunk, HERE, has)
    assert (found.reason or found.message_id) == meant


# ---------------------------------------------------------------- places without a conversation


def test_a_server_and_an_account_have_lanes_of_their_own() -> None:
    server, account = server_place("discord", "default", " g1 "), account_place("discord", "default")
    assert server_place("discord", "default", "") == server_place("discord", "default", None) == account
    assert [is_conversation(one) for one in (server, account, HERE)] == [False, False, True]
    assert len({server.lane, account.lane, HERE.lane, server_place("discord", "default", "g2").lane}) == 4
