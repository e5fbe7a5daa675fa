"""The terminal app. Only this package imports Textual, and only for `launch`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.app.tui.app import TrunklineApp, launch, launch_live

__all__ = ["TrunklineApp", "launch", "launch_live"]


def __getattr__(name: str) -> object:
    """Load the app lazily: the key table and the playback do not need it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trunkline.app.gc_policy import loading

    with loading():
        from trunkline.app.tui import app
    return getattr(app, name)
