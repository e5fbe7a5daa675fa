"""The action of `H`: from what is selected to its delegation, and from a delegation back to its message."""

from __future__ import annotations

from abc import abstractmethod

from trunkline.app.tui.screens.screen_base import ActionScreen
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.hands.silence import why_unseen

#: screens that list messages; from any other one leads back to Messages
_LISTS = ("messages", "queue", "sessions", "timeline")
#: of these, those that show an event by the cursor alone
_BY_CURSOR = ("sessions", "timeline")


class HandActions(ActionScreen):
    """Leads between messages and delegations."""

    @property
    @abstractmethod
    def pane(self) -> RowList:
        """The pane that has the focus."""

    @abstractmethod
    def notify_once(self, text: str) -> None:
        """Say why a key did nothing."""

    def action_hand(self) -> None:
        """Show the delegation of the selected row, or of the event under the cursor."""
        if not self.run_is_open():
            return
        workspace = self.workspace
        seq = self.pane.target() or workspace.subject
        found = workspace.run.hands.led_to(workspace.run.view.event(seq)) if seq else None
        if found is None:
            unknown = self.workspace.inside_unknown()
            none = "no delegation belongs to this: 7 lists all of them"
            self.notify_once(f"delegated work is {unknown}" if unknown else none)
            return
        workspace.pick(seq)
        self.host.show("hands")
        self.host.call_after_refresh(self.host.select_on_screen, found)

    def show_message(self, delegation: str) -> None:
        """Show the last message of a delegation where messages were looked at before, or say why there is none."""
        workspace = self.workspace
        run = workspace.run.hands.history(delegation)
        if run is None:
            return
        seq = self._message_of(delegation)
        if not seq:
            row = workspace.run.hands.row(run, workspace.cursor)
            why = why_unseen(workspace.run.view, workspace.run.hands, row, workspace.cursor)
            self.notify_once(f"it has no message: {why[0]}" if why is not None else "it has no message")
            return
        screen = self.host.previous if self.host.previous in _LISTS else "messages"
        if screen in _BY_CURSOR:
            workspace.seek(seq)
        else:
            workspace.pick(seq)
        self.host.show(screen)

    def _message_of(self, delegation: str) -> int:
        """The message of a delegation that people saw last up to the cursor, else its last in the queue; 0 for none."""
        run = self.workspace.run.hands.history(delegation)
        cursor = self.workspace.cursor
        if run is None:
            return 0
        seen = [one.seq for one in run.said if one.seq <= cursor]
        histories = (self.workspace.run.histories.of(intent) for intent in run.intents)
        queued = [history.seq for history in histories if history is not None and history.seq <= cursor]
        return max(seen or queued, default=0)
