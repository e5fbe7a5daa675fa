"""Queue: every prepared message with its state, and the balance; of a foreign gateway, its requests on the wire."""

from __future__ import annotations

from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.screens.queue.queue_list import QueueList, QueueRecord
from trunkline.app.tui.screens.wire_side.wire_lists import RequestList
from trunkline.app.tui.state.workspace import Workspace


class QueueScreen(ListScreen, screen="queue"):
    """A row per queued message; Enter goes to the event of its state."""

    def __init__(self, workspace: Workspace) -> None:
        requests = RequestList(workspace, id="requests")
        super().__init__(
            workspace, QueueList(workspace, id="queue"), QueueRecord(workspace, id="why"), of_wire=requests
        )
