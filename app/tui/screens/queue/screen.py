"""Queue: what was prepared and what became of it, with the sum that shows that nothing is missing."""

from __future__ import annotations

from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.screens.queue.queue_list import QueueList, QueueRecord
from trunkline.app.tui.state.workspace import Workspace


class QueueScreen(ListScreen, screen="queue"):
    """One row a message that was queued; Enter goes to the event that gave it its state."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, QueueList(workspace, id="queue"), QueueRecord(workspace, id="why"))
