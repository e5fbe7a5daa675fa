"""Liveness and readiness."""

from __future__ import annotations

from typing import Literal

import msgspec

from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.problems import AGAIN, Problem, stopping
from trunkline.core.http.served import Served

TAG = "Health"


class Health(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the process is alive, or ready for work."""

    status: Literal["live", "ready"]
    #: accounts of platforms that are not connected at the moment; each is connected again by itself
    disconnected: int = 0


async def live(call: Call) -> Health:
    """The loop answers, so the process is alive."""
    return Health(status="live")


async def ready(call: Call) -> Health:
    """The gateway holds its store and takes work. It does so while a platform cannot be reached."""
    check_ready(call.served)
    return Health(status="ready", disconnected=call.served.accounts.disconnected)


def check_ready(served: Served) -> None:
    """Raise `Problem` 503 while the gateway takes no work: it waits for its store, recovers, or stops."""
    if served.stopping.is_set():
        raise stopping()
    if not served.gateway.serving:
        detail = "The gateway waits for its store, or recovers unfinished work. Ask again soon."
        raise Problem(503, "standby", detail, headers={"Retry-After": str(AGAIN)})


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/v1/health/live",
        scope=None,
        summary="Is the process alive?",
        run=live,
        answer=Health,
        always=True,
        tag=TAG,
    ),
    Endpoint(
        method="GET",
        path="/v1/health/ready",
        scope=None,
        summary="Does the gateway take work?",
        run=ready,
        answer=Health,
        problems=(503,),
        always=True,
        tag=TAG,
    ),
)
