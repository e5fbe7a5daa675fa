"""The adapter kit on the real Slack adapter, against its server on the wire."""

import pytest

from tests.support.wire.bench import WireBench, wire_kit
from tests.support.wire.slack import SlackBench, SlackWebhookBench
from trunkline.core.testing.adapter_kit import KitReport

#: what Slack has not, so that the kit cannot try it
LACKS = {
    "same-key", "same-key-later", "resent-after-loss",  # no keys
    "look-up", "look-up-fails", "found-after-loss",  # no look-up
    "poll", "markup", "no-fallback",  # no polls, one form of texts, one transport
    "ready", "not-ready",  # it can send without a socket
}  # fmt: skip


def check(kind: type[WireBench], lacks: set[str]) -> KitReport:
    report = wire_kit(kind, patience=3.0, settle=0.15)
    assert report.failures == (), str(report)
    assert {check.id for check in report.not_tried} == lacks
    return report


def test_socket_mode() -> None:
    check(SlackBench, LACKS)


def test_events_by_http() -> None:
    # There is no connection that could break: Slack calls the gateway.
    check(SlackWebhookBench, LACKS | {"broken-stream"})


class Mrkdwn(SlackBench):
    """Texts in Slack's own markup."""

    config = {**SlackBench.config, "text": "mrkdwn"}  # noqa: RUF012 -- as in the base


@pytest.mark.parametrize("name", ["send", "media", "payload", "edit", "longest", "too-long"])
def test_texts_in_slacks_own_markup(name: str) -> None:
    report = wire_kit(Mrkdwn, only=[name], patience=3.0, settle=0.15)
    assert report.failures == report.not_tried == (), str(report)
