"""Metrics for Prometheus."""

from __future__ import annotations

from trunkline.core.http.endpoint import Call, Endpoint, Scope
from trunkline.core.http.metrics.families import TEXT_FORMAT


async def metrics(call: Call) -> str:
    """Counters, gauges and histograms in the text format of Prometheus. They begin with the process."""
    return call.served.metrics.text()


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/metrics",
        scope=Scope.READ,
        summary="Metrics in the text format of Prometheus",
        run=metrics,
        answer=str,
        media_type=TEXT_FORMAT,
        always=True,
        tag="Health",
    ),
)
