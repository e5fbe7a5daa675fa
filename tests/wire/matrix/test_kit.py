"""The adapter of Matrix keeps its contract, against its server on the wire."""

from tests.support.wire.bench import wire_kit
from tests.support.wire.matrix import MatrixBench
from trunkline.core.testing.adapter_kit import CheckVerdict

#: what no client of Matrix can see or do, each with the reason of the kit
NOT_TRIED = {
    "look-up": "its idempotency is key",
    "look-up-fails": "its idempotency is key",
    "found-after-loss": "its idempotency is key",
    "payload": "it has no payload",
    "markup": "it takes texts as they are",
    "no-fallback": "it has one transport",
    "ready": "it does not say whether it is ready",
    "not-ready": "it does not say whether it is ready",
}


def test_the_kit() -> None:
    report = wire_kit(MatrixBench, patience=6.0, settle=0.1)
    report.raise_for_failures()
    assert {check.id for check in report.not_tried} == NOT_TRIED.keys(), str(report)
    assert CheckVerdict.PASSED in {check.verdict for check in report.checks}
