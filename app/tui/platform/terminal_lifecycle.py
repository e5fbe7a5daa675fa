"""Leaves the terminal as it was: signals end the app in order, a crash prints a note, suspend and resume work."""

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

from trunkline.app.errors import CRASHED, crash_message
from trunkline.app.tui.platform.textual_private import CrashReportApp, WriterThread, driver_of

#: signals that end the app; without a handler the terminal would stay in the state of the app
_ENDING_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")
#: the number of SIGHUP, which not every system has
_HANG_UP = 1

_Handler = Callable[[int, FrameType | None], object]


class TerminalLifecycle(CrashReportApp):
    """App mixin: signals, suspend and resume, crash report."""

    crash_code = CRASHED
    #: whether the process belongs to the app, and with it the signal handlers; tests keep theirs
    owns_process = False

    async def on_load(self) -> None:
        """Install the signal handlers, before the driver takes the terminal."""
        if not self.owns_process:
            return
        loop = asyncio.get_running_loop()
        threading.excepthook = _thread_failed
        if hasattr(select, "poll"):
            hang_up = partial(loop.call_soon_threadsafe, self.exit, 128 + _HANG_UP)
            threading.Thread(target=_wait_for_hang_up, args=(hang_up,), name="hang-up", daemon=True).start()
        for name in _ENDING_SIGNALS:
            number = getattr(signal, name, None)
            if number is not None:
                # Not every loop and thread supports handlers.
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.add_signal_handler(number, self.exit, 128 + number)

    async def on_mount(self) -> None:
        """Watch for SIGSTOP, which Textual's driver mistakes for SIGTSTP."""
        if self.owns_process and hasattr(signal, "SIGCONT"):
            _SuspendWatch(self).install()

    def action_suspend_process(self) -> None:
        """Return to the shell until it resumes the app; notify if there is no such shell."""
        problem = _suspend_problem(self)
        if problem:
            self.notify(problem, severity="warning", timeout=4, markup=False)
            return
        self.app_suspend_signal.publish(self)  # pyright: ignore[reportUnknownMemberType]
        # The whole job, as the terminal does it: the process that started the app, such as make, would wait for ever.
        os.killpg(0, signal.SIGTSTP)

    def crash_note(self, error: BaseException) -> Text:
        """A sentence, and the path of the traceback."""
        return Text(crash_message(error))


def _suspend_problem(app: TerminalLifecycle) -> str:
    """Why the app cannot be suspended; blank if it can."""
    if app.is_web:
        return "a page of a browser cannot be suspended"
    driver = driver_of(app)
    if not hasattr(signal, "SIGTSTP") or driver is None or not driver.can_suspend:
        return "this terminal cannot suspend a program"
    if os.getpgrp() == os.getsid(0):
        # No process of this terminal is outside of the job, so none could resume it.
        return "no shell with job control started the app: nothing could wake it again"
    return ""


def _wait_for_hang_up(then: Callable[[], object]) -> None:
    """Block until the terminal is gone. Some terminals send no signal, and then a read of them never returns."""
    poll = select.poll()
    try:
        # An empty event mask still reports POLLHUP.
        poll.register(sys.__stdin__.fileno() if sys.__stdin__ else -1, 0)
        if any(event & select.POLLHUP for _, event in poll.poll()):
            then()
    except (OSError, ValueError, RuntimeError):
        # There is no such file, or the app has ended.
        return


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    """Exit if Textual's writer thread failed: the app would wait for it for ever.

    It fails when its terminal is gone without a signal, so there is no terminal to restore.
    """
    if isinstance(failed.thread, WriterThread):
        os._exit(128 + _HANG_UP)
    threading.__excepthook__(failed)


class _SuspendWatch:
    """Calls the driver's SIGCONT handler only after its SIGTSTP handler.

    On SIGTSTP the driver releases the terminal, on SIGCONT it takes it again. SIGSTOP runs no handler: the driver still
    has the terminal then, and a driver that takes it twice never ends. In that case the app is only drawn again.
    """

    def __init__(self, app: TerminalLifecycle) -> None:
        self._app = app
        self._suspended = False
        self._on_stop = signal.getsignal(signal.SIGTSTP)
        self._on_continue = signal.getsignal(signal.SIGCONT)

    def install(self) -> None:
        """Wrap the driver's handlers, if it has any."""
        if callable(self._on_stop) and callable(self._on_continue):
            signal.signal(signal.SIGTSTP, self._stop)
            signal.signal(signal.SIGCONT, self._continue)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._suspended = True
        cast("_Handler", self._on_stop)(number, frame)

    def _continue(self, number: int, frame: FrameType | None) -> None:
        if self._suspended:
            self._suspended = False
            cast("_Handler", self._on_continue)(number, frame)
        else:
            self._app.call_later(self._app.refresh)
