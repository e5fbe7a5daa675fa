"""The message of a terminal that is too small."""

from __future__ import annotations

from textual.widgets import Static

#: least columns and lines
SMALLEST = (60, 16)


class TooSmall(Static):
    """Shown in place of everything else while the terminal is too small."""

    def __init__(self) -> None:
        super().__init__(id="too-small", markup=False)

    def on_resize(self) -> None:
        size = self.app.size  # pyright: ignore[reportUnknownMemberType]
        wide, high = SMALLEST
        self.update(f"needs {wide}x{high}, has {size.width}x{size.height}\n\nq quits")
