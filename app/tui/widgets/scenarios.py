"""The list of scenarios, and the story of one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.style import Style

from app.runs import ScenarioEntry
from app.tui.widgets.canvas import Canvas
from app.tui.widgets.rowlist import RowList
from app.view.text import clean, cut, wrap


class ScenarioList(RowList):
    """Scenarios by title, with their folder and tags; words that are typed filter it."""

    def __init__(self, entries: Sequence[ScenarioEntry], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.entries = tuple(entries)
        self.shown: tuple[ScenarioEntry, ...] = self.entries
        self.words = ""
        self.selected = 0 if self.entries else -1

    def on_mount(self) -> None:
        """Show how many there are."""
        self._head()

    @property
    def count(self) -> int:
        """Scenarios that pass the filter."""
        return len(self.shown)

    def empty_text(self) -> str:
        """Nothing passes, or there is nothing."""
        if not self.entries:
            return "no scenario was found"
        return f"none of {len(self.entries)} has “{self.words}”: Esc clears the filter"

    @property
    def chosen(self) -> ScenarioEntry | None:
        """The selected scenario."""
        return self.shown[self.selected] if 0 <= self.selected < self.count else None

    def choose(self, name: str) -> None:
        """Select a scenario by its id."""
        index = next((at for at, entry in enumerate(self.shown) if entry.id == name), None)
        if index is not None:
            self.select(index)

    def filter(self, words: str) -> None:
        """Show scenarios that have every word in their name, title, tags or source."""
        kept = self.chosen
        self.words = words.strip()
        wanted = self.words.lower().split()
        self.shown = tuple(entry for entry in self.entries if all(word in _haystack(entry) for word in wanted))
        self._head()
        self.forget()
        self.select(self.shown.index(kept) if kept in self.shown else 0)

    def _head(self) -> None:
        defects = "● with a defect to switch on and off"
        subtitle = f"“{self.words}” of {len(self.entries)}" if self.words else defects
        self.entitle(f"Scenarios {len(self.shown)}", subtitle)

    def draw(self, index: int, width: int) -> Canvas:
        """One scenario: title, and what it is about."""
        entry = self.shown[index]
        canvas = self.canvas(width)
        folder = entry.path.parent.name
        canvas.put(0, cut(folder, 7), self.palette.primary)
        end = canvas.put(8, cut(clean(entry.title), width - 12), self.palette.base)
        canvas.put(width - 2, "●" if entry.bugs else " ", self.palette.bad)
        x = width - 3
        for tag in reversed([tag for tag in entry.tags if tag != folder]):
            x -= cell_len(tag) + 1
            if x < end + 2:
                break
            canvas.put(x, tag, self.palette.dim)
        return canvas


def _haystack(entry: ScenarioEntry) -> str:
    return " ".join((entry.id, entry.title, entry.source, str(entry.path), *entry.tags)).lower()


class Story(RowList):
    """What a scenario tells, where it comes from, which defect it shows."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.border_title = "Story"
        self._entry: ScenarioEntry | None = None
        self._bugs: tuple[str, ...] = ()
        self._seed = 0
        self._error = ""
        self.lines: list[tuple[str, Style]] = []

    @property
    def count(self) -> int:
        """Lines, after wrapping."""
        return len(self.lines)

    def show(self, entry: ScenarioEntry | None, *, bugs: tuple[str, ...], seed: int) -> None:
        """Tell the story of a scenario."""
        self._entry, self._bugs, self._seed, self._error = entry, bugs, seed, ""
        self.entitle(entry.id if entry else "Story")
        self.top, self.selected = 0, -1
        self._wrap()

    def fail(self, message: str) -> None:
        """Say why the scenario cannot be run."""
        self._error = message
        self.top = 0
        self._wrap()

    def on_resize(self) -> None:
        """Wrap again."""
        self._wrap()
        super().on_resize()

    def repaint(self) -> None:
        """Take the styles of the theme anew."""
        self._wrap()

    def _wrap(self) -> None:
        width = max(self.size.width - 3, 10)
        self.lines = [
            (line, style) for text, style in self._paragraphs() for line in (wrap(text, width) if text else [""])
        ]
        self.forget()

    def _paragraphs(self) -> list[tuple[str, Style]]:
        entry, palette = self._entry, self.palette
        if entry is None:
            return []
        found: list[tuple[str, Style]] = []
        if self._error:
            found += [(clean(self._error), palette.bad), ("", palette.base)]
        found += [(clean(entry.title), palette.base + Style(bold=True)), ("", palette.base)]
        for paragraph in entry.story.split("\n\n"):
            found += [(clean(" ".join(paragraph.split())), palette.base), ("", palette.base)]
        if entry.bugs:
            state = "on" if self._bugs else "off"
            style = palette.bad if self._bugs else palette.good
            found.append((f"defect {state}: {', '.join(entry.bugs)}  (b)", style))
        if entry.source:
            found.append((f"source: {clean(entry.source)}", palette.dim))
        found.append((f"{', '.join(entry.tags)}  seed {self._seed}", palette.dim))
        found.append((str(entry.path), palette.dim))
        return found

    def draw(self, index: int, width: int) -> Canvas:
        """One line of prose."""
        text, style = self.lines[index]
        canvas = self.canvas(width)
        canvas.put(0, text, style)
        return canvas
