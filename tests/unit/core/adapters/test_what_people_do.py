"""What people do to messages that are there, from each platform: the kind, the message, the person, the new words."""

import json
from typing import Any

import msgspec
import pytest

from tests.support.for_each import for_each
from tests.support.own_names import own_names
from trunkline.core.adapters.discord.payloads import ChannelData, MessageData, ReactionData
from trunkline.core.adapters.discord.receiving.envelopes import deed_of, edit_of, envelope_of
from trunkline.core.adapters.matrix.inbound.updates import read_deed
from trunkline.core.adapters.matrix.inbound.updates import read_event as read_matrix
from trunkline.core.adapters.own_names import OwnPost
from trunkline.core.adapters.signal.updates import SignalEventError
from trunkline.core.adapters.signal.updates import read_event as read_signal
from trunkline.core.adapters.slack.inbound.events import SlackReader, SlackSelf
from trunkline.core.adapters.telegram.updates import BadUpdate, read_update
from trunkline.core.adapters.whatsapp.updates import read_webhook
from trunkline.core.untrusted import check_envelope
from trunkline.core.values import Deed, DeedKind, Envelope

#: kind, message that it is done to, person, new words, and the thread or the id of the deed
Shown = tuple[str, str, str, str, str | None]


def shown(found: Envelope, last: str | None) -> Shown:
    assert found.deed is not None
    assert check_envelope(found, found.address.channel, found.address.account, stable=True) == ""
    assert found.message_id != found.deed.of
    return found.deed.kind.value, found.deed.of, found.peer.id, found.text, last


ANA = {"id": 77, "is_bot": False, "first_name": "Ana"}
GROUP = {"id": -1001, "type": "supergroup", "title": "Team", "is_forum": True}
POST = {"message_id": 3, "date": 10, "chat": GROUP, "from": ANA, "edit_date": 12}
THUMB, HEART = {"type": "emoji", "emoji": "👍"}, {"type": "emoji", "emoji": "❤"}


@for_each(
    ("kind", "given", "expected"),
    [
        ("edited_message", POST | {"text": "new"}, ("edit", "3", "77", "new", None)),
        (
            "edited_message",
            POST | {"text": "new", "message_thread_id": 7, "is_topic_message": True},
            ("edit", "3", "77", "new", "7"),
        ),
        ("edited_message", POST | {"photo": [{"file_id": "a"}], "caption": "c"}, ("edit", "3", "77", "c", None)),
        ("edited_channel_post", POST | {"text": "new"}, ("edit", "3", "77", "new", None)),
        ("edited_message", POST | {"location": {"latitude": 1.0, "longitude": 2.0}}, "a live location has moved"),
        ("edited_message", POST | {"text": "x", "from": {"id": 999, "is_bot": True}}, None),
        ("message_reaction", {"old_reaction": [], "new_reaction": [THUMB]}, ("react", "3", "77", "👍", None)),
        ("message_reaction", {"old_reaction": [THUMB], "new_reaction": []}, ("unreact", "3", "77", "👍", None)),
        ("message_reaction", {"old_reaction": [THUMB], "new_reaction": [HEART]}, ("react", "3", "77", "❤", None)),
        ("message_reaction", {"old_reaction": [THUMB], "new_reaction": [THUMB]}, None),
        (
            "message_reaction",
            {"user": None, "actor_chat": GROUP, "new_reaction": [{"type": "custom_emoji", "custom_emoji_id": "1"}]},
            ("react", "3", "-1001", "[custom emoji]", None),
        ),
    ],
)
def test_telegram(kind: str, given: dict[str, Any], expected: Shown | str | None) -> None:
    base = {"chat": GROUP, "message_id": 3, "user": ANA, "date": 12} if kind == "message_reaction" else {}
    update = {"update_id": 5, kind: base | given}
    found = read_update(update, "default", own_names("telegram", "999"), 0).content
    if isinstance(found, Envelope):
        assert found.message_id == "update/5"
        assert shown(found, found.address.thread) == expected
    else:
        assert (found.detail if isinstance(found, BadUpdate) else found) == expected


SAID = {"user": "U1", "text": "old", "ts": "1.000100"}
EDITED = SAID | {"text": "new", "edited": {"user": "U1", "ts": "2.000000"}}
CHANGED = {"type": "message", "channel": "C1", "channel_type": "channel", "ts": "2.000000"}
ITEM = {"type": "message", "channel": "C1", "ts": "1.000100"}


@for_each(
    ("event", "expected"),
    [
        (
            CHANGED | {"subtype": "message_changed", "message": EDITED, "previous_message": SAID},
            ("edit", "1.000100", "U1", "new", None),
        ),
        (
            CHANGED
            | {"subtype": "message_changed", "message": EDITED | {"thread_ts": "0.5"}, "previous_message": SAID},
            ("edit", "1.000100", "U1", "new", "0.5"),
        ),
        # What Slack adds to a message by itself.
        (CHANGED | {"subtype": "message_changed", "message": SAID, "previous_message": SAID}, None),
        (CHANGED | {"subtype": "message_changed", "message": EDITED, "previous_message": EDITED}, None),
        # By the gateway itself.
        (
            CHANGED | {"subtype": "message_changed", "message": EDITED | {"bot_id": "BBOT"}, "previous_message": SAID},
            None,
        ),
        (
            CHANGED | {"subtype": "message_deleted", "deleted_ts": "1.000100", "previous_message": SAID},
            ("delete", "1.000100", "", "", None),
        ),
        # The root of a thread stays as a stone.
        (
            CHANGED
            | {
                "subtype": "message_changed",
                "message": {"subtype": "tombstone", "user": "USLACKBOT", "ts": "1.000100"},
                "previous_message": SAID,
            },
            ("delete", "1.000100", "", "", None),
        ),
        (
            {"type": "reaction_added", "user": "U2", "reaction": "thumbsup", "item": ITEM},
            ("react", "1.000100", "U2", "👍", None),
        ),
        (
            {"type": "reaction_removed", "user": "U2", "reaction": "acme", "item": ITEM},
            ("unreact", "1.000100", "U2", ":acme:", None),
        ),
        ({"type": "reaction_added", "user": "UBOT", "reaction": "thumbsup", "item": ITEM}, None),
        ({"type": "reaction_added", "user": "U2", "reaction": "x", "item": {"type": "file", "file": "F1"}}, None),
    ],
)
def test_slack(event: dict[str, Any], expected: Shown | None) -> None:
    reader = SlackReader("default", own_names("slack", "UBOT", "BBOT"))
    payload = {"team_id": "T1", "event_id": "Ev1", "event": event}
    found = reader.event(payload, SlackSelf(user="UBOT", bot="BBOT", team="T1"))
    assert [shown(deed, deed.address.thread) for deed in found] == ([] if expected is None else [expected])


CHANNEL = ChannelData(id="10", type=0, guild_id="9")


def test_discord() -> None:
    said = MessageData(
        id="3",
        channel_id="10",
        author=msgspec.convert({"id": "77", "username": "ana"}, type=MessageData.__annotations__["author"]),
        content="new",
        timestamp="2026-01-01T00:00:00+00:00",
        edited_timestamp="2026-01-01T00:00:02+00:00",
    )
    whole = envelope_of(said, CHANNEL, "default")
    assert whole is not None
    edit = edit_of(said, whole)
    assert shown(edit, edit.message_id) == ("edit", "3", "77", "new", "3/2026-01-01T00:00:02+00:00")
    given = {"user_id": "77", "channel_id": "10", "message_id": "3", "emoji": {"id": None, "name": "👍"}}
    for kind, member, name in (
        (DeedKind.REACT, {"nick": "Ana", "user": {"id": "77"}}, "Ana"),
        (DeedKind.UNREACT, None, ""),
    ):
        reaction = msgspec.convert(given | {"member": member}, ReactionData)
        found = deed_of(Deed(kind=kind, of="3"), "3/77/5", CHANNEL, "default", 1.0, reaction)
        assert shown(found, found.peer.name) == (kind.value, "3", "77", "👍", name)
    gone = deed_of(Deed(kind=DeedKind.DELETE, of="3"), "3/deleted", CHANNEL, "default", 1.0)
    assert shown(gone, None) == ("delete", "3", "", "", None)


@for_each(
    ("type_", "content", "expected"),
    [
        (
            "m.room.message",
            {
                "msgtype": "m.text",
                "body": "* new",
                "m.new_content": {"msgtype": "m.text", "body": "new"},
                "m.relates_to": {"rel_type": "m.replace", "event_id": "$old"},
            },
            ("edit", "$old", "new"),
        ),
        (
            "m.reaction",
            {"m.relates_to": {"rel_type": "m.annotation", "event_id": "$old", "key": "👍"}},
            ("react", "$old", "👍"),
        ),
        ("m.room.redaction", {"redacts": "$old"}, ("delete", "$old", "")),
        ("m.room.redaction", {}, None),
        ("m.room.message", {"msgtype": "m.text", "body": "hello"}, None),
        ("m.reaction", {"m.relates_to": {"rel_type": "m.annotation", "event_id": 5, "key": "👍"}}, None),
    ],
)
def test_matrix(type_: str, content: dict[str, Any], expected: tuple[str, str, str] | None) -> None:
    event = read_matrix(
        {"type": type_, "event_id": "$new", "sender": "@ana:x", "origin_server_ts": 1000, "content": content}
    )
    found = read_deed(event)  # type: ignore[arg-type] -- it can be read
    deed = None if found is None else found.deed
    assert (None if found is None or deed is None else (deed.kind.value, deed.of, found.text)) == expected


OLD = {"targetSentTimestamp": 5, "targetAuthorNumber": "+15550009999", "emoji": "👍"}


@for_each(
    ("fields", "expected"),
    [
        ({"dataMessage": {"timestamp": 9, "reaction": OLD}}, ("react", 5, "+15550009999", "👍")),
        ({"dataMessage": {"timestamp": 9, "reaction": OLD | {"isRemove": True}}}, ("unreact", 5, "+15550009999", "👍")),
        ({"dataMessage": {"timestamp": 9, "remoteDelete": {"timestamp": 5}}}, ("delete", 5, "", "")),
        (
            {"editMessage": {"targetSentTimestamp": 5, "dataMessage": {"timestamp": 9, "message": "new"}}},
            ("edit", 5, "", "new"),
        ),
    ],
)
def test_signal(fields: dict[str, Any], expected: object) -> None:
    event = {"account": "+15550009999", "envelope": {"sourceNumber": "+1555", **fields}}
    said = read_signal(json.dumps(event), "+15550009999", own_names("signal", "+15550009999"))
    assert said is not None
    assert (said.deed, *said.of, said.text) == expected


@for_each(
    ("fields",),
    [
        ({"dataMessage": {"timestamp": 9, "reaction": {"emoji": "x"}}},),
        ({"editMessage": {"dataMessage": {"timestamp": 9, "message": "new"}}},),
    ],
)
def test_signal_says_which_message_it_is_about(fields: dict[str, Any]) -> None:
    event = {"account": "+15550009999", "envelope": {"sourceNumber": "+1555", **fields}}
    with pytest.raises(SignalEventError, match="does not say which message"):
        read_signal(json.dumps(event), "+15550009999", own_names("signal", "+15550009999"))


@for_each(
    ("reaction", "expected"),
    [
        ({"message_id": "wamid.1", "emoji": "👍"}, ("react", "wamid.1", "+15551234", "👍", None)),
        ({"message_id": "wamid.1"}, ("unreact", "wamid.1", "+15551234", "", None)),
    ],
)
def test_whatsapp(reaction: dict[str, Any], expected: Shown) -> None:
    message = {"from": "15551234", "id": "wamid.2", "timestamp": "10", "type": "reaction", "reaction": reaction}
    value = {"metadata": {"phone_number_id": "106"}, "messages": [message]}
    body = json.dumps({"entry": [{"changes": [{"field": "messages", "value": value}]}]}).encode()
    (found,) = read_webhook(body, "106", "default", own_names("whatsapp")).messages
    assert shown(found, None) == expected


def test_what_an_own_account_does_is_its_own_post() -> None:
    event = {"account": "+15550009999", "envelope": {"source": "+15550009999", "dataMessage": {"reaction": OLD}}}
    with pytest.raises(OwnPost):
        read_signal(json.dumps(event), "+15550009999", own_names("signal", "+15550009999"))
