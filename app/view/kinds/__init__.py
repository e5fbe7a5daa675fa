"""Labels and timeline rows of all event kinds: who imports `registry` finds all of them."""

from trunkline.app.view.kinds import gateway, world

__all__ = ["gateway", "world"]
