"""The list of past notifications."""

from __future__ import annotations

from collections.abc import Iterable

from trunkline.app.text.cells import clean
from trunkline.app.text.fact import Tone
from trunkline.app.tui.screens.dialogs.search_dialog import Item, SearchDialog
from trunkline.app.tui.state.notifications import Note

_SIGNS = {"information": ("·", Tone.PLAIN), "warning": ("!", Tone.WARN), "error": ("✗", Tone.BAD)}


class NotificationsDialog(SearchDialog[None]):
    """Notifications, newest first; typing filters them."""

    title_text = "Notes: past notifications"
    hint = "type to filter, Esc closes"
    placeholder = "words"

    def __init__(self, notes: Iterable[Note]) -> None:
        self._notes = tuple(notes)
        super().__init__()
        self.list.wraps = True
        self.list.nothing = "no notification yet"

    def show(self, text: str) -> None:
        words = text.lower().split()
        kept = [note for note in self._notes if all(word in note.text.lower() for word in words)]
        if self._notes:
            self.list.nothing = f"none of {len(self._notes)} notes has these words"
        signs = [_SIGNS[note.severity] for note in kept]
        self.list.write_items(
            Item(mark=mark, name="", text=clean(note.text), tone=tone)
            for (mark, tone), note in zip(signs, kept, strict=True)
        )

    def take(self) -> None:
        self.dismiss(None)
