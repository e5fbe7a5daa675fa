"""From updates to envelopes."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.for_each import for_each
from tests.support.own_names import own_names
from trunkline.core.adapters.telegram.updates import BadUpdate, number_in, read_batch, read_body, read_update
from trunkline.core.channels.acts import LONG_TEXT
from trunkline.core.config import SessionConfig
from trunkline.core.routing.session_keys import session_key_for
from trunkline.core.untrusted import check_envelope
from trunkline.core.values import ChatKind, Envelope

BOT = 999
OWN = own_names("telegram", str(BOT))
ANA = {"id": 77, "is_bot": False, "first_name": "Ana", "last_name": "Lima"}
PRIVATE = {"id": 77, "type": "private", "first_name": "Ana"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Team"}
FORUM = {**GROUP, "is_forum": True}


def message(**fields: Any) -> dict[str, Any]:
    return {"message_id": 3, "date": 10, "chat": PRIVATE, "from": ANA, **fields}


def envelope_of(said: dict[str, Any], kind: str = "message") -> Envelope:
    found = read_update({"update_id": 1, kind: said}, "default", OWN, 0).content
    assert isinstance(found, Envelope), found
    assert check_envelope(found, "telegram", "default", stable=True) == ""
    return found


def test_a_text_in_a_private_chat() -> None:
    found = envelope_of(message(text="hello"))
    assert (found.address.kind, found.address.conversation, found.address.thread) == (ChatKind.DIRECT, "77", None)
    assert (found.peer.id, found.peer.name, found.message_id, found.text) == ("77", "Ana Lima", "3", "hello")
    assert (found.sent_at, found.bot, found.threaded) == (10.0, False, True)


@for_each(
    ("fields", "act"),
    [
        ({"text": "x" * 3_999}, None),
        ({"text": "x" * 4_000}, LONG_TEXT),
        ({"text": "\N{GRINNING FACE}" * 2_000}, LONG_TEXT),
        ({"photo": [{"file_id": "a"}], "media_group_id": "m"}, "m"),
        ({"photo": [{"file_id": "a"}], "caption": "x" * 4_000}, None),
        ({"text": "x" * 4_000, "reply_to_message": {"message_id": 2, "text": "why?"}}, LONG_TEXT),
        ({"text": "x" * 4_000, "forward_origin": {"type": "hidden_user", "sender_user_name": "Ben"}}, None),
    ],
    ids=["a text", "a text that may go on", "one of emoji", "an album", "a caption", "an answer", "a forward"],
)
def test_what_may_be_part_of_an_act_names_it(fields: Any, act: str | None) -> None:
    assert envelope_of(message(**fields)).act == act


@for_each(
    ("fields", "thread", "threaded"),
    [
        ({"chat": GROUP}, None, True),
        ({"chat": FORUM}, None, True),
        ({"chat": FORUM, "message_thread_id": 5, "is_topic_message": True}, "5", True),
        ({"chat": FORUM, "message_thread_id": 1}, None, True),
        ({"chat": GROUP, "message_thread_id": 44, "reply_to_message": {"message_id": 44}}, "44", False),
        ({"message_thread_id": 6, "is_topic_message": True}, "6", True),
    ],
    ids=["group", "general", "topic", "general by its number", "reply chain", "topic of a private chat"],
)
def test_topics_are_threads_and_reply_chains_are_not(fields: Any, thread: str | None, threaded: bool) -> None:
    found = envelope_of(message(text="x", **fields))
    assert (found.address.thread, found.threaded) == (thread, threaded)


@pytest.mark.parametrize(
    ("fields", "quoted"),
    [
        ({"reply_to_message": {"message_id": 2}}, "2"),
        (
            {"chat": FORUM, "message_thread_id": 5, "is_topic_message": True, "reply_to_message": {"message_id": 5}},
            None,
        ),
        ({"chat": FORUM, "message_thread_id": 5, "is_topic_message": True, "reply_to_message": {"message_id": 8}}, "8"),
    ],
)
def test_a_quote_is_no_message_that_opened_a_topic(fields: Any, quoted: str | None) -> None:
    assert envelope_of(message(text="x", **fields)).reply_to == quoted


CHANNEL_DMS = {"id": -100999, "type": "supergroup", "title": "news", "is_direct_messages": True}


def test_each_person_who_writes_to_a_channel_has_a_conversation() -> None:
    ana, ben = (
        envelope_of(
            message(text="x", chat=CHANNEL_DMS, direct_messages_topic={"topic_id": topic, "user": {"id": topic}})
        )
        for topic in (55, 56)
    )
    assert (ana.address.conversation, ana.address.thread, ana.threaded) == ("-100999", "dm55", True)
    assert ana.address.lane != ben.address.lane
    keys = {session_key_for("main", found.address, SessionConfig()) for found in (ana, ben)}
    # What all of them shared is continued by none.
    shared = session_key_for("main", msgspec.structs.replace(ana.address, thread=None), SessionConfig())
    assert len(keys) == 2 and shared not in keys


def test_a_press_in_the_direct_messages_of_a_channel_is_in_its_topic() -> None:
    below = message(chat=CHANNEL_DMS, text="choose", direct_messages_topic={"topic_id": 55})
    found = envelope_of({"id": "4382", "from": ANA, "message": below, "data": "yes"}, "callback_query")
    assert found.address.thread == "dm55"


def test_a_direct_message_of_a_channel_without_its_topic_is_in_nobodys_conversation() -> None:
    found = read_update({"update_id": 1, "message": message(chat=CHANNEL_DMS, text="x")}, "default", OWN, 0).content
    assert isinstance(found, BadUpdate) and "topic" in found.detail


def test_authors_that_are_no_people() -> None:
    admin = envelope_of(message(text="x", chat=GROUP, sender_chat=GROUP, **{"from": {**ANA, "is_bot": True}}))
    assert (admin.peer.id, admin.peer.name, admin.bot) == ("-1001", "Team", False)
    other = envelope_of(message(text="x", **{"from": {**ANA, "is_bot": True}}))
    assert other.bot
    post = {"message_id": 3, "date": 1, "text": "x", "chat": {"id": -1002, "type": "channel", "title": "News"}}
    assert envelope_of(post, "channel_post").peer.id == "-1002"


def test_a_message_of_its_own_is_none() -> None:
    own = {"update_id": 1, "message": message(text="x", **{"from": {"id": BOT, "is_bot": True}})}
    assert read_update(own, "default", OWN, 0).content is None


@pytest.mark.parametrize("kind", ["poll", "message_reaction_count", "my_chat_member", "of_next_year"])
def test_what_is_no_message_is_none(kind: str) -> None:
    assert read_update({"update_id": 1, kind: message(text="x")}, "default", OWN, 0).content is None


def test_a_press_has_its_value_and_its_message() -> None:
    press = {
        "id": "4382",
        "from": ANA,
        "message": message(chat=GROUP, text="choose"),
        "data": "yes",
        "chat_instance": "1",
    }
    found = envelope_of(press, "callback_query")
    assert (found.message_id, found.pressed, found.text, found.peer.id) == ("4382", "3", "yes", "77")
    assert found.address.conversation == "-1001"


def test_updates_are_read_in_the_order_of_their_numbers() -> None:
    body = json.dumps({"ok": True, "result": [{"update_id": n, "message": message(text=str(n))} for n in (7, 5, 6)]})
    found = read_batch(body.encode(), "default", OWN)
    assert found is not None
    assert [one.number for one in found] == [5, 6, 7]


@for_each("body", [b"", b"{}", b'{"result": 1}', b'{"result": null}', b"[" * 100_000, b"\xff\xff"])
def test_a_batch_that_cannot_be_read_is_none(body: bytes) -> None:
    assert read_batch(body, "default", OWN) is None


def test_the_number_of_an_update_that_is_no_json() -> None:
    assert number_in(b'{"update_id":71, "message": ' + b"[" * 9) == 71
    assert number_in(b'{"text":"\\"update_id\\":1", "update_id": 72') == 72
    assert number_in(b"nothing") is None


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([ANA, PRIVATE, FORUM]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*message(), "text", "photo", "id"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["update_id", "message", "callback_query", "channel_post"]), _json))
def test_whatever_comes_is_an_envelope_that_can_be_stored_or_a_bad_update(update: dict[str, Any]) -> None:
    found = read_update(update, "default", OWN, 0)
    if isinstance(found.content, Envelope):
        assert check_envelope(found.content, "telegram", "default", stable=True) == ""
    else:
        assert found.content is None or isinstance(found.content, BadUpdate)
    assert read_body(json.dumps(update).encode(), "default", OWN).number == found.number
