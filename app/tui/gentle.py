"""Leaving the terminal as it was: a defect of the app ends in a sentence, a signal in an orderly exit."""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress

from rich.text import Text
from textual.app import App

from app.broken import BROKE, note

#: what ends the app from outside; without a handler the terminal would stay as the app had it
_ENDS = ("SIGTERM", "SIGHUP")


class Gentle(App[int]):
    """For the app: how it ends when nobody pressed a key for it."""

    async def on_mount(self) -> None:
        """Exit in order when the process is asked to end."""
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()
        for name in _ENDS:
            number = getattr(signal, name, None)
            if number is not None:
                # Not every loop and thread can.
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.add_signal_handler(number, self.exit, 128 + number)

    def _fatal_error(self) -> None:
        """Instead of Textual's traceback over the whole screen: a note, printed when the terminal is restored."""
        error = self._exception or sys.exc_info()[1]
        if error is None:
            super()._fatal_error()
            return
        self.bell()
        self._return_code = BROKE
        self._exit_renderables.append(Text(note(error)))
        self._close_messages_no_wait()
