"""The parameters of calls to signal-cli, and what is remembered for them."""

from typing import Any

import pytest

from tools.doc_platforms import adapter_of
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.signal.adapter import (
    MessageAuthors,
    delete_params,
    edit_params,
    message_params,
    reaction_params,
    recipient,
)
from trunkline.core.errors import Refused
from trunkline.core.values import Address, ChatKind, IntentId, SendRequest, Style, StyleKind

TIME = 1_700_000_000_000


def place(conversation: str = "+15551234567", kind: ChatKind = ChatKind.DIRECT, **fields: Any) -> Address:
    return Address(channel="signal", account="default", kind=kind, conversation=conversation, **fields)


GROUP = place("q83vEg==", ChatKind.GROUP)


def asked(text: str = "hello", to: Address | None = None, **fields: Any) -> SendRequest:
    return SendRequest(address=to or place(), text=text, key="k", intent=IntentId("i"), chunk=0, attempt=1, **fields)


def change(action: Action, to: Address, message_id: str | None, text: str = "", **fields: Any) -> ActionRequest:
    return ActionRequest(
        action=action, address=to, key="k", intent=IntentId("i"), attempt=1, message_id=message_id, text=text, **fields
    )


@pytest.mark.parametrize(
    ("to", "params"),
    [
        (place(), {"recipient": ["+15551234567"]}),
        (place("uuid:0a1b"), {"recipient": ["0a1b"]}),
        (place("username:alice.01"), {"username": ["alice.01"]}),
        (GROUP, {"groupId": "q83vEg=="}),
    ],
)
def test_who_gets_it(to: Address, params: dict[str, Any]) -> None:
    assert recipient(to) == params


@pytest.mark.parametrize("to", [place("x", ChatKind.CHANNEL), place(thread="7")])
def test_a_place_that_signal_does_not_have_is_refused(to: Address) -> None:
    with pytest.raises(Refused):
        recipient(to)


def test_styles_are_ranges_in_utf_16() -> None:
    styles = (Style(kind=StyleKind.BOLD, start=0, length=2), Style(kind=StyleKind.MONOSPACE, start=3, length=1))
    params = message_params(asked("👍 x", styles=styles), (), MessageAuthors())
    assert params["textStyle"] == ["0:2:BOLD", "3:1:MONOSPACE"]


def test_a_quote_needs_an_author() -> None:
    authors = MessageAuthors()
    quoting = asked(reply_to=str(TIME), to=GROUP)
    assert "quoteTimestamp" not in message_params(quoting, (), authors)
    authors.note(GROUP.conversation, TIME, "+1", "what did you say? " * 50)
    params = message_params(quoting, (), authors)
    assert (params["quoteTimestamp"], params["quoteAuthor"], len(params["quoteMessage"])) == (TIME, "+1", 200)
    # Alone with somebody, a message that is not remembered is theirs.
    assert message_params(asked(reply_to=str(TIME)), (), authors)["quoteAuthor"] == "+15551234567"


def test_two_messages_of_the_same_millisecond_have_two_ids() -> None:
    authors = MessageAuthors()
    ids = [authors.note("g", TIME, author, author) for author in ("+1", "+2", "+1", "+2")]
    assert ids == [str(TIME), f"{TIME}:+2", str(TIME), f"{TIME}:+2"]
    there = place("g", ChatKind.GROUP)
    assert [authors.find(there, one)[:2] for one in ids[:2]] == [(TIME, "+1"), (TIME, "+2")]
    # The next process has forgotten it, and the id still says who wrote it.
    assert MessageAuthors().find(there, f"{TIME}:+2")[:2] == (TIME, "+2")


def test_what_is_remembered_is_bounded() -> None:
    authors = MessageAuthors()
    for number in range(5000):
        authors.note("g", TIME + number, "+1", "")
    there = place("g", ChatKind.GROUP)
    assert authors.find(there, str(TIME))[1] is None
    assert authors.find(there, str(TIME + 4999))[1] == "+1"


@pytest.mark.parametrize("message_id", ["", "wamid.1", "-1", "1" * 19, "1.5", "１"])
def test_what_is_no_time_is_no_id(message_id: str) -> None:
    with pytest.raises(Refused):
        MessageAuthors().find(GROUP, message_id)


def test_changes_name_the_time_of_their_message() -> None:
    authors = MessageAuthors()
    edit = edit_params(change(Action.EDIT, place(), str(TIME), "new"), authors, 2000)
    assert edit == {"recipient": ["+15551234567"], "message": "new", "editTimestamp": TIME}
    delete = delete_params(change(Action.DELETE, GROUP, str(TIME)), authors)
    assert delete == {"groupId": GROUP.conversation, "targetTimestamp": TIME}


def test_a_reaction_names_the_author() -> None:
    authors = MessageAuthors()
    react = change(Action.REACT, GROUP, str(TIME), "👍")
    with pytest.raises(Refused, match="targetAuthor"):
        reaction_params(react, authors, None)
    assert reaction_params(react, authors, "+7")["targetAuthor"] == "+7"
    authors.note(GROUP.conversation, TIME, "+1", "")
    assert reaction_params(change(Action.REACT, GROUP, str(TIME), "👍", remove=True), authors, None) == {
        "groupId": GROUP.conversation,
        "emoji": "👍",
        "targetAuthor": "+1",
        "targetTimestamp": TIME,
        "remove": True,
    }


@pytest.mark.parametrize(
    "bad",
    [
        lambda: edit_params(change(Action.EDIT, place(), str(TIME), " "), MessageAuthors(), 2000),
        lambda: edit_params(change(Action.EDIT, place(), str(TIME), "x" * 2001), MessageAuthors(), 2000),
        lambda: delete_params(change(Action.DELETE, place(), None), MessageAuthors()),
        lambda: reaction_params(change(Action.REACT, place(), str(TIME), " "), MessageAuthors(), None),
        lambda: message_params(asked(""), (), MessageAuthors()),
    ],
)
def test_a_change_that_cannot_be_is_refused(bad: Any) -> None:
    with pytest.raises(Refused):
        bad()


def test_a_text_that_would_become_a_file_is_refused() -> None:
    adapter: Any = adapter_of("signal")
    adapter.check_sendable(asked("x" * 2000))
    with pytest.raises(Refused):
        adapter.check_sendable(asked("x" * 2001))
