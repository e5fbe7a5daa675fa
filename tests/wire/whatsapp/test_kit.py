"""The adapter of WhatsApp keeps the contract against the Cloud API on the wire."""

from tests.support.wire.bench import wire_kit
from tests.support.wire.whatsapp import CLOUD, WhatsAppBench
from trunkline.core.testing.adapter_kit import CheckVerdict

#: what a business number cannot do, or the bench cannot show, and so is not tried
NOT_TRIED = {
    "same-key", "same-key-later", "resent-after-loss",  # Meta takes no keys
    "look-up", "look-up-fails", "found-after-loss",  # there is no look-up
    "edit", "delete", "pin", "questions",  # the Cloud API has none of them
    "poll", "payload", "markup", "thread", "open-thread", "no-fallback",
    "broken-stream",  # Meta opens the connections
    "ready", "not-ready",  # the account does not say
}  # fmt: skip


def test_a_business_number_keeps_the_contract() -> None:
    report = wire_kit(WhatsAppBench, CLOUD)
    report.raise_for_failures()
    assert {check.id for check in report.checks if check.verdict is CheckVerdict.NOT_TRIED} == NOT_TRIED
