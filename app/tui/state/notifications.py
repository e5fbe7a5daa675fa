"""Notifications: a toast above the footer, and afterwards the list of notes."""

from __future__ import annotations

from collections import deque

import msgspec
from textual.app import App
from textual.notifications import SeverityLevel

from trunkline.app.text.cells import clean

#: most seconds that a toast stays; a longer time for a title, a warning or an error
STAY, STAY_LONG = 3.0, 5.0
#: length of the list
KEPT = 200


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A notification, in one line."""

    text: str
    severity: SeverityLevel


class NotificationLog(App[int]):
    """App mixin: toasts of one line, and a list of past ones."""

    def __init__(self) -> None:
        super().__init__()
        #: newest first
        self.notes: deque[Note] = deque(maxlen=KEPT)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """Show a toast of one line, and list it. Texts are never markup: they contain chat messages."""
        text = "  ".join(message.split("\n"))
        note = Note(text=clean(f"{title}: {text}" if title else text), severity=severity)
        if not self.notes or self.notes[0] != note:
            self.notes.appendleft(note)
        most = STAY_LONG if title or severity != "information" else STAY
        super().notify(note.text, severity=severity, timeout=min(timeout or most, most), markup=False)
