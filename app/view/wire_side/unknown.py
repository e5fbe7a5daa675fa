"""What nobody can know of a gateway that is not ours, in words."""

from __future__ import annotations

from trunkline.app.view.text.cells import clean
from trunkline.core.events import TraceHeader


def gateway_name(header: TraceHeader) -> str:
    """The gateway with its version, as the trace names it."""
    return clean(header.gateway) or "a gateway that is not ours"


def not_known(header: TraceHeader) -> str:
    """Why there is nothing to show of the gateway's inside."""
    return f"not known: only the wire of {gateway_name(header)} was recorded"
