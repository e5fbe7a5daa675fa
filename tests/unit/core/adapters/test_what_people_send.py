"""What becomes of each kind of message that a platform can hand over: the words for agents, or why there are none.

The kinds are those of the published schemas. Nothing that a person sent is silence: it has words, or the drop has a
reason that names it.
"""

import json
from typing import Any

import msgspec
import pytest

from tests.support.for_each import for_each
from tests.support.own_names import own_names
from trunkline.core.adapters.discord.payloads import ChannelData, MessageData
from trunkline.core.adapters.discord.receiving.envelopes import envelope_of
from trunkline.core.adapters.matrix.content import MatrixEvent
from trunkline.core.adapters.matrix.inbound.updates import BadMatrixEvent, MatrixMessage, read_event, read_message
from trunkline.core.adapters.signal.updates import read_event as read_signal
from trunkline.core.adapters.slack.inbound.events import SlackReader, SlackSelf
from trunkline.core.adapters.telegram.updates import FILE_PREFIX, BadUpdate, read_update
from trunkline.core.adapters.whatsapp.updates import read_webhook
from trunkline.core.message_parts import (
    MOST_PARTS,
    CardPart,
    FilePart,
    ForwardPart,
    MediaKind,
    Part,
    QuotePart,
    cut,
    line,
    says_something,
    with_words,
)
from trunkline.core.untrusted import check_envelope
from trunkline.core.values import Address, ChatKind, Envelope, Peer

# ---------------------------------------------------------------- the readers


def telegram(**fields: Any) -> str | BadUpdate | None:
    post = {"message_id": 3, "date": 1, "chat": {"id": 77, "type": "private"}, "from": {"id": 77, "first_name": "Ana"}}
    found = read_update({"update_id": 1, "message": post | fields}, "default", own_names("telegram", "9"), 0).content
    return words(found) if isinstance(found, Envelope) else found


def words(found: Envelope) -> str:
    assert check_envelope(found, found.address.channel, "default", stable=True) == ""
    return with_words(found.text, found.parts)


def discord(**fields: Any) -> str | None:
    given = {"id": "1", "channel_id": "2", "author": {"id": "5"}, "timestamp": "2026-01-01T00:00:00+00:00"}
    channel = msgspec.convert({"id": "2", "type": 0, "guild_id": "9"}, ChannelData)
    found = envelope_of(msgspec.convert(given | fields, MessageData), channel, "default")
    return None if found is None else words(found)


def slack(**fields: Any) -> str | None:
    event = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": "5.5", "text": ""}
    reader, me = SlackReader("default", own_names("slack", "UBOT")), SlackSelf(user="UBOT", bot="BBOT", team="T1")
    found = reader.event({"type": "event_callback", "team_id": "T1", "event": event | fields}, me)
    return words(found[0]) if found else None


def matrix(type_: str = "m.room.message", **content: Any) -> str | BadMatrixEvent | None:
    event = read_event(
        {"event_id": "$1", "sender": "@ana:x", "type": type_, "origin_server_ts": 1, "content": {"body": "b"} | content}
    )
    assert isinstance(event, MatrixEvent)
    found = read_message(event)
    return with_words(found.text, found.parts) if isinstance(found, MatrixMessage) else found


def signal(**data: Any) -> str | None:
    event = {"envelope": {"source": "+1", "sourceNumber": "+15551", "dataMessage": {"timestamp": 5} | data}}
    said = read_signal(json.dumps(event), "+15550009999", own_names("signal", "+15550009999"))
    return None if said is None else with_words(said.text, said.parts)


def whatsapp(type_: str, **fields: Any) -> str:
    message = {"from": "16505551234", "id": "w.1", "timestamp": "1", "type": type_} | fields
    value = {"metadata": {"phone_number_id": "106"}, "messages": [message]}
    body = json.dumps({"entry": [{"changes": [{"field": "messages", "value": value}]}]}).encode()
    found = read_webhook(body, "106", "default", own_names("whatsapp"))
    return words(found.messages[0]) if found.messages else f"dropped: {found.unread[0].reason} {found.unread[0].detail}"


# ---------------------------------------------------------------- the tables

FILE = {"file_id": "F"}
MEDIA = f"MEDIA:{FILE_PREFIX}F"


@for_each(
    ("fields", "expected"),
    [
        ({"text": "hello"}, "hello"),
        ({"text": "see", "location": "in text form"}, "see\n[location: in text form]"),
        ({"text": None, "caption": "c", "photo": [{"file_id": "s"}, FILE]}, f"c\n[picture]\n{MEDIA}"),
        ({"animation": FILE, "document": FILE}, f"[animation]\n{MEDIA}"),
        ({"voice": FILE | {"duration": 12}}, f"[voice message: 12 s]\n{MEDIA}"),
        ({"audio": FILE | {"title": "Song", "duration": 3}}, f"[sound file: Song, 3 s]\n{MEDIA}"),
        ({"video": FILE}, f"[video]\n{MEDIA}"),
        ({"video_note": FILE}, f"[video]\n{MEDIA}"),
        ({"live_photo": FILE}, f"[picture]\n{MEDIA}"),
        ({"sticker": FILE | {"emoji": "👍"}}, f"[sticker: 👍]\n{MEDIA}"),
        ({"contact": {"first_name": "Bo", "phone_number": "+49"}}, "[contact: Bo +49]"),
        ({"location": {"latitude": 52.5, "longitude": 13.4}}, "[location: 52.500000, 13.400000]"),
        (
            {"location": {"latitude": 52.5, "longitude": 13.4, "live_period": 60}},
            "[live location: 52.500000, 13.400000]",
        ),
        (
            {"venue": {"location": {"latitude": 1, "longitude": 2}, "title": "Cafe", "address": "5 Main St"}},
            "[location: 1.000000, 2.000000, Cafe, 5 Main St]",
        ),
        ({"poll": {"question": "Lunch?", "options": [{"text": "yes"}, {"text": "no"}]}}, "[poll: Lunch? (yes / no)]"),
        ({"poll": {"question": "2+2?", "type": "quiz"}}, "[quiz: 2+2?]"),
        ({"checklist": {"title": "Buy", "tasks": [{"text": "milk"}]}}, "[checklist: Buy (milk)]"),
        ({"dice": {"emoji": "🎲", "value": 5}}, "[dice: 🎲 5]"),
        ({"story": {"chat": {}, "id": 1}}, "[story]"),
        ({"game": {"title": "Snake"}}, "[game: Snake]"),
        ({"invoice": {"title": "Tea", "description": "green"}}, "[invoice: Tea green]"),
        ({"web_app_data": {"button_text": "Order", "data": '{"n": 2}'}}, '[web app data: Order {"n": 2}]'),
        ({"paid_media": {"star_count": 3}}, "[paid media]"),
        ({"rich_message": {"blocks": []}}, "[rich message]"),
        ({"a_kind_of_2030": {"x": 1}}, "[a_kind_of_2030]"),
        ({"text": "t", "forward_origin": {"sender_user": {"first_name": "Bo"}}}, "[forwarded from Bo]\nt"),
        ({"text": "t", "forward_origin": {"sender_user_name": "hidden"}}, "[forwarded from hidden]\nt"),
        (
            {
                "text": "t",
                "forward_origin": {"type": "channel", "chat": {"id": -5, "type": "channel", "title": "News"}},
            },
            "[forwarded from News]\nt",
        ),
        (
            {"text": "true?", "reply_to_message": {"message_id": 1, "text": "at nine", "from": {"first_name": "Cem"}}},
            "[quotes Cem: at nine]\ntrue?",
        ),
        (
            {"text": "this?", "quote": {"text": "point two"}, "reply_to_message": {"message_id": 4, "text": "long"}},
            "[quotes: point two]\nthis?",
        ),
        (
            {"text": "and?", "external_reply": {"origin": {"sender_user_name": "Di"}, "photo": [FILE]}},
            "[quotes Di: [picture]]\nand?",
        ),
    ],
)
def test_telegram(fields: dict[str, Any], expected: str) -> None:
    assert telegram(**fields) == expected


@pytest.mark.parametrize(
    "field", ["new_chat_members", "new_chat_title", "pinned_message", "migrate_to_chat_id", "forum_topic_closed"]
)
def test_a_note_of_telegram_is_named_and_is_no_message(field: str) -> None:
    found = telegram(**{field: 5})
    assert isinstance(found, BadUpdate)
    assert (found.reason, found.detail) == ("service-message", f"a note of Telegram: {field}")


@for_each(
    ("fields", "expected"),
    [
        ({"type_": "text", "text": {"body": "hello"}}, "hello"),
        ({"type_": "image", "image": {"id": "M", "caption": "c"}}, "c\n[picture: M]"),
        ({"type_": "audio", "audio": {"id": "M", "voice": True}}, "[voice message: M]"),
        ({"type_": "audio", "audio": {"id": "M"}}, "[sound file: M]"),
        ({"type_": "document", "document": {"id": "M", "filename": "a.pdf"}}, "[document: a.pdf, M]"),
        ({"type_": "sticker", "sticker": {"id": "M"}}, "[sticker: M]"),
        (
            {"type_": "location", "location": {"latitude": "1.5", "longitude": 2.5, "name": "Cafe"}},
            "[location: 1.500000, 2.500000, Cafe]",
        ),
        ({"type_": "location", "location": {"name": "Cafe"}}, "[location: Cafe]"),
        (
            {"type_": "contacts", "contacts": [{"name": {"formatted_name": "Bo"}, "phones": [{"phone": "+49"}]}]},
            "[contact: Bo +49]",
        ),
        (
            {"type_": "order", "order": {"product_items": [{"product_retailer_id": "tea", "quantity": 2}]}},
            "[order: 2 x tea]",
        ),
        (
            {"type_": "interactive", "interactive": {"nfm_reply": {"response_json": '{"size": "L"}'}}},
            '[form: {"size": "L"}]',
        ),
        ({"type_": "interactive", "interactive": {"button_reply": {"id": "yes", "title": "Yes"}}}, "yes"),
        ({"type_": "unsupported", "errors": []}, "[a message that WhatsApp does not show to businesses]"),
        ({"type_": "a_kind_of_2030"}, "[a_kind_of_2030]"),
        ({"type_": "text", "text": {"body": "t"}, "context": {"forwarded": True}}, "[forwarded]\nt"),
        (
            {"type_": "text", "text": {"body": "this?"}, "referral": {"headline": "Sale", "source_url": "https://x.y"}},
            "this?\nSale\nhttps://x.y",
        ),
        (
            {
                "type_": "text",
                "text": {"body": "this?"},
                "context": {"referred_product": {"product_retailer_id": "tea"}},
            },
            "this?\n[about the product: tea]",
        ),
        ({"type_": "reaction", "reaction": {"emoji": "x"}}, "dropped: bad-update reaction is no id"),
        ({"type_": "system", "system": {"body": "new number"}}, "dropped: service-message system new number"),
    ],
)
def test_whatsapp(fields: dict[str, Any], expected: str) -> None:
    assert whatsapp(**fields) == expected


@for_each(
    ("fields", "expected"),
    [
        ({"text": "a &lt; b"}, "a < b"),
        ({"attachments": [{"fallback": "[FIRING] disk", "title": "disk", "text": "90 percent"}]}, "disk\n90 percent"),
        ({"attachments": [{"fallback": "[FIRING] disk"}]}, "[FIRING] disk"),
        (
            {"text": "see", "attachments": [{"is_share": True, "author_name": "Bo", "text": "the words"}]},
            "[forwarded from Bo]\nthe words\nsee",
        ),
        ({"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "disk full"}}]}, "disk full"),
        (
            {
                "blocks": [
                    {
                        "type": "rich_text",
                        "elements": [
                            {
                                "type": "rich_text_section",
                                "elements": [{"type": "text", "text": "hi "}, {"type": "emoji", "name": "wave"}],
                            }
                        ],
                    }
                ]
            },
            "hi :wave:",
        ),
        ({"subtype": "file_share", "files": [{"id": "F1", "name": "a.pdf"}]}, "[document: a.pdf, F1]"),
        (
            {"files": [{"id": "F1", "subtype": "slack_audio", "mimetype": "audio/webm", "duration_ms": 2000}]},
            "[voice message: F1, 2 s]",
        ),
        (
            {"text": "see https://x.y", "attachments": [{"from_url": "https://x.y", "title": "X", "text": "about X"}]},
            "see https://x.y\n[link preview: X - about X]",
        ),
        ({"attachments": [{"fields": [{"title": "host", "value": "a1"}]}]}, "host: a1"),
    ],
)
def test_slack(fields: dict[str, Any], expected: str) -> None:
    assert slack(**fields) == expected


@for_each(
    ("fields", "expected"),
    [
        ({"content": "hello"}, "hello"),
        (
            {
                "content": "c",
                "attachments": [{"url": "https://x/a.png", "filename": "a.png", "content_type": "image/png"}],
            },
            "c\n[picture: a.png]\nMEDIA:https://x/a.png",
        ),
        (
            {"flags": 8192, "attachments": [{"url": "https://x/v.ogg", "duration_secs": 2.0}]},
            "[voice message: 2 s]\nMEDIA:https://x/v.ogg",
        ),
        ({"sticker_items": [{"id": "1", "name": "wave"}]}, "[sticker: wave]"),
        (
            {"poll": {"question": {"text": "Lunch?"}, "answers": [{"poll_media": {"text": "yes"}}]}},
            "[poll: Lunch? (yes)]",
        ),
        (
            {
                "embeds": [
                    {"type": "rich", "title": "disk", "description": "full", "fields": [{"name": "n", "value": "v"}]}
                ]
            },
            "disk\nfull\nn: v",
        ),
        ({"content": "x", "embeds": [{"type": "link", "title": "T", "url": "u"}]}, "x\n[link preview: T - u]"),
        ({"message_snapshots": [{"message": {"content": "the words"}}]}, "[forwarded]\nthe words"),
        ({"message_snapshots": [{"message": {}}]}, "[forwarded]\n[message]"),
        (
            {
                "type": 19,
                "content": "true?",
                "referenced_message": {"content": "at nine", "author": {"username": "cem"}},
            },
            "[quotes cem: at nine]\ntrue?",
        ),
        (
            {
                "components": [
                    {"type": 17, "components": [{"type": 10, "content": "words"}, {"type": 2, "label": "OK"}]}
                ]
            },
            "words\nOK",
        ),
        ({"type": 20, "content": "answer of an app"}, "answer of an app"),
        ({"type": 7}, None),
    ],
)
def test_discord(fields: dict[str, Any], expected: str | None) -> None:
    assert discord(**fields) == expected


@for_each(
    ("fields", "expected"),
    [
        ({"msgtype": "m.text"}, "b"),
        ({"msgtype": "m.emote"}, "b"),
        ({"msgtype": "m.image", "body": "a.png", "url": "mxc://x/1"}, "[picture: a.png, mxc://x/1]"),
        ({"msgtype": "m.image", "body": "look", "filename": "a.png"}, "look\n[picture: a.png]"),
        (
            {"msgtype": "m.audio", "org.matrix.msc3245.voice": {}, "info": {"duration": 3000}, "body": "Voice"},
            "[voice message: Voice, 3 s]",
        ),
        ({"msgtype": "m.file", "body": "a.pdf", "file": {"url": "mxc://x/2"}}, "[document: a.pdf, mxc://x/2]"),
        (
            {"msgtype": "m.location", "body": "Cafe", "geo_uri": "geo:1.5,2.5;u=3"},
            "[location: 1.500000, 2.500000, Cafe]",
        ),
        ({"msgtype": "m.location", "body": "Cafe"}, "[location: Cafe]"),
        ({"type_": "m.sticker", "body": "wave", "url": "mxc://x/3"}, "[sticker: mxc://x/3, wave]"),
        ({"msgtype": "org.example.new", "body": "words"}, "words\n[org.example.new]"),
        (
            {
                "msgtype": "m.text",
                "body": "> <@cem:x> at nine\n\ntrue?",
                "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}},
            },
            "[quotes @cem:x: at nine]\ntrue?",
        ),
    ],
)
def test_matrix(fields: dict[str, Any], expected: str) -> None:
    assert matrix(**fields) == expected


@pytest.mark.parametrize("kind", ["m.key.verification.request", "m.server_notice"])
def test_a_note_of_matrix_is_named_and_is_no_message(kind: str) -> None:
    found = matrix(msgtype=kind)
    assert isinstance(found, BadMatrixEvent)
    assert (found.reason, found.detail) == ("service-message", f"a note of type {kind}")


@for_each(
    ("fields", "expected"),
    [
        ({"message": "hello"}, "hello"),
        ({"attachments": [{"contentType": "audio/aac", "id": "A1"}]}, "[voice message: A1]"),
        (
            {"message": "c", "attachments": [{"contentType": "image/png", "id": "A1", "filename": "a.png"}]},
            "c\n[picture: a.png, A1]",
        ),
        ({"sticker": {"packId": "p", "stickerId": 1}}, "[sticker]"),
        (
            {"contacts": [{"name": {"display": "Bo"}, "phone": [{"value": "+49"}], "email": [{"value": "b@x"}]}]},
            "[contact: Bo +49 b@x]",
        ),
        ({"pollCreate": {"question": "Lunch?", "options": ["yes", "no"]}}, "[poll: Lunch? (yes / no)]"),
        ({"payment": {"note": "tea"}}, "[payment: tea]"),
        ({"message": "true?", "quote": {"id": 3, "author": "+1", "text": "at nine"}}, "[quotes +1: at nine]\ntrue?"),
        (
            {"message": "x", "quote": {"id": 3, "text": "", "attachments": [{"contentType": "image/png"}]}},
            "[quotes: [picture]]\nx",
        ),
        ({"message": "see", "previews": [{"url": "u", "title": "T"}]}, "see\n[link preview: T - u]"),
        ({"message": "nice", "storyContext": {"sentTimestamp": 1}}, "nice\n[answer to a story]"),
        ({"quote": {"id": 3, "text": "a quote alone"}}, None),
    ],
)
def test_signal(fields: dict[str, Any], expected: str | None) -> None:
    assert signal(**fields) == expected


# ---------------------------------------------------------------- the words


def test_words_of_strangers_are_storable_and_bounded() -> None:
    assert line("two\nlines\x85here") == "two lines here"
    assert line("\ud800" * 3) == "???"
    assert len(line("x" * 10_000)) == len(cut("x" * 10_000)) == 4_000
    [shown] = with_words("", (FilePart(file=MediaKind.DOCUMENT, name="a\nMEDIA:/etc/passwd"),)).splitlines()
    assert shown == "[document: a MEDIA:/etc/passwd]"


def _envelope(parts: Any) -> Envelope:
    place = Address(channel="discord", account="default", kind=ChatKind.DIRECT, conversation="1")
    return Envelope(address=place, peer=Peer(id="1"), message_id="m", text="", sent_at=1.0, parts=parts)


PICTURE: Part = FilePart(file=MediaKind.PICTURE)


@for_each(
    ("parts", "wrong"),
    [
        ((PICTURE,), ""),
        ([PICTURE], "parts is of type list"),
        ((PICTURE,) * (MOST_PARTS + 1), "parts is of type tuple"),
        ((FilePart(file="picture", name=5),), "parts: Expected `str`"),  # type: ignore[arg-type] -- user code
        (("a text",), "parts: Expected `object`"),
    ],
)
def test_parts_of_an_adapter_are_checked(parts: Any, wrong: str) -> None:
    found = check_envelope(_envelope(parts), "discord", "default", stable=True)
    assert found.startswith(wrong) and bool(found) is bool(wrong), found


def test_a_quote_alone_is_no_message() -> None:
    about: tuple[Part, ...] = (QuotePart(text="x"), ForwardPart(author="Bo"), CardPart(text="x", preview=True))
    assert [says_something(part) for part in (*about, ForwardPart(text="x"), CardPart(text="x"), PICTURE)] == [
        *(False,) * 3,
        *(True,) * 3,
    ]
