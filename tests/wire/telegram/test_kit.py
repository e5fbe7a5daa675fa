"""The adapter kit on the real adapter, against the Bot API on the wire."""

from __future__ import annotations

from tests.support.wire.bench import wire_kit
from tests.support.wire.telegram import TelegramBench


def test_polling() -> None:
    report = wire_kit(TelegramBench, patience=2.0, settle=0.2)
    print(report)
    report.raise_for_failures()
