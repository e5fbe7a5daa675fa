"""The bodies of requests, the names of emoji, and the configuration."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from trunkline.core.adapters.port import WebhookAnswer
from trunkline.core.adapters.slack.config import SlackConfig
from trunkline.core.adapters.slack.emoji import character_of, name_of
from trunkline.core.adapters.slack.inbound.webhook import SlackWebhook
from trunkline.core.adapters.slack.requests import is_image_url, post_of, text_of
from trunkline.core.errors import Refused
from trunkline.core.message_parts import Button, MessageParts
from trunkline.core.values import Address, ChatKind, IntentId, SendRequest

PLACE = Address(channel="slack", account="default", kind=ChatKind.CHANNEL, conversation="C1")


def request(**fields: Any) -> SendRequest:
    given = {"text": "hello", **fields}
    return SendRequest(address=PLACE, key="k", intent=IntentId("i"), chunk=0, attempt=1, **given)


def test_a_text_goes_in_the_form_of_the_configuration() -> None:
    assert post_of(request(), "markdown") == {"markdown_text": "hello"}
    assert post_of(request(), "mrkdwn") == {"text": "hello"}


def test_a_text_with_blocks_is_the_first_block() -> None:
    blocks = [{"type": "divider"}]
    body = post_of(request(payload=json.dumps(blocks), media=("https://example.org/a.PNG",)), "markdown")
    image = {"type": "image", "image_url": "https://example.org/a.PNG", "alt_text": "a.PNG"}
    assert body == {"text": "hello", "blocks": [{"type": "markdown", "text": "hello"}, image, *blocks]}
    section = {"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}
    assert text_of("hello", "mrkdwn", blocks)["blocks"] == [section, *blocks]
    assert text_of(" ", "mrkdwn", blocks)["blocks"] == blocks


def test_buttons_are_rows_of_actions() -> None:
    rows = ((Button(text="Yes"), Button(text="No", value="n")), (), (Button(text="Look", url="https://a.b/"),))
    blocks = post_of(request(parts=MessageParts(buttons=rows)), "markdown")["blocks"][1:]
    assert [len(block["elements"]) for block in blocks] == [2, 1]
    assert [one["value"] for one in blocks[0]["elements"]] == ["Yes", "n"]
    assert blocks[1]["elements"][0]["url"] == "https://a.b/"


@pytest.mark.parametrize(
    "fields",
    [
        {"payload": "no JSON"},
        {"payload": "5"},
        {"payload": '{"blocks": 5}'},
        {"payload": '{"channel": "C2"}'},
        {"payload": '{"thread_ts": "1.1"}'},
        {"payload": '{"username": "somebody"}'},
        {"payload": "[" * 100_000},
    ],
)
def test_what_slack_has_not_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        post_of(request(**fields), "markdown")


@pytest.mark.parametrize(
    ("media", "shown"),
    [
        ("https://example.org/a.png", True),
        ("https://example.org/a.gif?size=2", True),
        ("http://example.org/a.png", False),
        ("https://example.org/a.pdf", False),
        ("/tmp/a.png", False),
        ("data:image/png;base64,aaaa", False),
    ],
)
def test_only_images_with_a_public_address_are_shown_from_there(media: str, shown: bool) -> None:
    assert is_image_url(media) is shown


@pytest.mark.parametrize(
    ("emoji", "name"),
    [
        ("👍", "+1"),
        ("👍🏽", "+1::skin-tone-4"),
        ("❤️", "heart"),
        (":tada:", "tada"),
        ("thumbsup", "+1"),
        ("our-own_emoji", "our-own_emoji"),
    ],
)
def test_emoji_have_names(emoji: str, name: str) -> None:
    assert name_of(emoji) == name


def test_emoji_without_a_name() -> None:
    with pytest.raises(Refused, match=":name:"):
        name_of("🦤")
    assert character_of("+1::skin-tone-4") == "👍🏽"
    assert character_of("thumbsup") == "👍"
    assert character_of("our-own_emoji") == ":our-own_emoji:"


@pytest.mark.parametrize("more", [{}, {"app_token": {"env": "A"}, "signing_secret": {"env": "B"}}])
def test_there_is_one_way_in(more: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="app_token"):
        SlackConfig.model_validate({"bot_token": {"env": "T"}, **more})


def test_signatures_are_forgotten_when_they_are_stale_anyway() -> None:
    now = [0.0]
    host: Any = SimpleNamespace(env=SimpleNamespace(now=lambda: now[0]))
    nothing: Any = None
    taken = SlackWebhook("secret", nothing, host, nothing, 1.0)._taken
    one, two, three = (WebhookAnswer(body=word) for word in (b"1", b"2", b"3"))
    taken["one"] = one
    now[0] = 500.0
    taken["two"] = two
    assert taken.get("one") is one
    now[0] = 601.0
    taken["three"] = three
    assert [taken.get(word) for word in ("one", "two", "three")] == [None, two, three]
