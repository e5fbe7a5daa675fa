"""The faults of the palette, a line each: its name, when, and what it will do; or why it cannot be placed here."""

from __future__ import annotations

from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.faults.palette import FaultOption
from trunkline.app.view.text.cells import clean, cut

#: where the columns begin: when it happens, and what
_WHEN, _WHAT = 21, 32


class FaultList(RowList):
    """Everything that can go wrong at the cursor."""

    def __init__(self, options: tuple[FaultOption, ...], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.options = options
        #: the moment that is chosen for a fault, where it is not the first
        self._numbers: dict[str, int] = {}

    @property
    def count(self) -> int:
        """How many faults there are."""
        return len(self.options)

    @property
    def chosen(self) -> FaultOption | None:
        """The selected fault."""
        return self.options[self.selected] if 0 <= self.selected < self.count else None

    def number_of(self, option: FaultOption) -> int:
        """Which of its moments is chosen for a fault, from 0."""
        return self._numbers.get(option.id, 0)

    def shift(self, by: int) -> None:
        """Choose another moment for the selected fault, as far as there are."""
        option = self.chosen
        if option is not None and option.moments:
            self._numbers[option.id] = max(0, min(self.number_of(option) + by, len(option.moments) - 1))
            self.invalidate()

    def cache_key(self, index: int) -> object:
        """A row tells the moment that is chosen."""
        return index, self._numbers.get(self.options[index].id, 0)

    def draw(self, index: int, width: int) -> Canvas:
        """One fault."""
        option = self.options[index]
        canvas = self.canvas(width)
        number = self.number_of(option)
        moment = option.moment(number)
        canvas.put(0, "·" if moment is None else "▸", self.palette.dim if moment is None else self.palette.warn)
        canvas.put(2, option.word, self.palette.base if moment else self.palette.faint)
        if moment is None:
            canvas.put(_WHEN, cut(clean(option.why), width - _WHEN - 1), self.palette.dim)
            return canvas
        canvas.put(_WHEN, cut(moment.label, _WHAT - _WHEN - 1), self.palette.primary if number else self.palette.base)
        canvas.put(_WHAT, cut(clean(moment.brief), width - _WHAT - 1), self.palette.dim)
        return canvas
