"""Between the app and the terminal: the life of both, the order of keys, and the last look at each line.

The terminal is left as it was: signals end the app in order, a crash prints a note, suspend and resume work.
"""

import asyncio
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import cast

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import App
from textual.color import Color
from textual.dom import DOMNode
from textual.filter import LineFilter

from trunkline.app.tui.platform.textual_private import CrashReportApp, WriterThread, driver_of

#: signals that end the app; without a handler the terminal would stay in the state of the app
_ENDING_SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT")
#: the number of SIGHUP, which not every system has
_HANG_UP = 1

_Handler = Callable[[int, FrameType | None], object]


class TerminalLifecycle(CrashReportApp):
    """App mixin: signals, suspend and resume, crash report."""

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
            self.notify(problem, severity="warning", timeout=4)
            return
        self.app_suspend_signal.publish(self)  # pyright: ignore[reportUnknownMemberType]
        # The whole job, as the terminal does it: the process that started the app, such as make, would wait for ever.
        os.killpg(0, signal.SIGTSTP)


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


#: walks along the path of a key: one behind the key itself, one behind what it posted, such as a submitted line
ROUNDS = 2
#: seconds after which the next key no longer waits: the widget that had the last one may be gone
PATIENCE = 1.0


class KeyQueue(App[int]):
    """App mixin: dispatch a key only after the previous one, and the screen it opened, is handled.

    A key goes to the widget with the focus and from there up to the app, one message queue after the other. Textual
    dispatches the next key at once, to the widget that has the focus then, before the first has opened anything. Here
    a callback follows each key through the same queues; when it comes back to the app, the key was handled.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: deque[events.Key | events.Paste] = deque()
        #: number of the key that is being handled, 0 for none: a callback of an earlier key is ignored
        self._current_key = 0
        self._dispatched = 0
        self._timeout: asyncio.TimerHandle | None = None

    async def on_event(self, event: events.Event) -> None:
        """Queue a key that comes while another is being handled."""
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            self._keys.append(event)
            if not self._current_key:
                await self._dispatch_next()
        else:
            await super().on_event(event)

    async def _dispatch_next(self) -> None:
        if not self._keys:
            self._current_key = 0
            return
        self._dispatched += 1
        self._current_key = number = self._dispatched
        target = self._key_target
        await super().on_event(self._keys.popleft())
        self._timeout = asyncio.get_running_loop().call_later(PATIENCE, self.call_later, self._finish, number)
        self._follow(target, number, ROUNDS)

    @property
    def _key_target(self) -> DOMNode:
        return self.focused or self.screen

    def _follow(self, node: DOMNode | None, number: int, rounds: int) -> None:
        """Walk the path of a key behind it; a closed queue is skipped."""
        while node is not None and node is not self:
            parent = node.parent
            if node.call_later(self._follow, parent, number, rounds):
                return
            node = parent
        self.call_later(self._follow_or_finish, number, rounds)

    async def _follow_or_finish(self, number: int, rounds: int) -> None:
        if rounds > 1 and number == self._current_key:
            self._follow(self._key_target, number, rounds - 1)
        else:
            await self._finish(number)

    async def _finish(self, number: int) -> None:
        if number == self._current_key:
            if self._timeout is not None:
                self._timeout.cancel()
            await self._dispatch_next()


class HarmlessLines(LineFilter):
    """Replaces what a terminal could take for a command. Texts are cleaned where rows are made, so it rarely acts.

    A line keeps its width: characters without a width of their own are left out.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        if all(segment.text.isprintable() for segment in segments):
            return segments
        return [segment if segment.control else Segment(_harmless(segment.text), segment.style) for segment in segments]


def _harmless(text: str) -> str:
    return "".join(char if char.isprintable() else " " * cell_len(char) for char in text)
