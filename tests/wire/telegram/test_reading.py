"""Updates and answers without a server: echoes, quotes, topics and tokens that are none."""

import json
from typing import Any

from tests.support.own_names import own_names
from trunkline.core.adapters.own_names import OwnAccount
from trunkline.core.adapters.telegram.adapter import _receipt
from trunkline.core.adapters.telegram.sends import BotApiAnswer
from trunkline.core.adapters.telegram.updates import read_batch
from trunkline.core.errors import Unauthorized
from trunkline.core.values import Address, ChatKind, Envelope

BOT = 700_000_001
ANA = {"id": 5, "is_bot": False, "first_name": "Ana"}
FORUM = {"id": -1001, "type": "supergroup", "is_forum": True}
PLACE = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-1001")


def read(*, own: OwnAccount | None = None, **fields: Any) -> Envelope | None:
    post = {"message_id": 9, "date": 1, "chat": FORUM, "from": ANA, "text": "hello", **fields}
    body = json.dumps({"ok": True, "result": [{"update_id": 7, "message": post}]})
    [found] = read_batch(body.encode(), "default", own or own_names("telegram", str(BOT))) or []
    assert found.content is None or isinstance(found.content, Envelope)
    return found.content


def test_the_bot_does_not_hear_itself() -> None:
    assert read() is not None
    author: dict[str, Any] = {"from": {"id": BOT, "is_bot": True}}
    assert read(**author) is None


def test_a_post_of_the_bot_that_telegram_brings_into_the_discussion_is_its_own() -> None:
    origin = {"type": "channel", "chat": {"id": -1002, "type": "channel"}, "message_id": 7, "date": 1}
    channel: dict[str, Any] = {
        "sender_chat": {"id": -1002, "type": "channel"},
        "from": {"id": 777000},
        "forward_origin": origin,
    }
    own = own_names("telegram", str(BOT), "-1002/7")
    assert read(own=own, is_automatic_forward=True, **channel) is None
    # A person may forward it and ask what it means; other posts of the channel are no posts of the bot.
    assert read(own=own, **channel) is not None
    other = channel | {"forward_origin": origin | {"message_id": 8}}
    assert read(own=own, is_automatic_forward=True, **other) is not None


def test_a_message_of_a_topic_does_not_answer_the_message_that_opened_it() -> None:
    root = read(message_thread_id=4, is_topic_message=True, reply_to_message={"message_id": 4})
    answer = read(message_thread_id=4, is_topic_message=True, reply_to_message={"message_id": 8})
    assert root is not None and answer is not None
    assert (root.address.thread, root.reply_to) == ("4", None)
    assert (answer.address.thread, answer.reply_to) == ("4", "8")


def test_a_receipt_names_a_topic_and_no_reply_chain() -> None:
    sent = {"message_id": 9, "chat": FORUM, "message_thread_id": 4}
    assert _receipt(PLACE, sent)[0].address.thread is None
    assert _receipt(PLACE, {**sent, "is_topic_message": True})[0].address.thread == "4"


def test_a_receipt_names_the_topic_of_a_person_who_wrote_to_a_channel() -> None:
    sent = {"message_id": 9, "chat": FORUM, "direct_messages_topic": {"topic_id": 55}}
    assert _receipt(PLACE, sent)[0].address.thread == "dm55"


def test_a_token_that_is_none_is_no_refusal_of_the_message() -> None:
    assert type(BotApiAnswer(status=404, description="Not Found").error()) is Unauthorized
