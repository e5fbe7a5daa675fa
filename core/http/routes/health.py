"""Liveness, readiness and metrics."""

from typing import Literal

import msgspec

from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.metrics import TEXT_FORMAT
from trunkline.core.http.problems import stopping, unavailable
from trunkline.core.http.served import Served


class Health(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the process is alive, or ready for work."""

    status: Literal["live", "ready"]
    #: accounts of platforms that are not connected at the moment; each is connected again by itself
    disconnected: int = 0


@Endpoint("GET", "/v1/health/live", None, answer=Health, always=True)
async def live(call: Call) -> Health:
    """Is the process alive?

    The loop answers, so the process is alive.
    """
    return Health(status="live")


@Endpoint("GET", "/v1/health/ready", None, answer=Health, problems=(503,), always=True)
async def ready(call: Call) -> Health:
    """Does the gateway take work?

    The gateway holds its store, can write it, and takes work. It does so while a platform cannot be reached.
    """
    check_ready(call.served)
    call.served.check_writable()
    return Health(status="ready", disconnected=call.served.accounts.disconnected)


def check_ready(served: Served) -> None:
    """Raise `Problem` 503 while the gateway takes no work: it waits for its store, recovers, or stops."""
    if served.stopping.is_set():
        raise stopping()
    if not served.gateway.serving:
        detail = "The gateway waits for its store, or recovers unfinished work. Ask again soon."
        raise unavailable("standby", detail)


@Endpoint(
    "GET",
    "/metrics",
    Scope.READ,
    summary="Metrics in the text format of Prometheus",
    answer=str,
    media_type=TEXT_FORMAT,
    always=True,
    tag="Health",
)
async def metrics(call: Call) -> str:
    """Counters, gauges and histograms in the text format of Prometheus. They begin with the process."""
    return call.served.metrics.text()
