"""Queue: what was prepared and what became of it, with the sum that shows that nothing is missing."""

from __future__ import annotations

from app.tui.desk import Desk
from app.tui.keys import bindings_of
from app.tui.screens.lists import ListScreen
from app.tui.widgets.queuelist import QueueList, QueueRecord


class QueueScreen(ListScreen):
    """One row a message that was queued; Enter goes to the event that gave it its state."""

    BINDINGS = bindings_of("queue")
    name_in_keys = "queue"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, QueueList(desk, id="queue"), QueueRecord(desk, id="why"))
