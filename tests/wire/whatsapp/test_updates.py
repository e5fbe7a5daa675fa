"""What is read of a webhook, and that one part that cannot be read stops no other."""

import json
from typing import Any

import pytest

from tests.support.own_names import own_names
from trunkline.core.adapters.whatsapp.updates import UnreadableWebhook, WebhookContent, read_webhook
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind

NUMBER = "106540352242922"


def hook(*messages: Any, number: Any = NUMBER, field: str = "messages", **value: Any) -> bytes:
    contacts = [{"profile": {"name": "Ana"}, "wa_id": "16505551234", "user_id": "US.1"}]
    metadata = {"display_phone_number": "15550783881", "phone_number_id": number}
    whole = {"messaging_product": "whatsapp", "metadata": metadata, "contacts": contacts, "messages": list(messages)}
    change = {"value": whole | value, "field": field}
    return json.dumps({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [change]}]}).encode()


def said(id: Any = "wamid.1", text: Any = "hello", **fields: Any) -> dict[str, Any]:  # noqa: A002 -- the word
    given: dict[str, Any] = {"from": "16505551234", "id": id, "timestamp": "1749416383", "type": "text"}
    given["text"] = text if text is None or isinstance(text, dict) else {"body": text}
    return given | fields


def read(body: bytes) -> WebhookContent:
    return read_webhook(body, NUMBER, "default", own_names("whatsapp"))


def test_a_text() -> None:
    [one] = read(hook(said(context={"from": "15550783881", "id": "wamid.0"}))).messages
    assert (one.address.kind, one.address.conversation, one.address.account) == (
        ChatKind.DIRECT,
        "+16505551234",
        "default",
    )
    assert (one.peer.id, one.peer.name, one.text, one.reply_to) == ("+16505551234", "Ana", "hello", "wamid.0")
    assert (one.message_id, one.sent_at) == ("wamid.1", 1749416383.0)


def test_what_the_account_wrote_itself_is_no_message() -> None:
    """Under the number that people see, from its own app, and under the user id that this tells."""
    echo = {"from": "15550783881", "from_user_id": "US.9", "to": "16505551234", "id": "wamid.5", "type": "text"}
    for body in (
        hook(said("wamid.5", **{"from": "15550783881"})),
        hook(field="smb_message_echoes", messages=None, message_echoes=[echo]),
        hook(said("wamid.5", from_user_id="US.9"), message_echoes=[echo | {"id": "wamid.4"}]),
    ):
        found = read(body)
        assert found.messages == ()
        assert {(unread.id, unread.reason) for unread in found.unread} >= {("wamid.5", Reason.OWN_ECHO)}


def test_an_error_of_the_number_itself_is_told() -> None:
    errors = [{"code": 131048, "title": "Spam rate limit hit", "message": "too many"}]
    found = read(hook(messages=None, errors=errors))
    assert [(unread.detail, unread.reason) for unread in found.unread] == [
        ("Meta reports the error 131048: too many", Reason.PLATFORM_ERROR)
    ]


def test_a_time_in_milliseconds_is_a_time() -> None:
    [one] = read(hook(said(timestamp="1749416383000"))).messages
    assert one.sent_at == 1749416383.0


def test_a_group_and_a_person_who_hides_their_number() -> None:
    [one] = read(hook(said(group_id="Y2FwaQ=="))).messages
    assert (one.address.kind, one.address.conversation, one.peer.id) == (ChatKind.GROUP, "Y2FwaQ==", "+16505551234")
    hidden = {name: value for name, value in said(from_user_id="US.1").items() if name != "from"}
    [one] = read(hook(hidden)).messages
    assert (one.address.conversation, one.peer.name) == ("US.1", "Ana")
    # The only contact is the sender.
    [one] = read(hook({name: value for name, value in hidden.items() if name != "from_user_id"})).messages
    assert (one.address.conversation, one.peer.name) == ("US.1", "Ana")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"type": "interactive", "interactive": {"type": "button_reply", "button_reply": {"id": "v", "title": "t"}}},
            "v",
        ),
        ({"type": "interactive", "interactive": {"type": "list_reply", "list_reply": {"id": "v", "title": "t"}}}, "v"),
        ({"type": "button", "button": {"text": "t", "payload": "v"}}, "v"),
    ],
)
def test_a_press_names_the_message_with_the_button(fields: dict[str, Any], text: str) -> None:
    [one] = read(hook(said(context={"id": "wamid.0"}, **fields))).messages
    assert (one.text, one.pressed, one.subject, one.message_id) == (text, "wamid.0", "wamid.0", "wamid.1")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": "image", "image": {"id": "1", "caption": "look"}}, "look"),
        ({"type": "audio", "audio": {"id": "1", "voice": True}}, ""),
        ({"type": "location", "location": {"latitude": 1, "longitude": 2}}, ""),
        ({"type": "hologram", "hologram": {}}, ""),
    ],
)
def test_a_message_without_a_text_is_one_all_the_same(fields: dict[str, Any], text: str) -> None:
    """The gateway says of an empty one that it was dropped, so nothing vanishes here."""
    [one] = read(hook(said(**fields))).messages
    assert one.text == text


@pytest.mark.parametrize("kind", ["system", "ephemeral"])
def test_what_says_nothing_is_no_message(kind: str) -> None:
    content = read(hook(said(type=kind)))
    assert content.messages == ()
    assert [(part.detail, part.reason) for part in content.unread] == [(kind, Reason.SERVICE_MESSAGE)]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        said(id=""),
        said(id="x" * 600),
        said(id="wamid.\ud83d"),
        said(id=7),
        said(timestamp="yesterday"),
        said(timestamp="inf"),
        said(timestamp="nan"),
        said(timestamp="9" * 400),
        said(timestamp=[]),
        said(type="text", text=None),
        said(text={"body": 7}),
        said(**{"from": "16505\udc00"}),
        "no object",
        None,
        7,
    ],
)
def test_a_bad_message_is_reported_and_stops_no_other(bad: Any) -> None:
    content = read(hook(said("wamid.before"), bad, said("wamid.after")))
    assert [one.message_id for one in content.messages] == ["wamid.before", "wamid.after"]
    assert len(content.unread) == 1
    json.dumps(content.unread[0].detail).encode().decode("utf-8")


def test_a_message_without_a_sender_is_reported() -> None:
    nobody = {name: value for name, value in said().items() if name != "from"}
    content = read(hook(nobody, said("wamid.after"), contacts=[]))
    assert [one.message_id for one in content.messages] == ["wamid.after"]
    assert [one.detail for one in content.unread] == ["it has no sender"]


@pytest.mark.parametrize("contacts", [None, 7, [7], [{"profile": 7}], [{"wa_id": 7}], [{}]])
def test_a_bad_contact_costs_only_its_name(contacts: Any) -> None:
    [one] = read(hook(said(), contacts=contacts)).messages
    assert (one.peer.id, one.peer.name) == ("+16505551234", "")


def test_half_a_surrogate_pair_in_a_text_costs_that_sign_only() -> None:
    [one] = read(hook(said(text="a\ud83d!", new_in_2031={"deep": [1]}))).messages
    assert one.text == "a?!"


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"\xff", b"[" * 100_000, b'{"entry": ' + b"[" * 100_000, b"1" * 5000]
)
def test_what_is_no_webhook_is_no_crash(body: bytes) -> None:
    with pytest.raises(UnreadableWebhook):
        read(body)


@pytest.mark.parametrize("body", [b'{"entry": 7}', b'{"entry": [{"changes": {}}]}', b'{"entry": [7]}'])
def test_a_part_of_another_form_is_reported(body: bytes) -> None:
    assert len(read(body).unread) == 1


def test_another_number_and_another_field_are_not_read() -> None:
    assert read(hook(said(), number="1")).others == ("1",)
    assert read(hook(said(), number={"\ud83d": 1})).others == ("",)
    assert read(hook(said(), field="account_update")) == WebhookContent()


def test_a_failure_is_reported_with_its_code() -> None:
    sent = {"id": "wamid.1", "status": "sent", "timestamp": "1", "recipient_id": "1650"}
    failed = sent | {"status": "failed", "errors": [{"code": 131047, "title": "Re-engagement message"}]}
    content = read(hook(statuses=[sent, failed]))
    assert [(one.id, one.recipient, one.error.code) for one in content.failures] == [("wamid.1", "1650", 131047)]


def test_ten_megabytes_are_read() -> None:
    [one] = read(hook(said(text="x" * 10_000_000))).messages
    assert len(one.text) == 10_000_000
