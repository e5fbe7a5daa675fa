"""The scenario picker: choose a story, read what it is about, run it with or without its defect."""

from collections.abc import Callable, Sequence
from functools import partial
from threading import Event
from typing import Any

import msgspec
from rich.cells import cell_len
from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Input

from trunkline.app.runs.model import RunSource, ScenarioEntry
from trunkline.app.text.cells import clean, cut, error_text, wrap
from trunkline.app.tui.screens.screen_base import Dialog, TooSmall
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.bars import Banner, KeyBar
from trunkline.app.tui.widgets.row_list import Canvas, RowList
from trunkline.app.view.picker.scenario_results import RunSummary, ScenarioResult, result_of
from trunkline.core.errors import UsageError

#: titles of the results, without the defect and with it, and the cells that one takes at most
_RESULTS = ("sound", "with defect")
_WIDEST = 14
#: cells of the name of a folder
_FOLDER = 8


class ScenarioList(RowList):
    """Scenarios by title, with their folder, tags and last results; words that are typed filter it."""

    #: progress of a batch, for the title
    running = ""
    words = ""
    _widths = tuple(len(title) + 2 for title in _RESULTS)

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(workspace, id=id)
        self.results = workspace.results
        self.entries = tuple(workspace.source.scenarios())
        self.shown: tuple[ScenarioEntry, ...] = self.entries
        self.selected = 0 if self.entries else -1

    def on_mount(self) -> None:
        self.head()

    @property
    def heading(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Titles of the results, once there are any."""
        return 1 if self.results.many else 0

    @property
    def count(self) -> int:
        return len(self.shown)

    def empty_text(self) -> str:
        if not self.entries:
            return "no scenario was found"
        return f"none of {len(self.entries)} has “{self.words}”: Esc clears the filter"

    @property
    def chosen(self) -> ScenarioEntry | None:
        return self.shown[self.selected] if 0 <= self.selected < self.count else None

    def choose(self, name: str) -> None:
        index = next((at for at, entry in enumerate(self.shown) if entry.id == name), None)
        if index is not None:
            self.select(index)

    def filter(self, words: str) -> None:
        """Show scenarios that have every word in their name, title, tags, source, or what their defect breaks."""
        kept = self.chosen
        self.words = words.strip()
        wanted = self.words.lower().split()
        self.shown = tuple(entry for entry in self.entries if all(word in _haystack(entry) for word in wanted))
        self.head()
        self.invalidate()
        self.select(self.shown.index(kept) if kept in self.shown else 0)

    def head(self) -> None:
        results = [(self.results.sound(entry), self.results.defect(entry)) for entry in self.shown]
        self._widths = tuple(
            min(max([len(title), *(cell_len(pair[at].cell) for pair in results)]) + 2, _WIDEST)
            for at, title in enumerate(_RESULTS)
        )
        said = self.running or self.results.summary(self.shown)
        self.set_titles(f"Scenarios {len(self.shown)}{f'   {said}' if said else ''}", self._below())

    def _below(self) -> str:
        if self.running:
            return "a or Esc stops"
        if self.words:
            return f"“{self.words}” of {len(self.entries)}, Esc clears"
        return "· not run yet   a runs all" if self.results.many else "● shows a defect: d switches it   a runs all"

    def draw_heading(self, line: int, width: int) -> Canvas:
        canvas = self.canvas(width)
        at = width - 1 - sum(self._widths)
        for title, room in zip(_RESULTS, self._widths, strict=True):
            canvas.put(at, title, self.palette.dim)
            at += room
        return canvas

    def draw(self, index: int, width: int) -> Canvas:
        entry = self.shown[index]
        canvas = self.canvas(width)
        folder = entry.path.parent.name
        canvas.put(0, cut(folder, _FOLDER - 1), self.palette.primary)
        draw = self._draw_results if self.results.many else self._draw_latest
        right = draw(canvas, entry, width)
        style = self.palette.bad if entry.unread else self.palette.base
        title = f"{entry.id}: {entry.title}" if entry.unread else entry.title
        end = canvas.put(_FOLDER, cut(clean(title), right - _FOLDER - 1), style)
        x = right - 1
        for tag in reversed([tag for tag in entry.tags if tag != folder]):
            x -= cell_len(tag) + 1
            if x < end + 2:
                break
            canvas.put(x, tag, self.palette.dim)
        return canvas

    def _draw_latest(self, canvas: Canvas, entry: ScenarioEntry, width: int) -> int:
        """Draw the latest result, else whether it has a defect. Returns the cell where that begins."""
        known = self.results.latest(entry)
        text, style = (known.cell, self.palette.tone(known.tone)) if known else ("●" if entry.bugs else "", None)
        text = cut(text, _WIDEST)
        start = width - 1 - max(cell_len(text), 1)
        canvas.put(start, text, style or self.palette.bad)
        return start

    def _draw_results(self, canvas: Canvas, entry: ScenarioEntry, width: int) -> int:
        """Draw both results. Returns the cell where they begin."""
        start = at = width - sum(self._widths)
        for result, room in zip((self.results.sound(entry), self.results.defect(entry)), self._widths, strict=True):
            canvas.put(at, cut(result.cell, room - 2), self.palette.tone(result.tone))
            at += room
        return start


def _haystack(entry: ScenarioEntry) -> str:
    return " ".join((entry.id, entry.title, entry.source, str(entry.path), *entry.tags, *entry.breaks)).lower()


class ScenarioStory(RowList):
    BORDER_TITLE = "Story"

    _entry: ScenarioEntry | None = None
    _bugs: tuple[str, ...] = ()
    _seed = 0
    _error = ""
    lines: Sequence[tuple[str, Style]] = ()

    @property
    def count(self) -> int:
        return len(self.lines)

    def show(self, entry: ScenarioEntry | None, *, bugs: tuple[str, ...], seed: int) -> None:
        self._entry, self._bugs, self._seed, self._error = entry, bugs, seed, ""
        self.set_titles(entry.id if entry else "Story")
        self.top, self.selected = 0, -1
        self.invalidate()

    def fail(self, message: str) -> None:
        self._error = message
        self.top = 0
        self.invalidate()

    def on_resize(self) -> None:
        self.invalidate()
        super().on_resize()

    def invalidate(self) -> None:
        """Wrap and style every line again, for another theme, width or result."""
        width = max(self.size.width - 3, 10)
        self.lines = [(line, style) for text, style in self._paragraphs() for line in _hanging(text, width)]
        super().invalidate()

    def _paragraphs(self) -> list[tuple[str, Style]]:
        entry, palette = self._entry, self.palette
        if entry is None:
            return []
        found: list[tuple[str, Style]] = []
        if self._error and not entry.unread:
            found += [*_problems(f"! {self._error}", palette.bad), ("", palette.base)]
        found.append((clean(entry.title), palette.base + Style(bold=True)))
        if entry.bugs:
            state, other = ("on", "off") if self._bugs else ("off", "on")
            style = palette.bad if self._bugs else palette.good
            found.append((f"defect {state}: {', '.join(entry.bugs)}  (d switches it {other})", style))
        found.append(("", palette.base))
        if entry.unread:
            return found + _problems(entry.story, palette.bad)
        for paragraph in entry.story.split("\n\n"):
            found += [(clean(" ".join(paragraph.split())), palette.base), ("", palette.base)]
        return found + self._facts(entry)

    def _facts(self, entry: ScenarioEntry) -> list[tuple[str, Style]]:
        """Faults, expectations, results and source."""
        palette = self.palette
        title = palette.primary
        found: list[tuple[str, Style]] = []
        if entry.troubles:
            found.append(("what goes wrong", title))
            found += [(f"  {line}", palette.base) for line in entry.troubles]
        found.append(("expected", title))
        held = f", and {', '.join(entry.exercised)} put to the test" if entry.exercised else ""
        found.append((f"  without a defect: everything holds{held}", palette.base))
        if entry.breaks:
            found.append((f"  with the defect: {', '.join(entry.breaks)} broken", palette.base))
        found.append(("last result", title))
        found.append(self._result("without a defect", self.workspace.results.sound(entry)))
        if entry.bugs:
            found.append(self._result("with the defect", self.workspace.results.defect(entry)))
        found.append(("", palette.base))
        if entry.source:
            found.append((f"source: {clean(entry.source)}", palette.dim))
        found.append((f"{', '.join(entry.tags)}  seed {self._seed}", palette.dim))
        found.append((str(entry.path), palette.dim))
        return found

    def _result(self, which: str, result: RunSummary) -> tuple[str, Style]:
        return f"  {which}: {result.words}", self.palette.tone(result.tone)

    def draw(self, index: int, width: int) -> Canvas:
        text, style = self.lines[index]
        canvas = self.canvas(width)
        canvas.put(0, text, style)
        return canvas


def _problems(text: str, style: Style) -> list[tuple[str, Style]]:
    """Several problems of one file, a paragraph each."""
    return [(clean(line.rstrip()), style) for line in text.splitlines() if line.strip()]


def _hanging(text: str, width: int) -> list[str]:
    """Wrapped lines; an indented text has a hanging indent."""
    indent = len(text) - len(text.lstrip())
    if not indent:
        return wrap(text, width) if text else [""]
    first, *rest = wrap(text.lstrip(), width - indent - 2)
    return [" " * indent + first, *(" " * (indent + 2) + line for line in rest)]


# Runs many scenarios in a thread; each result is taken in the thread of the screen.


class BatchJob(msgspec.Struct, frozen=True, kw_only=True):
    entry: ScenarioEntry
    seed: int
    bugs: tuple[str, ...]


def jobs_of(entries: Sequence[ScenarioEntry]) -> list[BatchJob]:
    """Each scenario without its defect, and once more with it; always with its own seed."""
    return [
        BatchJob(entry=entry, seed=entry.seed or 0, bugs=bugs)
        for entry in entries
        for bugs in (((), entry.bugs) if entry.bugs else ((),))
    ]


def result_for(source: RunSource, job: BatchJob) -> ScenarioResult:
    """Run one job. A scenario that cannot be run gives a failed result."""
    try:
        return result_of(source.run(job.entry, seed=job.seed, bugs=job.bugs))
    except UsageError as error:
        return ScenarioResult(seed=job.seed, failed=error_text(error))


class BatchRun:
    """The batch of the picker: starts, stops, and reports progress."""

    def __init__(self, screen: Screen[Any], workspace: Workspace, show: Callable[[], None]) -> None:
        """`show` draws the results, after each one."""
        self._screen = screen
        self._desk = workspace
        self._show = show
        #: set to end the current batch; none while no batch runs
        self._ended: Event | None = None
        self._number = 0
        self._total = self._done = 0

    @property
    def progress(self) -> str:
        """The progress; blank while no batch runs."""
        return f"running {self._done} of {self._total}" if self._ended is not None else ""

    def start(self, entries: Sequence[ScenarioEntry]) -> None:
        jobs = jobs_of(entries)
        if not jobs:
            return
        self._number += 1
        self._total, self._done = len(jobs), 0
        self._ended = Event()
        work = partial(self._run, self._number, jobs, self._ended)
        self._screen.run_worker(work, thread=True, group="all")

    def stop(self) -> bool:
        """End the batch after its current run. Returns false if none was running."""
        if self._ended is None:
            return False
        self._ended.set()
        self._ended = None
        return True

    def _take(self, batch: int, job: BatchJob, result: ScenarioResult) -> None:
        self._desk.results.note(job.entry, result, defect=bool(job.bugs))
        if batch == self._number and self._ended is not None:
            self._done += 1
            if self._done == self._total:
                self._ended = None
        self._show()

    def _run(self, number: int, jobs: Sequence[BatchJob], ended: Event) -> None:
        for job in jobs:
            if ended.is_set():
                return
            self._screen.call_later(self._take, number, job, result_for(self._desk.source, job))


class PickerScreen(Dialog[bool], screen="picker"):
    """A list of scenarios beside the story of the selected one. Returns whether a run was opened."""

    CSS_PATH = "screen.tcss"
    AUTO_FOCUS = "#scenarios"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        self.list = ScenarioList(workspace, id="scenarios")
        self.story = ScenarioStory(workspace, id="story")
        self.search = Input(placeholder="name, title, tag, or what its defect breaks: D2", id="search", compact=True)
        self.search.cursor_blink = False
        #: scenarios whose defect was switched off here
        self._without: set[str] = set()
        self.all = BatchRun(self, workspace, self.show_results)
        self._headed = self.list.heading

    def compose(self) -> ComposeResult:
        yield Banner()
        with Container(id="body"):
            with Container(id="choice"):
                yield self.search
                yield self.list
            yield self.story
        yield KeyBar(self.workspace, "picker")
        yield TooSmall()

    def on_mount(self) -> None:
        self.search.display = False
        if self.workspace.entry is not None:
            self.list.choose(self.workspace.entry.id)
            if self.workspace.entry.bugs and not self.workspace.bugs:
                self._without.add(self.workspace.entry.id)
        self.changed()

    def changed(self) -> None:
        entry = self.list.chosen
        self.story.show(entry, bugs=self._bugs(entry), seed=self.workspace.seed_for(entry) if entry else 0)

    def _bugs(self, entry: ScenarioEntry | None) -> tuple[str, ...]:
        return entry.bugs if entry and entry.id not in self._without else ()

    def on_row_list_clicked(self, message: RowList.Clicked) -> None:
        if message.rows is not self.list:
            return
        self.list.select(message.index)
        self.changed()
        if message.again:
            self.action_enter()

    def on_input_changed(self, message: Input.Changed) -> None:
        self.list.filter(message.value)
        self.changed()

    def on_input_submitted(self) -> None:
        self.list.focus()
        if self.list.count == 1:
            self.action_enter()

    def action_filter(self) -> None:
        self.search.display = True
        self.search.focus()

    def action_run_all(self) -> None:
        """Run every listed scenario without showing it, for its result; again: stop."""
        if not self.all.stop():
            self.all.start(self.list.shown)
        self.show_results()

    def on_unmount(self) -> None:
        self.all.stop()

    def show_results(self) -> None:
        self.list.running = self.all.progress
        self.list.head()
        self.list.invalidate()
        if self.list.heading != self._headed:
            # The titles take a line from the rows. Otherwise keep the scroll position.
            self._headed = self.list.heading
            self.list.reveal()
        self.story.invalidate()

    def action_move(self, rows: int) -> None:
        if self.focused is self.story:
            self.story.select(max(self.story.selected + rows, 0))
        else:
            super().action_move(rows)

    def action_bug(self) -> None:
        entry = self.list.chosen
        if entry is None or not entry.bugs:
            self.notify("this scenario declares no defect")
            return
        self._without ^= {entry.id}
        self.changed()

    def action_enter(self) -> None:
        """Run the selected scenario. Stays open and shows the reason if it cannot be run."""
        entry = self.list.chosen
        if entry is None:
            return
        self.all.stop()
        try:
            self.workspace.open(entry, seed=self.workspace.seed_for(entry), bugs=self._bugs(entry))
        except UsageError as error:
            self.workspace.results.note(
                entry,
                ScenarioResult(seed=self.workspace.seed_for(entry), failed=error_text(error)),
                defect=bool(entry.bugs),
            )
            self.show_results()
            self.story.fail(error_text(error))
            return
        self.dismiss(True)

    def action_back(self) -> None:
        """Stop the batch, else clear the filter, else close the picker if a run is open."""
        if self.all.stop():
            self.show_results()
        elif self.search.display and (self.search.has_focus or self.search.value):
            self.search.value = ""
            self.search.display = False
            self.list.focus()
        elif self.workspace.open_run is not None:
            self.dismiss(False)
        else:
            self.notify("choose a scenario, or press q to quit")
