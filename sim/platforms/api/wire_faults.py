"""The faults of a scenario that strike any request on the wire: sends, changes and questions alike."""

from __future__ import annotations

from collections.abc import Callable

from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused

#: fault that strikes a request before it reaches the platform -> the sender's error; None: no response
BEFORE: dict[str, Callable[[], PlatformError | None]] = {
    "drop": lambda: None,
    "reset-before": lambda: Ambiguous("the connection was reset"),
    "refuse-connection": lambda: NotSent("the connection was refused"),
}
#: faults that lose the response
LOST = ("lose-response", "reset")


def raise_refusal(kind: str, extra: float) -> None:
    """Raise the `PlatformError` with which a fault makes the platform answer. `extra`: seconds to wait."""
    if kind == "rate-limit":
        raise RateLimited("too many requests", retry_after=extra)
    if kind == "refuse":
        raise Refused("the platform refused it")
    if kind == "error":
        raise PlatformError("the platform had an internal error")
