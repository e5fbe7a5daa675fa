"""The filter of the rows; counts what it keeps while it is typed."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.app.text.cells import error_text
from trunkline.app.text.fact import Tone
from trunkline.app.tui.screens.dialogs.search_dialog import Item, SearchDialog
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.timeline.filters import FIELDS, VERDICTS, FilterMatcher, TimelineFilter, parse_filter
from trunkline.core.errors import UsageError

#: matches that are shown below
SHOWN = 200


class FilterDialog(SearchDialog[str]):
    """Returns the text of the filter, blank for none."""

    title_text = "Filter the rows"
    hint = "Enter keeps these rows, an empty line all, Esc closes"
    placeholder = "words, k:wire, lane:ops, v:dup, sess:key, id:m1; ! keeps the others"

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._wrong = False
        super().__init__(str(workspace.search.filter or ""))

    def show(self, text: str) -> None:
        self._wrong = False
        try:
            filter_ = parse_filter(text)
        except UsageError as error:
            self._wrong = True
            self.list.write_items([Item(mark="✗", name=error_text(error), tone=Tone.WARN)])
            return
        self.list.write_items(self._kept(filter_) if filter_ else self._syntax())

    def _kept(self, filter_: TimelineFilter) -> Iterator[Item]:
        run, rows = self.workspace.run, self.workspace.all_rows.rows
        found = FilterMatcher(run.view, run.lanes).rows(filter_, rows)
        tone = Tone.GOOD if found else Tone.WARN
        yield Item(mark="✓" if found else "✗", name=f"{len(found)} of {len(rows)} rows", tone=tone)
        for row in found[:SHOWN]:
            yield Item(name=f"#{row.seq}", text=f"{' '.join((*row.tags, row.who, row.text))}".strip())

    def _syntax(self) -> Iterator[Item]:
        yield Item(name="word", text="rows that say it; several words: all of them")
        for field, what in FIELDS.items():
            yield Item(name=f"{field}:", text=what)
        yield Item(name="!…", text="the other rows: !k:wire")
        for verdict, what in VERDICTS.items():
            yield Item(name=f"v:{verdict}", text=what, tone=Tone.DIM)

    def take(self) -> None:
        if not self._wrong:
            self.dismiss(self.words.value)
