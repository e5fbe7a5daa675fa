"""What the app told: shortly above the footer, and afterwards in the list of notes."""

from __future__ import annotations

from collections import deque

import msgspec
from textual.app import App
from textual.notifications import SeverityLevel

#: seconds that a note stays above the footer, at most; what names a place or a failure may be read twice
STAY, STAY_LONG = 3.0, 5.0
#: the list keeps the last ones
KEPT = 200


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was told, in one line."""

    text: str
    severity: SeverityLevel


class NotificationLog(App[int]):
    """For the app: notes of one line, which cover as little as can be, and a list of those that went away."""

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
        """Tell it in one line, and keep it. Texts are never markup: they hold what people said."""
        text = "  ".join(message.split("\n"))
        note = Note(text=f"{title}: {text}" if title else text, severity=severity)
        if not self.notes or self.notes[0] != note:
            self.notes.appendleft(note)
        most = STAY_LONG if title or severity != "information" else STAY
        super().notify(note.text, severity=severity, timeout=min(timeout or most, most), markup=False)
