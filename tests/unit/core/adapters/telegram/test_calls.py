"""From chunks and changes to calls of the Bot API."""

from typing import Any

import msgspec
import pytest

from tests.support.for_each import for_each
from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.telegram.adapter import after_refusal, change_of, receipt_of
from trunkline.core.adapters.telegram.sends import BotApiAnswer, call_of, file_id, kind_of
from trunkline.core.errors import PlaceGone, Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, Identity, IntentId, Poll, SendRequest

GROUP = Address(channel="telegram", account="default", kind=ChatKind.GROUP, conversation="-1001")
TOPIC = msgspec.structs.replace(GROUP, thread="5")
FILE_ID = "AgACAgIAAxkBAAIB"


def request(place: Address = GROUP, text: str = "hello", **fields: Any) -> SendRequest:
    given: dict[str, Any] = {"html": None if not text else f"<b>{text}</b>", **fields}
    return SendRequest(address=place, text=text, key="k", intent=IntentId("i"), chunk=0, attempt=1, **given)


def change(action: Action, **fields: Any) -> ActionRequest:
    given: dict[str, Any] = {"address": GROUP, "message_id": "7", "attempt": 1, **fields}
    return ActionRequest(action=action, key="k", intent=IntentId("i"), **given)


def test_a_text_in_a_topic_with_everything() -> None:
    parts = MessageParts(
        silent=True, buttons=((Button(text="Yes", value="y"), Button(text="Page", url="https://e.org")),)
    )
    call = call_of(request(TOPIC, reply_to="3", parts=parts, payload='{"protect_content": true}'), {})
    assert (call.method, call.arguments) == ("send_message", {"chat_id": -1001, "text": "<b>hello</b>"})
    assert call.more == {
        "parse_mode": "HTML",
        "message_thread_id": 5,
        "reply_parameters": {"message_id": 3, "allow_sending_without_reply": True},
        "disable_notification": True,
        "protect_content": True,
        "reply_markup": {
            "inline_keyboard": [[{"text": "Yes", "callback_data": "y"}, {"text": "Page", "url": "https://e.org"}]]
        },
    }


@for_each(
    ("media", "method"),
    [((), "send_message"), (("a.pdf",), "send_document"), (("a.pdf", "a.pdf"), "send_media_group")],
    ids=["text", "file", "album"],
)
def test_an_answer_to_a_person_who_wrote_to_a_channel_names_their_topic(media: tuple[str, ...], method: str) -> None:
    place = msgspec.structs.replace(GROUP, thread="dm55")
    call = call_of(request(place, media=media), {"a.pdf": "content"})
    assert (call.method, call.more["direct_messages_topic_id"]) == (method, 55)
    assert "message_thread_id" not in call.more
    with pytest.raises(Refused, match="no polls"):
        call_of(request(place, text="", poll=Poll(question="q", options=("a", "b"))), {})


@for_each(
    "payload",
    ['{"chat_id": 5}', '{"message_thread_id": 5}', '{"text": "x"}', '{"parse_mode": "HTML"}', "[]", "{", "[" * 100_000],
)
def test_a_payload_changes_neither_place_nor_text(payload: str) -> None:
    with pytest.raises(Refused):
        call_of(request(payload=payload), {})


@for_each(
    "fields",
    [
        {"reply_to": "abc"},
        {"parts": MessageParts(buttons=((Button(text="x", value="y" * 65),),))},
        {"parts": MessageParts(sticker=FILE_ID)},
        {"parts": MessageParts(sticker="/etc/passwd"), "text": ""},
        {"media": tuple(f"https://e.org/{n}.png" for n in range(11))},
        {
            "media": ("https://e.org/a.png", "https://e.org/b.png"),
            "parts": MessageParts(buttons=((Button(text="x"),),)),
        },
        {"poll": Poll(question="?", options=("a", "b", "c"), max_selections=2)},
        {"poll": Poll(question="?", options=("a", "b"), duration_seconds=2)},
        {"poll": Poll(question="?", options=("a", "b")), "media": ("https://e.org/a.png",)},
        {"parts": MessageParts(buttons=((Button(text="x"),),)), "payload": '{"reply_markup": {}}'},
    ],
)
def test_what_telegram_has_no_single_message_for_is_refused(fields: dict[str, Any]) -> None:
    media = fields.get("media", ())
    with pytest.raises(Refused):
        call_of(request(**fields), {one: one for one in media})


def test_a_place_that_is_no_number_is_gone() -> None:
    with pytest.raises(PlaceGone):
        call_of(request(msgspec.structs.replace(GROUP, conversation="@team")), {})


@for_each(
    ("address", "parts", "kind"),
    [
        ("https://e.org/a.png?size=3", {}, "photo"),
        ("https://e.org/a.svg", {}, "document"),
        ("https://e.org/a.gif", {}, "animation"),
        ("https://e.org/a.mp4", {}, "video"),
        ("https://e.org/a.mp4", {"gif": True}, "animation"),
        ("https://e.org/a.mp3", {}, "audio"),
        ("https://e.org/a.ogg", {"as_voice": True}, "voice"),
        ("https://e.org/a", {"mime_type": "image/jpeg"}, "photo"),
        ("https://e.org/a", {"file_name": "b.pdf"}, "document"),
        (f"telegram-file:{FILE_ID}", {}, "document"),
    ],
)
def test_a_file_is_shown_by_its_type(address: str, parts: dict[str, Any], kind: str) -> None:
    assert kind_of(address, MessageParts(**parts)) == kind


def test_an_album_has_its_caption_once() -> None:
    media = ("https://e.org/a.png", "https://e.org/b.mp4")
    call = call_of(request(media=media), {one: one for one in media})
    first, second = call.arguments["media"]
    assert (call.method, first.type, second.type) == ("send_media_group", "photo", "video")
    assert (first.caption, first.parse_mode, second.caption) == ("<b>hello</b>", "HTML", None)


def test_an_album_of_unlike_files_is_one_of_documents() -> None:
    media = ("https://e.org/a.png", "https://e.org/b.pdf")
    call = call_of(request(media=media), {one: one for one in media})
    assert [(one.type, one.caption) for one in call.arguments["media"]] == [
        ("document", None),
        ("document", "<b>hello</b>"),
    ]


def test_a_poll_with_a_text_beside_its_question() -> None:
    poll = Poll(question="Which?", options=("a", "b"), max_selections=2, duration_hours=1, anonymous=False)
    call = call_of(request(poll=poll, text="Choose well"), {})
    assert call.arguments == {"chat_id": -1001, "question": "Which?", "options": ["a", "b"]}
    assert call.more == {
        "description": "<b>Choose well</b>",
        "description_parse_mode": "HTML",
        "is_anonymous": False,
        "allows_multiple_answers": True,
        "open_period": 3600,
    }
    assert "description" not in call_of(request(poll=poll, text="Which?"), {}).more


# ---------------------------------------------------------------- files


def test_an_id_is_never_taken_for_a_path() -> None:
    assert file_id(f"telegram-file:{FILE_ID}") == FILE_ID
    for bad in ("telegram-file:/etc/passwd", "telegram-file:Makefile", "telegram-file:"):
        with pytest.raises(Refused):
            file_id(bad)


# ---------------------------------------------------------------- changes

NOT_MODIFIED = BotApiAnswer(status=400, description="Bad Request: message is not modified: specified new ...")
NOT_FOUND = BotApiAnswer(status=400, description="Bad Request: message to delete not found")
NO_TEXT = BotApiAnswer(status=400, description="Bad Request: there is no text in the message to edit")


def test_a_change_in_force_is_no_failure() -> None:
    edit = change(Action.EDIT, text="new", html="new")
    assert after_refusal(edit, NOT_MODIFIED) is None
    assert receipt_of(edit, None).provider_id == "7"
    assert after_refusal(change(Action.DELETE, attempt=2), NOT_FOUND) is None


def test_the_first_deletion_of_what_is_not_there_is_refused() -> None:
    with pytest.raises(Refused):
        after_refusal(change(Action.DELETE), NOT_FOUND)


def test_a_file_gets_another_caption() -> None:
    call = after_refusal(change(Action.EDIT, text="new", html="<i>new</i>"), NO_TEXT)
    assert call is not None
    assert call.method == "edit_message_caption"
    assert call.more == {"chat_id": -1001, "message_id": 7, "caption": "<i>new</i>", "parse_mode": "HTML"}


@for_each(
    ("fields", "method", "more"),
    [
        (
            {"action": Action.REACT, "text": "👍"},
            "set_message_reaction",
            {"reaction": [{"type": "emoji", "emoji": "👍"}]},
        ),
        ({"action": Action.REACT, "remove": True}, "set_message_reaction", {"reaction": []}),
        ({"action": Action.PIN}, "pin_chat_message", {"disable_notification": True}),
        ({"action": Action.UNPIN}, "unpin_chat_message", {}),
        ({"action": Action.DELETE}, "delete_message", {}),
        (
            {"action": Action.TOPIC_CREATE, "message_id": None, "fields": '{"name": "ops", "iconColor": 7322096}'},
            "create_forum_topic",
            {"icon_color": 7322096},
        ),
        ({"action": Action.TOPIC_EDIT, "address": TOPIC, "text": "new"}, "edit_forum_topic", {"name": "new"}),
        (
            {"action": Action.TOPIC_EDIT, "fields": '{"threadId": 5, "name": "new"}'},
            "edit_forum_topic",
            {"name": "new"},
        ),
    ],
)
def test_each_change_has_its_method(fields: dict[str, Any], method: str, more: dict[str, Any]) -> None:
    call = change_of(change(**fields))
    assert (call.method, call.more) == (method, more)
    assert call.arguments["chat_id"] == -1001


@for_each(
    "fields",
    [
        {"action": Action.KICK},
        {"action": Action.EDIT, "text": "  "},
        {"action": Action.EDIT, "text": "x", "identity": Identity(id="1", name="x")},
        {"action": Action.DELETE, "message_id": "abc"},
        {"action": Action.REACT},
        {"action": Action.TOPIC_EDIT, "text": "x"},
        {"action": Action.TOPIC_CREATE, "fields": "[]"},
        {"action": Action.TOPIC_CREATE},
    ],
)
def test_a_change_that_telegram_does_not_have_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        change_of(change(**fields))
