"""The fault palette: choose a fault and its moment; previews its effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from trunkline.app.text.cells import clean, error_text, seconds
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.screens.dialog_base import Dialog
from trunkline.app.tui.screens.dialogs.fault_list import FaultList
from trunkline.app.tui.state.branching import inject
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.fact_list import FactList
from trunkline.app.tui.widgets.too_small import TooSmall
from trunkline.app.view.faults.palette import FaultOption, fault_label
from trunkline.core.errors import UsageError


class Preview(FactList):
    """The selected fault in full, and the faults that are already placed."""

    can_focus = False


class FaultPalette(Dialog[str]):
    """Returns the words of the fault that was placed, if any."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "down", "next fault", show=False),
        Binding("up,k", "up", "previous fault", show=False),
        Binding("pagedown,ctrl+d", "page_down", "a page down", show=False),
        Binding("pageup,ctrl+u", "page_up", "a page up", show=False),
        Binding("right,l", "later", "later", show=False),
        Binding("left,h", "sooner", "sooner", show=False),
        Binding("home,g", "first", "first fault", show=False),
        Binding("end,G", "last", "last fault", show=False),
        Binding("enter,space", "enter", "place it", show=False),
        Binding("escape,i,q", "back", "close", show=False),
        Binding("ctrl+c", "quit", "quit", show=False),
    ]

    def __init__(self, workspace: Workspace, options: tuple[FaultOption, ...]) -> None:
        super().__init__()
        self.workspace = workspace
        self.list = FaultList(options, id="faults")
        self.preview = Preview(workspace, id="preview")
        self._error = ""

    def compose(self) -> ComposeResult:
        at = f"after #{self.workspace.cursor}, t={seconds(self.workspace.run.view.time(self.workspace.cursor))} s"
        with Container(id="fault-box", classes="box") as box:
            box.border_title = f"What goes wrong {at}?"
            arrows = "<- ->" if self.host.ascii_only else "← →"
            box.border_subtitle = f"{arrows} when, Enter runs branch B with it, Esc closes"
            yield self.list
            yield self.preview
        yield TooSmall()

    def on_mount(self) -> None:
        self.list.fill()
        self.call_after_refresh(self.changed)

    def on_resize(self) -> None:
        self.call_after_refresh(self.changed)

    def changed(self) -> None:
        self._error = ""
        self._preview()

    def _preview(self) -> None:
        self.preview.write(self._facts(), from_top=True)

    def _facts(self) -> Iterator[Fact]:
        option = self.list.chosen
        if self._error:
            yield Fact("failed", self._error, tone=Tone.BAD)
        if option is not None:
            yield from _effect_facts(option, self.list.number_of(option))
        words = ", ".join(map(fault_label, self.workspace.branch.faults))
        if words:
            yield Fact("placed", f"{words}  (u takes the last one back)", tone=Tone.WARN)
        moment = None if option is None else option.moment(self.list.number_of(option))
        if moment is not None and moment.step is not None:
            yield Fact("step", clean(moment.written), tone=Tone.DIM)

    def repaint(self) -> None:
        self.list.fill()
        super().repaint()

    def on_option_list_option_highlighted(self) -> None:
        self.changed()

    def on_option_list_option_selected(self) -> None:
        """Place the fault that was clicked twice."""
        self.action_enter()

    def action_later(self) -> None:
        self._shift(1)

    def action_sooner(self) -> None:
        self._shift(-1)

    def _shift(self, by: int) -> None:
        self.list.shift(by)
        self.changed()

    def action_enter(self) -> None:
        """Run branch B. Stays open and shows the reason if that fails."""
        option = self.list.chosen
        moment = None if option is None else option.moment(self.list.number_of(option))
        if option is None or moment is None:
            self._error = "this one cannot be placed here"
            self._preview()
            return
        try:
            fault = inject(self.workspace, option, moment)
        except UsageError as error:
            self._error = error_text(error)
            self._preview()
            return
        self.dismiss(fault_label(fault))


def _effect_facts(option: FaultOption, number: int) -> Iterator[Fact]:
    """Effect and moment of a fault, or why it cannot be placed."""
    moment = option.moment(number)
    if moment is None:
        label, _, why = option.why.partition(": ")
        yield Fact(label if label == "not here" else "never", clean(why), tone=Tone.WARN)
        return
    which = f"{moment.label}  ({number + 1} of {len(option.moments)})" if len(option.moments) > 1 else moment.label
    yield Fact("when", which)
    yield Fact("what", clean(moment.sentence))
