"""The fault palette: choose a fault and its moment; previews its effect."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from trunkline.app.text.cells import clean, error_text
from trunkline.app.text.fact import Fact, Tone
from trunkline.app.tui.screens.screen_base import CHOOSING, Dialog
from trunkline.app.tui.state.branching import inject
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.cursor_list import FactList
from trunkline.app.tui.widgets.dialog_list import DialogList, DialogRow
from trunkline.app.view.faults.catalog import FaultOption, fault_label
from trunkline.core.errors import UsageError


class FaultList(DialogList):
    """The faults that can be placed at the cursor, each at one of its moments."""

    starts = (0, 2, 21, 32)

    def __init__(self, options: tuple[FaultOption, ...], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._faults = options
        #: id of a fault -> index of its chosen moment, where that is not the first
        self._numbers: dict[str, int] = {}

    @property
    def chosen(self) -> FaultOption | None:
        return self._faults[self.selected] if 0 <= self.selected < len(self._faults) else None

    def number_of(self, option: FaultOption) -> int:
        """Index of the chosen moment of a fault."""
        return self._numbers.get(option.id, 0)

    def shift(self, by: int) -> None:
        option = self.chosen
        if option is not None and option.moments:
            self._numbers[option.id] = max(0, min(self.number_of(option) + by, len(option.moments) - 1))
            self.fill()

    def fill(self) -> None:
        self.write(map(self._row, self._faults), keep=True)

    def _row(self, option: FaultOption) -> DialogRow:
        palette, number = self.palette, self.number_of(option)
        moment = option.moment(number)
        if moment is None:
            why = (clean(option.why), palette.dim)
            return ("·", palette.dim), (option.word, palette.faint), why
        return (
            ("▸", palette.warn),
            (option.word, palette.base),
            (moment.label, palette.primary if number else palette.base),
            (clean(moment.brief), palette.dim),
        )


class Preview(FactList):
    """The selected fault in full, and the faults that are already placed."""

    can_focus = False


class FaultPalette(Dialog[str]):
    """Returns the words of the fault that was placed, if any."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *CHOOSING,
        Binding("right,l", "shift(1)", "later", show=False),
        Binding("left,h", "shift(-1)", "sooner", show=False),
        Binding("enter,space", "enter", "place it", show=False),
        Binding("escape,i,q", "back", "close", show=False),
    ]

    def __init__(self, workspace: Workspace, options: tuple[FaultOption, ...]) -> None:
        super().__init__()
        self.workspace = workspace
        self.list = FaultList(options, id="faults")
        self.preview = Preview(workspace, id="preview")
        self.title_text = f"What goes wrong {workspace.moment}?"
        arrows = "<- ->" if self.host.ascii_only else "← →"
        self.hint = f"{arrows} when, Enter runs branch B with it, Esc closes"
        self._error = ""

    def content(self) -> Iterable[Widget]:
        return self.list, self.preview

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

    def action_shift(self, by: int) -> None:
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
