"""Facts with their labels, wrapped to the width: the Why pane. Lines that name an event lead to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec
from rich.cells import cell_len

from trunkline.app.text.cells import wrap
from trunkline.app.text.fact import Fact
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.canvas import Canvas
from trunkline.app.tui.widgets.row_list import RowList

LABEL = 10


class WhyLine(msgspec.Struct, frozen=True):
    """A drawn line of a fact; `first` carries label and mark."""

    fact: Fact
    text: str
    first: bool


class FactList(RowList):
    """A list of facts. Facts of events after the cursor are dim."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.lines: list[WhyLine] = []
        #: facts and width that the lines were wrapped from
        self._wrapped_from: tuple[list[Fact], int] = ([], 0)

    @property
    def count(self) -> int:
        return len(self.lines)

    def write(self, facts: Iterable[Fact], *, from_top: bool) -> None:
        """Show these facts; `from_top`: begin at the top, for another subject."""
        wrapped_from = (list(facts), self.size.width - 2)
        if wrapped_from != self._wrapped_from:
            self._wrapped_from = wrapped_from
            self.lines = [line for fact in wrapped_from[0] for line in self._wrapped(fact, wrapped_from[1])]
        if from_top:
            self.top, self.selected = 0, -1
        self.refresh()

    def cache_key(self, index: int) -> object:
        """A line looks the same at any index, except after the cursor."""
        line = self.lines[index]
        return line, line.fact.seq > self.workspace.cursor

    def row_text(self) -> str:
        if not 0 <= self.selected < self.count:
            return ""
        fact = self.lines[self.selected].fact
        return " ".join(part for part in (fact.label, fact.text, fact.mark) if part)

    def target(self) -> int | None:
        fact = self.lines[self.selected].fact if 0 <= self.selected < self.count else None
        return fact.seq or None if fact else None

    def _wrapped(self, fact: Fact, width: int) -> list[WhyLine]:
        room = width - LABEL - (cell_len(fact.mark) + 1 if fact.mark else 0)
        first, *rest = wrap(fact.text, room, width - LABEL - 2)
        return [WhyLine(fact, first, first=True), *(WhyLine(fact, "  " + text, first=False) for text in rest)]

    def draw(self, index: int, width: int) -> Canvas:
        line = self.lines[index]
        canvas = self.canvas(width)
        style = self.palette.tone(line.fact.tone)
        if line.fact.seq > self.workspace.cursor:
            style = self.palette.dim
        if line.first:
            canvas.put(0, line.fact.label, self.palette.primary)
            mark_style = self.palette.good if line.fact.mark == "✓" else self.palette.bad
            canvas.put(width - cell_len(line.fact.mark) - 1, line.fact.mark, mark_style)
        canvas.put(LABEL, line.text, style)
        return canvas


class DetailPane(FactList):
    """Facts about one subject, written again only if the subject, the cursor, the width or the run changed."""

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self._subject: object = None
        self._latest: tuple[object, Callable[[], tuple[str, Iterable[Fact]]]] | None = None
        self._written: tuple[object, ...] = ()

    def show(self, subject: object, make: Callable[[], tuple[str, Iterable[Fact]]]) -> None:
        """Write the title and the facts that `make` gives; begin at the top if the subject is another one."""
        self._latest = subject, make
        if self.workspace.open_run is None or not self.size.width:
            return
        run = self.workspace.open_run
        written = (run, subject, self.workspace.cursor, self.size.width, run.view.last)
        if written == self._written:
            return
        from_top = not self._written or subject != self._subject
        self._subject, self._written = subject, written
        title, facts = make()
        self.set_titles(title)
        self.write(facts, from_top=from_top)

    def on_resize(self) -> None:
        if self._latest is not None:
            self.show(*self._latest)
        super().on_resize()


class Inspector(DetailPane):
    """Explains the event under the cursor."""

    BORDER_TITLE = "Why"

    def empty_text(self) -> str:
        return "nothing to explain yet"

    def sync(self) -> None:
        if self.workspace.open_run is not None:
            self.show((self.workspace.open_run, self.workspace.cursor), self._explanation)

    def _explanation(self) -> tuple[str, Iterable[Fact]]:
        why = self.workspace.why()
        return why.title, why.lines
