"""Which messages are the bot's own: those of the gateway's webhooks are not, the gateway recognises them itself."""

from contextlib import nullcontext

import msgspec
import pytest

from tests.support.for_each import for_each
from tests.support.own_names import own_names
from trunkline.core.adapters.discord.payloads import MessageData
from trunkline.core.adapters.discord.receiving.envelopes import check_own
from trunkline.core.adapters.own_names import OwnPost

OWN = own_names("discord", "7", "8")


@for_each(
    ("author", "webhook", "own"),
    [("7", None, True), ("5", None, False), ("8", "8", True), ("7", "9", False), ("9", "9", False), ("5", "5", False)],
)
def test_a_message_is_the_bots_own(author: str, webhook: str | None, own: bool) -> None:
    data = {"id": "1", "channel_id": "2", "author": {"id": author}, "timestamp": "", "webhook_id": webhook}
    with pytest.raises(OwnPost) if own else nullcontext():
        check_own(msgspec.convert(data, MessageData), OWN)
