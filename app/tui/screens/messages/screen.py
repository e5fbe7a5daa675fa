"""Messages: the life of each one, stage by stage, and its attempts as rows."""

from __future__ import annotations

from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.screens.messages.message_list import MessageList
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import Detail


class MessagesScreen(ListScreen, screen="messages"):
    """One row per message; Enter opens it."""

    filtered = True

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace, MessageList(workspace, id="messages"), Detail(workspace, id="why"))
