"""The title of a conversation on screens."""

from __future__ import annotations

from trunkline.app.view.index.places import UNDER, Places
from trunkline.core.values import Address

#: separates a parent and its thread on screens
CHILD_OF = " ▸ "


def title(places: Places, address: Address) -> str:
    """A conversation as the Bindings screen shows it: ``#ops ▸ deploy``."""
    return places.short(places.of(address)).replace(UNDER, CHILD_OF)
