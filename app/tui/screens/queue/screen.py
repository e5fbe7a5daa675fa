"""Queue: every prepared message with its state, and the balance of the queue."""

from __future__ import annotations

from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.screens.queue.queue_list import QueueList, QueueRecord
from trunkline.app.tui.state.workspace import Workspace


class QueueScreen(ListScreen, screen="queue"):
    """One row per queued message; Enter goes to the event of its state."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, QueueList(workspace, id="queue"), QueueRecord(workspace, id="why"))
