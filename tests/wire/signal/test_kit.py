"""The adapter of Signal keeps the contract against a daemon of signal-cli on the wire."""

from tests.support.wire.bench import wire_kit
from tests.support.wire.signal import SignalBench
from trunkline.core.testing.adapter_kit import CheckVerdict

#: what Signal does not have, or signal-cli does not say, and so is not tried
NOT_TRIED = {
    "same-key", "same-key-later", "resent-after-loss",  # Signal takes no keys
    "look-up", "look-up-fails", "found-after-loss",  # there is no look-up
    "pin", "questions", "poll", "payload", "thread", "open-thread", "no-fallback",
    "ready", "not-ready",  # the account does not say
}  # fmt: skip


def test_a_number_keeps_the_contract() -> None:
    report = wire_kit(SignalBench)
    report.raise_for_failures()
    assert {check.id for check in report.checks if check.verdict is CheckVerdict.NOT_TRIED} == NOT_TRIED
