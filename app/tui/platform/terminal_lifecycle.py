"""Leaving the terminal as it was: a defect of the app ends in a sentence, a signal in an orderly exit."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import cast

from rich.text import Text
from textual.app import App
from textual.drivers._writer_thread import WriterThread

from trunkline.app.errors import CRASHED, crash_message

#: what ends the app from outside; without a handler the terminal would stay as the app had it
_ENDS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")

#: the number of SIGHUP, which not every system has
_HANG_UP = 1

_Handler = Callable[[int, FrameType | None], object]


class TerminalLifecycle(App[int]):
    """For the app: how it ends, and how it sleeps, when nobody pressed a key for it."""

    #: the process is the app's own, and so are its signals; tests keep theirs
    owns_process = False

    async def on_load(self) -> None:
        """Exit in order when the process is asked to end. It is the last moment before the terminal is taken."""
        if not self.owns_process:
            return
        loop = asyncio.get_running_loop()
        threading.excepthook = _lost
        if hasattr(select, "poll"):
            gone = partial(loop.call_soon_threadsafe, self.exit, 128 + _HANG_UP)
            threading.Thread(target=_wait_for_hang_up, args=(gone,), name="hang-up", daemon=True).start()
        for name in _ENDS:
            number = getattr(signal, name, None)
            if number is not None:
                # Not every loop and thread can.
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.add_signal_handler(number, self.exit, 128 + number)

    async def on_mount(self) -> None:
        """Mind the difference between two ways of being stopped."""
        if self.owns_process and hasattr(signal, "SIGCONT"):
            _SuspendWatch(self).watch()

    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell until it lets the app go on; says so where no shell could."""
        why = _sleepless(self)
        if why:
            self.notify(why, severity="warning", timeout=4, markup=False)
            return
        self._suspend_signal()
        # The whole job, as the terminal does it: what started the app, such as make, would wait for it for ever.
        os.killpg(0, signal.SIGTSTP)

    def _fatal_error(self) -> None:
        """Instead of Textual's traceback over the whole screen: a note, printed when the terminal is restored."""
        error = self._exception or sys.exc_info()[1]
        if error is None:
            super()._fatal_error()
            return
        self.bell()
        self._return_code = CRASHED
        self._exit_renderables.append(Text(crash_message(error)))
        self._close_messages_no_wait()


def _sleepless(app: TerminalLifecycle) -> str:
    """Why the app cannot be suspended; nothing where it can."""
    if app.is_web:
        return "a page of a browser cannot be suspended"
    driver = app._driver  # pyright: ignore[reportPrivateUsage]
    if not hasattr(signal, "SIGTSTP") or driver is None or not driver.can_suspend:
        return "this terminal cannot suspend a program"
    if os.getpgrp() == os.getsid(0):
        # Nobody in this terminal is outside of the job: it would sleep for ever.
        return "no shell with job control started the app: nothing could wake it again"
    return ""


def _wait_for_hang_up(then: Callable[[], object]) -> None:
    """Sleep until the terminal is gone. Not every terminal that goes sends a signal, and reading it then never ends."""
    watched = select.poll()
    try:
        # Asked for nothing, it tells nothing but this.
        watched.register(sys.__stdin__.fileno() if sys.__stdin__ else -1, 0)
        if any(event & select.POLLHUP for _, event in watched.poll()):
            then()
    except (OSError, ValueError, RuntimeError):
        # There is no such file, or the app ended before.
        return


def _lost(failed: threading.ExceptHookArgs) -> None:
    """A thread broke. Without the one that writes to the terminal, the app would wait for it for ever.

    It breaks when its terminal is gone and no signal told: there is nothing to restore, and nobody to tell.
    """
    if isinstance(failed.thread, WriterThread):
        os._exit(128 + _HANG_UP)
    threading.__excepthook__(failed)


class _SuspendWatch:
    """Whether the app gave the terminal back before it was stopped.

    With SIGTSTP the driver does, and takes it again when the process goes on. SIGSTOP asks nobody: the terminal is
    still taken then, and a driver that takes it twice never ends. So only the picture is drawn again.
    """

    def __init__(self, app: TerminalLifecycle) -> None:
        self._app = app
        self._asleep = False
        self._stop = signal.getsignal(signal.SIGTSTP)
        self._go_on = signal.getsignal(signal.SIGCONT)

    def watch(self) -> None:
        """Stand between the signals and the driver, where it minds them."""
        if callable(self._stop) and callable(self._go_on):
            signal.signal(signal.SIGTSTP, self._stopped)
            signal.signal(signal.SIGCONT, self._continued)

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        self._asleep = True
        cast("_Handler", self._stop)(number, frame)

    def _continued(self, number: int, frame: FrameType | None) -> None:
        if self._asleep:
            self._asleep = False
            cast("_Handler", self._go_on)(number, frame)
        else:
            self._app.call_later(self._app.refresh)
