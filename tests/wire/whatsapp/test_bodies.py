"""The bodies of requests to the Cloud API."""

from typing import Any

import pytest

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.adapters.whatsapp.adapter import message_body, name_of, reaction_body
from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, IntentId, SendRequest

LINK = "https://example.org/a%20lamp.png?size=2"


def place(conversation: str = "+15551234567", kind: ChatKind = ChatKind.DIRECT, **fields: Any) -> Address:
    return Address(channel="whatsapp", account="default", kind=kind, conversation=conversation, **fields)


def asked(text: str = "hello", to: Address | None = None, **fields: Any) -> SendRequest:
    return SendRequest(address=to or place(), text=text, key="k", intent=IntentId("i"), chunk=0, attempt=1, **fields)


def buttons(*titles: str) -> MessageParts:
    return MessageParts(buttons=(tuple(Button(text=title, value=f"v-{title}") for title in titles),))


@pytest.mark.parametrize(
    ("to", "fields"),
    [
        (place(), {"recipient_type": "individual", "to": "15551234567"}),
        (place("15551234567"), {"recipient_type": "individual", "to": "15551234567"}),
        (place("15551234567:7@s.whatsapp.net"), {"recipient_type": "individual", "to": "15551234567"}),
        (place("US.13491208655302741918"), {"recipient_type": "individual", "recipient": "US.13491208655302741918"}),
        (place("Y2FwaV9ncm91cA==", ChatKind.GROUP), {"recipient_type": "group", "to": "Y2FwaV9ncm91cA=="}),
    ],
)
def test_who_gets_it(to: Address, fields: dict[str, str]) -> None:
    body = message_body(asked(to=to))
    assert body == {"messaging_product": "whatsapp", **fields, "type": "text", "text": {"body": "hello"}}


@pytest.mark.parametrize(
    "to",
    [
        place("123456789012345@lid"),
        place("120363040000000000@newsletter", ChatKind.CHANNEL),
        place("ana"),
        place(thread="7"),
    ],
)
def test_a_place_that_the_cloud_api_does_not_reach_is_refused(to: Address) -> None:
    with pytest.raises(Refused):
        message_body(asked(to=to))


def test_an_answer_quotes() -> None:
    assert message_body(asked(reply_to="wamid.1"))["context"] == {"message_id": "wamid.1"}


@pytest.mark.parametrize(
    ("media", "kind", "file"),
    [
        (LINK, "image", {"link": LINK, "caption": "hello"}),
        ("https://example.org/a.mp4", "video", {"link": "https://example.org/a.mp4", "caption": "hello"}),
        (
            "https://example.org/a%20b.pdf",
            "document",
            {"link": "https://example.org/a%20b.pdf", "caption": "hello", "filename": "a b.pdf"},
        ),
        ("https://example.org/x", "document", {"link": "https://example.org/x", "caption": "hello", "filename": "x"}),
    ],
)
def test_a_file_is_of_the_type_that_shows_it(media: str, kind: str, file: dict[str, str]) -> None:
    body = message_body(asked(media=(media,)))
    assert (body["type"], body[kind]) == (kind, file)


def test_an_upload_goes_by_its_id() -> None:
    assert message_body(asked("", media=("/tmp/a.ogg",)), "77")["audio"] == {"id": "77"}
    assert name_of("/tmp/a.ogg", MessageParts(file_name="b.ogg")) == "b.ogg"


def test_buttons_are_replies() -> None:
    body = message_body(asked(parts=buttons("yes", "no")))
    assert body["interactive"] == {
        "type": "button",
        "body": {"text": "hello"},
        "action": {
            "buttons": [
                {"type": "reply", "reply": {"id": "v-yes", "title": "yes"}},
                {"type": "reply", "reply": {"id": "v-no", "title": "no"}},
            ]
        },
    }


@pytest.mark.parametrize(
    "request_",
    [
        asked("x" * 4097),
        asked("x" * 1025, media=(LINK,)),
        asked("x" * 1025, parts=buttons("yes")),
        asked(parts=buttons("1", "2", "3", "4")),
        asked(parts=buttons("x" * 21)),
        asked("", parts=buttons("yes")),
        asked(""),
        asked(media=(LINK, LINK)),
        asked(media=("https://example.org/a.ogg",)),
        asked(parts=MessageParts(buttons=((Button(text="page", url="https://example.org"),),))),
    ],
)
def test_what_a_message_cannot_have_is_refused(request_: SendRequest) -> None:
    with pytest.raises(Refused):
        message_body(request_)


@pytest.mark.parametrize(("remove", "emoji"), [(False, "👍"), (True, "")])
def test_a_reaction_without_an_emoji_takes_it_away(remove: bool, emoji: str) -> None:
    change = ActionRequest(
        action=Action.REACT,
        address=place(),
        key="k",
        intent=IntentId("i"),
        attempt=1,
        message_id="wamid.1",
        text="👍",
        remove=remove,
    )
    assert reaction_body(change)["reaction"] == {"message_id": "wamid.1", "emoji": emoji}
