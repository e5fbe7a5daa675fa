"""Messages: the life of each one, stage by stage, and its attempts as rows; of a foreign gateway, the questions."""

from __future__ import annotations

from trunkline.app.tui.screens.list_screen import ListScreen
from trunkline.app.tui.screens.messages.message_list import MessageList
from trunkline.app.tui.screens.wire_side.wire_lists import QuestionList
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import Detail


class MessagesScreen(ListScreen, screen="messages"):
    """A row per message; Enter opens it."""

    filtered = True

    def __init__(self, workspace: Workspace) -> None:
        questions = QuestionList(workspace, id="questions")
        super().__init__(
            workspace, MessageList(workspace, id="messages"), Detail(workspace, id="why"), of_wire=questions
        )
