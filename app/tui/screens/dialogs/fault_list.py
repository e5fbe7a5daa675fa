"""The list of the fault palette: each fault with its moment and effect, or why it cannot be placed."""

from __future__ import annotations

from trunkline.app.text.cells import clean
from trunkline.app.tui.widgets.dialog_list import DialogList, DialogRow
from trunkline.app.view.faults.palette import FaultOption


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
        """Choose another moment for the selected fault."""
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
