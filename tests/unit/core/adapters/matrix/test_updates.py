"""Syncs and events as they are read."""

from typing import Any

from tests.support.for_each import for_each
from trunkline.core.adapters.matrix.content import MatrixEvent
from trunkline.core.adapters.matrix.inbound.updates import (
    BadMatrixEvent,
    MatrixMessage,
    after_joining,
    read_event,
    read_message,
    read_sync,
)
from trunkline.core.reasons import Reason

_ME = "@bot:example.org"


def _event(content: Any, **fields: Any) -> Any:
    usual = {"type": "m.room.message", "event_id": "$1", "sender": "@ana:example.org", "origin_server_ts": 2000}
    return {**usual, "content": content, **fields}


def _message(content: Any, **fields: Any) -> MatrixMessage | BadMatrixEvent | None:
    event = read_event(_event(content, **fields))
    assert isinstance(event, MatrixEvent)
    return read_message(event)


def _text(body: object = "hello", **more: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": body, **more}


def _relation(**fields: Any) -> dict[str, Any]:
    return _text(**{"m.relates_to": fields})


@for_each(
    ("relation", "thread", "reply_to"),
    [
        ({}, None, None),
        ({"m.in_reply_to": {"event_id": "$2"}}, None, "$2"),
        ({"rel_type": "m.thread", "event_id": "$9"}, "$9", None),
        # What clients without threads show as a reply is none.
        (
            {"rel_type": "m.thread", "event_id": "$9", "is_falling_back": True, "m.in_reply_to": {"event_id": "$2"}},
            "$9",
            None,
        ),
        ({"rel_type": "m.thread", "event_id": "$9", "m.in_reply_to": {"event_id": "$2"}}, "$9", "$2"),
        ({"rel_type": "m.reference", "event_id": "$9"}, None, None),
        ({"rel_type": "m.thread", "event_id": 7}, None, None),
        ({"m.in_reply_to": "$2"}, None, None),
    ],
)
def test_threads_and_replies(relation: dict[str, Any], thread: str | None, reply_to: str | None) -> None:
    found = _message(_relation(**relation))
    assert isinstance(found, MatrixMessage)
    assert (found.thread, found.reply_to) == (thread, reply_to)
    assert (found.text, found.sent_at, found.notice) == ("hello", 2.0, False)


@for_each(
    ("text", "left"),
    [
        ("> <@ana:example.org> a root\n\nan answer", "an answer"),
        ("> <@ana:example.org> a root\n> of two lines\n\nan answer\n\n> and a quote", "an answer\n\n> and a quote"),
        ("> * <@ana:example.org> waves\n\nhello", "hello"),
        ("> a quote of one's own\n\nhello", "> a quote of one's own\n\nhello"),
        ("> <@ana:example.org> nothing below", ""),
        ("hello", "hello"),
    ],
)
def test_the_quote_before_a_reply_is_taken_away(text: str, left: str) -> None:
    found = _message(_text(text) | {"m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}})
    assert isinstance(found, MatrixMessage)
    assert found.text == left


def test_only_replies_lose_a_quote() -> None:
    text = "> <@ana:example.org> a root\n\nan answer"
    found = _message(_text(text))
    assert isinstance(found, MatrixMessage)
    assert found.text == text


def test_what_is_no_message() -> None:
    assert _message(_relation(rel_type="m.replace", event_id="$2")) is None
    assert _message({}, unsigned={"redacted_because": {}}) is None
    assert _message({"membership": "join"}, type="m.room.member", state_key="@ana:example.org") is None
    assert _message({"m.relates_to": {}}, type="m.reaction") is None
    assert isinstance(_message({"msgtype": "m.text"}), BadMatrixEvent)
    secret = _message({"ciphertext": "x"}, type="m.room.encrypted")
    assert isinstance(secret, BadMatrixEvent)
    assert secret.reason is Reason.UNSUPPORTED


def test_programs_and_polls() -> None:
    for content, kind, text, notice in (
        ({"msgtype": "m.notice", "body": "beep"}, "m.room.message", "beep", True),
        ({"m.poll": {}, "m.text": [{"body": "Which?"}]}, "m.poll.start", "Which?", False),
    ):
        found = _message(content, type=kind)
        assert isinstance(found, MatrixMessage)
        assert (found.text, found.notice) == (text, notice)


@for_each(
    "found",
    [
        None,
        [],
        "text",
        _event("no object"),
        _event({}, event_id=""),
        _event({}, event_id=None),
        _event({}, event_id="$\udc00"),
        _event({}, sender="\ud83d"),
        _event({}, origin_server_ts="now"),
        _event({}, origin_server_ts=float("nan")),
        _event({}, type=7),
        _event({}, unsigned=[]),
    ],
)
def test_events_that_are_none(found: object) -> None:
    assert isinstance(read_event(found), BadMatrixEvent)


def _member(membership: str, before: str = "") -> dict[str, Any]:
    unsigned = {"prev_content": {"membership": before}} if before else {}
    return _event({"membership": membership}, type="m.room.member", state_key=_ME, unsigned=unsigned)


def test_what_was_said_since_the_invitation_is_for_the_account() -> None:
    old, said, new = (_event(_text(word)) for word in ("old", "said", "new"))
    assert after_joining([old, _member("invite"), said, _member("join", "invite"), new], _ME) == [
        said,
        _member("join", "invite"),
        new,
    ]
    assert after_joining([old, _member("join"), new], _ME) == [new]
    # A new name is no new membership.
    assert after_joining([old, _member("join", "join"), new], _ME) == [old, _member("join", "join"), new]


def test_an_answer_of_a_sync() -> None:
    invite = {"type": "m.room.member", "state_key": _ME, "sender": "@ana:example.org", "content": {"is_direct": True}}
    direct = {"type": "m.direct", "content": {"@ana:example.org": ["!d", 7], "@bo:example.org": "odd"}}
    found = read_sync(
        {
            "next_batch": "t2",
            "rooms": {
                "join": {"!a": {"timeline": {"events": [1], "limited": True, "prev_batch": "t1"}}, "!b": None},
                "invite": {"!c": {"invite_state": {"events": [None, invite]}}, "!x": {}},
                "leave": {"!e": {}},
            },
            "account_data": {"events": [None, direct]},
        },
        _ME,
    )
    assert found is not None
    assert [(one.room, one.events, one.gap_before) for one in found.rooms] == [("!a", (1,), "t1"), ("!b", (), None)]
    assert [(one.room, one.sender, one.is_direct) for one in found.invites] == [
        ("!c", "@ana:example.org", True),
        ("!x", "", False),
    ]
    assert found.left == ("!e",)
    assert found.direct == {"@ana:example.org": ("!d",), "@bo:example.org": ()}
    assert read_sync({"rooms": {}}, _ME) is None
