"""`y` copies a text; `x` writes files into the current folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trunkline.app.tui.host import HostApp
from trunkline.app.tui.platform.clipboard import copy, failure
from trunkline.app.tui.platform.file_export import (
    current_folder,
    picture,
    stem_of,
    trace_bytes,
    visible_text,
    write_new,
)
from trunkline.app.tui.screens.dialogs.menu import MenuDialog
from trunkline.app.tui.screens.screen_base import ActionScreen
from trunkline.app.tui.widgets.row_list import RowList
from trunkline.app.view.explain.copy_choices import Choice, copy_choices

#: seconds that a toast with the name of a file stays
_STAY = 8.0


class CopyExportActions(ActionScreen):
    """The menus of what can be copied and written."""

    @property
    def pane(self) -> RowList:
        """The pane with the focus."""
        raise NotImplementedError

    def action_yank(self) -> None:
        if self.run_is_open():
            found = copy_choices(self.workspace.run.view, self.workspace.cursor, self.pane.row_text())
            self.host.push_screen(MenuDialog("Copy", found), lambda chosen: _copy(self.host, chosen))

    def action_export(self) -> None:
        if not self.run_is_open():
            return
        # Taken before the menu opens, which would be in the picture.
        app, run = self.host, self.workspace.run.view.run
        stem, folder = stem_of(run, self.workspace.cursor), current_folder()
        contents = {
            ".svg": picture(app).encode(),
            ".txt": visible_text(app).encode(),
            ".jsonl": b"",
        }
        texts = {".svg": "a picture of this screen", ".txt": "this screen as text", ".jsonl": "the trace of the run"}
        letters = {".svg": "s", ".txt": "t", ".jsonl": "j"}
        choices = [Choice(key=letters[end], title=f"{end[1:]} file", text=text) for end, text in texts.items()]
        choices.append(Choice(key="a", title="all of them", text=f"into {folder}"))

        def write(chosen: Choice | None) -> None:
            wanted = {} if chosen is None else {e: c for e, c in contents.items() if chosen.key in (letters[e], "a")}
            if ".jsonl" in wanted:
                wanted[".jsonl"] = trace_bytes(run)
            _write(app, folder, stem, wanted)

        app.push_screen(MenuDialog("Write into the current folder", choices), write)


def _copy(app: HostApp, chosen: Choice | None) -> None:
    if chosen is None:
        return
    try:
        where = copy(app, chosen.text)
    except OSError as error:
        text = f"on the clipboard, if the terminal allows it; it could not be written besides: {failure(error)}"
        app.notify(text, title=f"{chosen.title} copied", severity="warning", timeout=_STAY, markup=False)
        return
    app.notify(where, title=f"{chosen.title} copied", timeout=_STAY, markup=False)


def _write(app: HostApp, folder: Path, stem: str, wanted: Mapping[str, bytes]) -> None:
    """Write each file; one toast names all that were written, and each failure has a toast of its own."""
    written: list[Path] = []
    for suffix, content in wanted.items():
        try:
            written.append(write_new(folder, stem, suffix, content))
        except OSError as error:
            text = failure(error, folder / f"{stem}{suffix}")
            app.notify(text, title="not written", severity="error", timeout=_STAY, markup=False)
    if written:
        app.notify("\n".join(str(path) for path in written), title="written", timeout=_STAY, markup=False)
