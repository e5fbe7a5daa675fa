"""Which messages are the bot's own: those of the gateway's webhooks are not, the gateway recognises them itself."""

import msgspec

from tests.support.for_each import for_each
from trunkline.core.adapters.discord.payloads import MessageData
from trunkline.core.adapters.discord.receiving.inbound import BotIds, is_own

OWN = BotIds(user="7", application="8")


@for_each(
    ("author", "webhook", "own"),
    [("7", None, True), ("5", None, False), ("8", "8", True), ("7", "9", False), ("9", "9", False), ("8", None, False)],
)
def test_a_message_is_the_bots_own(author: str, webhook: str | None, own: bool) -> None:
    data = {"id": "1", "channel_id": "2", "author": {"id": author}, "timestamp": "", "webhook_id": webhook}
    assert is_own(msgspec.convert(data, MessageData), OWN) is own
