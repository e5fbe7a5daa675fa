"""Which posts are the gateway's own: under every name, of every account, on every platform."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.support.for_each import for_each
from trunkline.core.adapters.discord.payloads import MessageData
from trunkline.core.adapters.discord.receiving.envelopes import check_own
from trunkline.core.adapters.own_names import OwnAccount, OwnNames, OwnPost
from trunkline.core.adapters.signal.updates import read_event
from trunkline.core.adapters.slack.inbound.events import read_message
from trunkline.core.adapters.telegram.updates import BadUpdate, read_update
from trunkline.core.adapters.whatsapp.updates import read_webhook
from trunkline.core.reasons import Reason


def telegram(own: OwnAccount, author: str) -> object:
    said = {"message_id": 3, "date": 1, "text": "x", "chat": {"id": -1, "type": "group"}, "from": {"id": int(author)}}
    return read_update({"update_id": 1, "message": said}, "default", own, 0).content


def discord(own: OwnAccount, author: str) -> None:
    data = {"id": "1", "channel_id": "2", "author": {"id": author}, "timestamp": ""}
    check_own(msgspec.convert(data, MessageData), own)


def slack(own: OwnAccount, author: str) -> None:
    read_message({"type": "message", "channel": "C1", "ts": "1.1", "user": author}, "default", own, {}, None)


def signal(own: OwnAccount, author: str) -> None:
    envelope = {"sourceUuid": author, "dataMessage": {"timestamp": 1, "message": "x"}}
    read_event(json.dumps({"envelope": envelope}), "+15550009999", own)


def matrix(own: OwnAccount, author: str) -> None:
    own.check(author)


def whatsapp(own: OwnAccount, author: str) -> object:
    said = {"from": author, "id": "wamid.1", "timestamp": "1", "type": "text", "text": {"body": "x"}}
    value = {"metadata": {"phone_number_id": "1"}, "messages": [said]}
    body = {"entry": [{"changes": [{"field": "messages", "value": value}]}]}
    found = read_webhook(json.dumps(body).encode(), "1", "default", own)
    return found.messages[0] if found.messages else found.unread[0]


@for_each(
    ("read", "name", "given"),
    [
        (telegram, "999", "999"),
        (discord, "7", "7"),
        (slack, "U0BOT", "U0BOT"),
        (signal, "0A1B", "0a1b"),
        (matrix, "@bot:example.org", "@bot:example.org"),
        (whatsapp, "15550783881", "15550783881"),
    ],
)
def test_no_account_of_a_gateway_hears_another_one(read: Callable[..., Any], name: str, given: str) -> None:
    names = OwnNames()
    for channel, account in (("elsewhere", "default"), (read.__name__, "second")):
        names.of(channel, account).learn(name)
    if read in (telegram, whatsapp):
        # Of several updates, this one alone is dropped.
        found = read(names.of(read.__name__, "default"), given)
        assert found.reason is Reason.OWN_ECHO and "second" in found.detail
    else:
        with pytest.raises(OwnPost, match="second"):
            read(names.of(read.__name__, "default"), given)
    # A person with the same id on another platform is a person.
    elsewhere = OwnNames()
    elsewhere.of("elsewhere", "default").learn(name)
    assert not isinstance(read(elsewhere.of(read.__name__, "default"), given), BadUpdate)


def test_an_account_keeps_its_names_and_a_blank_one_is_none() -> None:
    names = OwnNames()
    names.of("slack", "one").learn("U1", None, "")
    names.of("slack", "two").learn("U1")
    with pytest.raises(OwnPost, match="the account one of this gateway"):
        names.of("slack", "two").check("", None, "U1")
    names.of("slack", "two").check("", None)
