"""Resolves a typed conversation at the cursor: to which session it goes, and why."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from trunkline.app.text.cells import error_text, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.screens.dialog_base import TYPING, Dialog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.fact_list import FactList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.explain.resolver import Resolution, answer, read_place, resolution_facts, resolve
from trunkline.core.errors import UsageError


class Answers(FactList):
    """The answer for the typed place; without one, the answers for every place of the run."""

    can_focus = False

    def empty_text(self) -> str:
        return "this run has no place: channel:account/conversation[/thread] can be typed"


class ResolvePlaceDialog(Dialog[Resolution]):
    """Returns the answer, if any."""

    AUTO_FOCUS = "#asked"
    BINDINGS = TYPING

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self.list = Answers(workspace, id="answers")
        self.asked = Input(
            placeholder="a place of this run, or channel:account/conversation[/thread]", id="asked", compact=True
        )
        self.asked.cursor_blink = False
        self._found: Resolution | None = None

    def compose(self) -> ComposeResult:
        at = f"after #{self.workspace.cursor}, t={seconds(self.workspace.run.view.time(self.workspace.cursor))} s"
        with Container(id="ask", classes="box") as box:
            box.border_title = f"Where does a conversation go {at}?"
            box.border_subtitle = "type a conversation, Enter takes the answer along, Esc closes"
            yield self.asked
            yield self.list
        yield TooSmall()

    def on_mount(self) -> None:
        self.call_after_refresh(self.ask, "")

    def on_resize(self) -> None:
        self.call_after_refresh(self.ask, self.asked.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        self.ask(message.value)

    def ask(self, text: str) -> None:
        """Show the answer for a typed conversation, or why there is none."""
        self.list.write(self._facts(text), from_top=True)

    def _facts(self, text: str) -> Iterator[Fact]:
        view, cursor = self.workspace.run.view, self.workspace.cursor
        self._found = None
        if not text.strip():
            for place in view.places.in_order():
                found = resolve(view, place.address, cursor)
                tone = Tone.GOOD if found.binding else Tone.DIM
                yield Fact("", answer(view, found), 0, tone)
            return
        try:
            place = read_place(view.places, text)
        except UsageError as error:
            yield Fact("unknown", error_text(error), tone=Tone.WARN)
            return
        self._found = resolve(view, place, cursor)
        yield from resolution_facts(view, self._found)

    def on_input_submitted(self) -> None:
        if self._found is not None:
            self.dismiss(self._found)
