"""One log line for each request, and what else is counted of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

LOG = logging.getLogger("trunkline.http")
#: the route of requests that none matches
NO_ROUTE = "none"
#: routes that supervisors and monitors ask all the time
_PROBES = ("/v1/health/", "/metrics")


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A request that has ended. Nothing in it is a stranger's text."""

    method: str
    #: path of the route, with its parameters in braces
    route: str
    #: 0 if nothing was answered
    status: int
    seconds: float
    request_id: str
    caller: str
    #: it was a stream of events, whose time says how long a client stayed
    stream: bool = False

    @classmethod
    def of(cls, scope: Any, status: int, seconds: float, *, stream: bool) -> Seen:
        """The request of an ASGI scope."""
        state = scope["state"]
        route = getattr(scope.get("route"), "path", None) or NO_ROUTE
        return cls(
            method=scope["method"],
            route=route,
            status=status,
            seconds=seconds,
            request_id=state["request_id"],
            caller=state.get("caller", ""),
            stream=stream,
        )


Observe = Callable[[Seen], None]


def log_request(seen: Seen) -> None:
    """Log one request; probes, which come every few seconds, only in detail."""
    LOG.log(
        logging.DEBUG if seen.route.startswith(_PROBES) and seen.status < 500 else logging.INFO,
        "%s %s %d %.1f ms",
        seen.method,
        seen.route,
        seen.status,
        seen.seconds * 1000,
        extra={"request_id": seen.request_id, "caller": seen.caller},
    )
