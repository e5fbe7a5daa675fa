"""The adapter kit on the real adapter, against the Bot API on the wire."""

import pytest

from tests.support.wire.bench import WireBench, wire_kit
from tests.support.wire.telegram import TelegramBench, TelegramWebhookBench
from trunkline.core.testing.adapter_kit import CHECKS

#: what no adapter of Telegram can show: there are no keys, no look-up, one transport, no threads on messages
NEVER = {
    "same-key",
    "same-key-later",
    "unsupported",
    "open-thread",
    "questions",
    "look-up",
    "look-up-fails",
    "found-after-loss",
    "resent-after-loss",
    "no-fallback",
    "ready",
    "not-ready",
}


#: Telegram brings the updates of one chat in turn, and this check has one acknowledged after one that is not;
#: `test_webhook.py` has it with two chats
IN_TURN = {"acked"}


@pytest.mark.parametrize(
    ("kind", "besides", "left_out"),
    [(TelegramBench, set[str](), set[str]()), (TelegramWebhookBench, {"broken-stream"}, IN_TURN)],
    ids=["polling", "webhook-without-acked"],
)
def test_the_adapter_keeps_its_contract(kind: type[WireBench], besides: set[str], left_out: set[str]) -> None:
    report = wire_kit(kind, only=CHECKS.keys() - left_out, patience=2.0, settle=0.2)
    report.raise_for_failures()
    assert {check.id for check in report.not_tried} == NEVER | besides
