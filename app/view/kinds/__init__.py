"""Labels and timeline rows of all event kinds, one module for each family of kinds."""

from trunkline.app.view.kinds import attach, bindings, delivery, hands, heartbeat, inbound, processes, sends, world
from trunkline.app.view.kinds.registry import (
    KINDS,
    KindView,
    describe,
    event_fact,
    has_row,
    is_arrow,
    row_of,
    row_or_label,
)

__all__ = [
    "KINDS",
    "KindView",
    "attach",
    "bindings",
    "delivery",
    "describe",
    "event_fact",
    "hands",
    "has_row",
    "heartbeat",
    "inbound",
    "is_arrow",
    "processes",
    "row_of",
    "row_or_label",
    "sends",
    "world",
]
