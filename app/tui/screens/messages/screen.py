"""Messages: the life of each one, stage by stage, and its attempts as rows."""

from __future__ import annotations

from app.tui.desk import Desk
from app.tui.keys import bindings_of
from app.tui.screens.lists import ListScreen
from app.tui.widgets.cursorlist import Detail
from app.tui.widgets.messagelist import MessageList


class MessagesScreen(ListScreen):
    """One row a message; Enter opens it."""

    BINDINGS = bindings_of("messages")
    name_in_keys = "messages"
    filtered = True

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk, MessageList(desk, id="messages"), Detail(desk, id="why"))
