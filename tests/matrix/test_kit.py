"""The adapter keeps its contract against a real homeserver, with faults on the socket between them."""

import asyncio
from pathlib import Path

from tests.support.synapse.bench import Town, synapse_bench
from tests.support.synapse.homeserver import needs_synapse
from tests.wire.matrix.test_kit import NOT_TRIED
from trunkline.core.testing.adapter_kit import KitReport, check_channel_adapter

pytestmark = needs_synapse()


def test_the_kit(town: Town, lamp: Path) -> None:
    async def kit() -> KitReport:
        return await check_channel_adapter(lambda: synapse_bench(town, lamp), patience=8.0, settle=0.1)

    report = asyncio.run(kit())
    report.raise_for_failures()
    assert {check.id for check in report.not_tried} == {*NOT_TRIED, "transport"}, str(report)
