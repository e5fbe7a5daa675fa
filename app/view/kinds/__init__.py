"""Labels and timeline rows of all event kinds, one module for each family of kinds."""

from trunkline.app.view.kinds import (
    actions,
    bindings,
    delivery,
    hands,
    heartbeat,
    inbound,
    people,
    processes,
    script,
    sends,
    sessions,
    wire,
    world,
)
from trunkline.app.view.kinds.registry import (
    KINDS,
    KindView,
    describe,
    has_row,
    is_arrow,
    row_of,
    row_or_label,
)

__all__ = [
    "KINDS",
    "KindView",
    "actions",
    "bindings",
    "delivery",
    "describe",
    "hands",
    "has_row",
    "heartbeat",
    "inbound",
    "is_arrow",
    "people",
    "processes",
    "row_of",
    "row_or_label",
    "script",
    "sends",
    "sessions",
    "wire",
    "world",
]
