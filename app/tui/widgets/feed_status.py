"""The state of a watched run below the tabs, while it waits or after it broke."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from trunkline.app.text.cells import clean, cut, wrap
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.row_list import LineWidget
from trunkline.app.view.timeline.status_line import PlaybackMode

#: lines at most
MOST = 3


class FeedStatus(LineWidget):
    """Hidden while all is well."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self._lines: list[str] = []

    def sync(self) -> None:
        """Show the current state, in as many lines as needed."""
        said = self._said()
        width = max(self.app.size.width - 2, 10)  # pyright: ignore[reportUnknownMemberType]
        lines = wrap(said, width) if said else []
        if len(lines) > MOST:
            lines = [*lines[: MOST - 1], cut(" ".join(lines[MOST - 1 :]), width)]
        if lines != self._lines:
            self._lines = lines
            self.styles.height = max(len(lines), 1)
            self.display = bool(lines)
        self.refresh()

    def _said(self) -> str:
        live = self.workspace.live
        if live is None or self.workspace.open_run is None:
            return ""
        said = clean(live.said())
        if live.going_on:
            return f"… {said}" if said else ""
        return f"✗ {said}: what was read stays" if said else ""

    def on_resize(self) -> None:
        self.call_after_refresh(self.sync)

    def render_line(self, y: int) -> Strip:
        status = self.workspace.status()
        broken = status is not None and status.mode is not PlaybackMode.WAITING
        canvas = self.canvas(self.size.width)
        style = self.palette.bad if broken else self.palette.warn
        if y < len(self._lines):
            canvas.put(1, self._lines[y], style + Style(bold=broken))
        return self.finish(canvas)
