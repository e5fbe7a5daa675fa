"""Each platform over its own sockets: its adapter sends, receives, and is in doubt of a send whose answer is lost.

`test_kit.py` of each platform has everything else that an adapter promises.
"""

import pytest

from tests.support.wire.bench import wire_kit
from tests.support.wire.discord import DiscordBench
from tests.support.wire.matrix import MatrixBench
from tests.support.wire.signal import SignalBench
from tests.support.wire.slack import SlackBench
from tests.support.wire.telegram import TelegramBench
from tests.support.wire.whatsapp import CLOUD, WhatsAppBench

BENCHES = {
    "discord": (DiscordBench, ""),
    "matrix": (MatrixBench, ""),
    "signal": (SignalBench, ""),
    "slack": (SlackBench, ""),
    "telegram": (TelegramBench, ""),
    "whatsapp": (WhatsAppBench, CLOUD),
}


@pytest.mark.parametrize("platform", BENCHES)
def test_a_send_a_message_and_a_lost_answer(platform: str) -> None:
    kind, settings = BENCHES[platform]
    report = wire_kit(kind, settings, only=["send", "inbound", "lost-response"], settle=0.1)
    assert report.failures == report.not_tried == (), str(report)
