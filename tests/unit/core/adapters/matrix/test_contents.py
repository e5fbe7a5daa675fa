"""The contents of events that are sent, and polls."""

from typing import Any

import pytest

from tests.support.for_each import for_each
from tools.doc_platforms import adapter_of
from trunkline.core.adapters.matrix.adapter import KEY_SECONDS, capabilities_of, transaction
from trunkline.core.adapters.matrix.config import MatrixConfig
from trunkline.core.adapters.matrix.content import edit_content, file_content, relation, text_content
from trunkline.core.adapters.matrix.polls import (
    chosen_answers,
    count_votes,
    poll_content,
    poll_text,
    read_poll,
    response_content,
)
from trunkline.core.channels import check_capabilities
from trunkline.core.errors import Refused
from trunkline.core.message_parts import MessageParts
from trunkline.core.values import Address, ChatKind, IntentId, Poll, SendRequest

_CONFIG = MatrixConfig.model_validate({"homeserver": "https://x.org", "user": "@bot:x.org", "token": {"env": "TOKEN"}})
_CAN = capabilities_of(_CONFIG)
_ADAPTER: Any = adapter_of("matrix")
_POLL = Poll(question="Which?", options=("red", "green"), max_selections=1)


def _request(**fields: Any) -> SendRequest:
    place = Address(channel="matrix", account="default", kind=ChatKind.CHANNEL, conversation="!a:x")
    usual: dict[str, Any] = {"address": place, "text": "hello", "key": "k/0", "intent": IntentId("k"), "chunk": 0}
    return SendRequest(**{**usual, "attempt": 1, **fields})


def test_the_capabilities_are_consistent() -> None:
    assert check_capabilities(_CAN) == ()
    assert _CAN.key_seconds == KEY_SECONDS


@for_each(
    "fields",
    [{"poll": _POLL, "media": ("https://x.org/a.png",)}, {"text": "x" * 16_001}, {"text": "\U0001f4a1" * 8001}],
)
def test_what_cannot_be_sent_whole_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        _ADAPTER.check_sendable(_request(**fields))


def test_what_can_be_sent() -> None:
    _ADAPTER.check_sendable(_request(text="\U0001f4a1" * 8000))
    _ADAPTER.check_sendable(_request(poll=_POLL))
    _ADAPTER.check_sendable(_request(media=("a", "b"), parts=MessageParts(file_name="x", as_voice=True)))


def test_contents() -> None:
    assert text_content("a <b>", "a &lt;b&gt;")["formatted_body"] == "a &lt;b&gt;"
    assert "formatted_body" not in text_content("a")
    assert relation(None, None) == {}
    assert relation(None, "$1") == {"m.relates_to": {"m.in_reply_to": {"event_id": "$1"}}}
    assert relation("$9", None)["m.relates_to"]["is_falling_back"]
    assert not relation("$9", "$1")["m.relates_to"]["is_falling_back"]
    edit = edit_content("$1", "new", None)
    assert (edit["m.new_content"]["body"], edit["body"]) == ("new", "* new")
    voice = file_content("mxc://x/y", "a.ogg", "audio/ogg", 3, "", MessageParts(as_voice=True))
    assert (voice["msgtype"], voice["body"], "org.matrix.msc3245.voice" in voice) == ("m.audio", "a.ogg", True)
    assert file_content("mxc://x/y", "a.pdf", "application/pdf", 3, "read this", None)["msgtype"] == "m.file"


def test_a_key_is_the_transaction_unless_it_is_too_long() -> None:
    assert transaction("intent/0") == "intent/0"
    one, two = transaction("k" * 300), transaction("k" * 301)
    assert one != two
    assert len(one) == 64


@pytest.mark.parametrize("address", ["matrix.example.org", "ftp://matrix.example.org", ""])
def test_a_homeserver_without_a_scheme_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="https://"):
        MatrixConfig.model_validate({"homeserver": address, "user": "@bot:x.org", "token": {"env": "TOKEN"}})


# ---------------------------------------------------------------- polls


def test_a_poll_is_read_as_it_was_sent() -> None:
    content = poll_content(_POLL, "Which?")
    assert read_poll(content) == ("Which?", [("1", "red"), ("2", "green")], 1)
    assert poll_text(content) == "Which?"


def test_the_stable_form_is_read_too() -> None:
    content = {
        "m.poll": {
            "question": {"m.text": [{"body": "Which?"}]},
            "max_selections": 2,
            "answers": [{"m.id": "a", "m.text": [{"body": "red"}]}, {"m.id": "b", "m.text": [{"body": "green"}]}, 7],
        }
    }
    assert read_poll(content) == ("Which?", [("a", "red"), ("b", "green")], 2)
    assert poll_text(content) == "Which?\n1. red\n2. green"
    results, votes = count_votes(content, [("@ana:x", {"m.selections": ["b", "a", "c"]})])
    assert results["options"] == [{"text": "red", "votes": 1}, {"text": "green", "votes": 1}]
    assert votes == {"@ana:x": ("green", "red")}


def test_the_last_vote_of_each_counts() -> None:
    content = poll_content(_POLL, "Which?")
    said = [
        ("@ana:x", response_content("$1", ["1"])),
        ("@bo:x", response_content("$1", ["2", "1"])),
        ("@ana:x", response_content("$1", ["2"])),
        ("@cem:x", response_content("$1", ["1"])),
        ("@cem:x", response_content("$1", [])),
        ("@dea:x", {"org.matrix.msc3381.poll.response": "odd"}),
    ]
    results, votes = count_votes(content, said)
    assert results["options"] == [{"text": "red", "votes": 0}, {"text": "green", "votes": 2}]
    assert (results["voters"], votes) == (2, {"@ana:x": ("green",), "@bo:x": ("green",)})


def test_answers_are_chosen_by_number_or_text() -> None:
    content = poll_content(_POLL, "Which?")
    assert chosen_answers(content, ["green"]) == ["2"]
    assert chosen_answers(content, [1]) == ["1"]
    for wanted in (["blue"], [3], [0], [1, 2], ["\u0663"]):
        with pytest.raises(Refused):
            chosen_answers(content, wanted)
    with pytest.raises(Refused, match="no poll"):
        chosen_answers({}, [1])
