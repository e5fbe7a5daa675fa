"""The adapter of Discord keeps the contract against Discord on the wire."""

from tests.support.wire.bench import wire_kit
from tests.support.wire.discord import DiscordBench
from trunkline.core.testing.adapter_kit import CheckVerdict

#: what a bot cannot do, or has no need of, and so is not tried
NOT_TRIED = {
    "look-up", "look-up-fails", "found-after-loss",  # there are keys, and no look-up
    "unsupported",  # it can send everything that the kit knows
    "markup",  # it takes texts as they are
    "no-fallback",  # it has one transport
    "ready", "not-ready",  # the account does not say
}  # fmt: skip


def test_a_bot_keeps_the_contract() -> None:
    report = wire_kit(DiscordBench, settle=0.1)
    report.raise_for_failures()
    assert {check.id for check in report.checks if check.verdict is CheckVerdict.NOT_TRIED} == NOT_TRIED
