"""The process of ``trunkline serve``: what it prints, and what signals do to it."""

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from urllib.parse import quote

import anyio

from trunkline.app.serve.logs import LOGGER, Logs, logging_to_stderr
from trunkline.app.serve.machine import LoopErrors
from trunkline.app.serve.redaction import Redaction
from trunkline.app.serve.reload import Reloader
from trunkline.app.serve.server import Serving, serving
from trunkline.app.serve.settings import Settings
from trunkline.app.serve.state import note_served, state_folder
from trunkline.app.terminal.output import print_error, print_lines
from trunkline.core.errors import LeaseLost, StoreDamaged, StoreError, StoreGone, TrunklineError, UsageError
from trunkline.core.gc_tuning import fewer_collections

#: exit code when another process has taken over the store; a supervisor starts this one again, which then stands by
TAKEN_OVER = 1
#: exit code after a third signal, and seconds that the end may take after the second
_CUT, _AT_ONCE = 1, 2.0
_STDERR = 2
_RELOAD: int | None = getattr(signal, "SIGHUP", None)


def run_server(settings: Settings) -> int:
    """Serve until a signal says to stop. Raises `UsageError` for settings or a store that cannot be used."""
    # Store, token and traces have what people write.
    os.umask(0o077)
    signals = StopSignals()
    with signals.handled(), logging_to_stderr(settings.log_level, settings.log_format, Redaction()) as logs:
        try:
            anyio.run(_serve, settings, logs, signals)
        except* LeaseLost:
            found: Exception | None = LeaseLost()
        except* (UsageError, StoreError) as group:
            found = _first(group)
        else:
            found = None
    if isinstance(found, LeaseLost):
        print_error("trunkline: another process has taken over the store; this one has ended")
        return TAKEN_OVER
    if found is not None:
        raise found
    return 0


def _first(group: BaseExceptionGroup[TrunklineError]) -> Exception:
    """The first error; of those about the store file the last one, which names the rescue copy."""
    of_file = group.subgroup((StoreDamaged, StoreGone))
    error: BaseException = group if of_file is None else of_file
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0 if of_file is None else -1]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    assert isinstance(error, Exception)
    return error


async def _serve(settings: Settings, logs: Logs, signals: "StopSignals") -> None:
    asyncio.get_running_loop().set_exception_handler(LoopErrors())
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as start:
            group.start_soon(signals.follow, start)
            async with serving(settings, logs=logs, at_once=signals.at_once) as server:
                # Now, so that what the server is made of is never looked at again.
                fewer_collections()
                signals.reloader = server.reloader
                # A server goes on whose output nobody reads.
                with suppress(OSError):
                    _print_addresses(server)
                await signals.stop.wait()
        group.cancel_scope.cancel()


class StopSignals:
    """The signals of the process, from before its loop runs until it has ended: the second one ends it in every state.

    Python calls the handler between two instructions of the main thread, also where the loop is held up. So it may
    interrupt anything, and takes no lock.
    """

    def __init__(self) -> None:
        self.stop, self.at_once = anyio.Event(), anyio.Event()
        #: of the server, once it serves; until then the first signal cancels the start
        self.reloader: Reloader | None = None
        self._had_terminal = os.isatty(_STDERR)
        #: SIGTERM and SIGINT so far
        self._stops = 0
        self._arrived = deque[signal.Signals]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()

    @contextmanager
    def handled(self) -> Generator[None]:
        """Handle the signals while the block runs."""
        wanted = [signal.SIGTERM, signal.SIGINT, *([] if _RELOAD is None else [signal.Signals(_RELOAD)])]
        before = {number: signal.signal(number, self._handle) for number in wanted}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def follow(self, start: anyio.CancelScope) -> None:
        """Act on signals as they come."""
        self._loop = asyncio.get_running_loop()
        while True:
            self._wake.clear()
            while self._arrived:
                self._act(self._arrived.popleft(), start)
            await self._wake.wait()

    def _handle(self, number: int, _: object) -> None:
        if number != _RELOAD or self._hung_up():
            self._stops += 1
            if self._stops == 2:
                _end_soon()
            elif self._stops > 2:
                os._exit(_CUT)
        self._arrived.append(signal.Signals(number))
        if self._loop is not None:
            # The loop may have closed.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake.set)

    def _hung_up(self) -> bool:
        """Whether the terminal that the server was started in is gone, for which the system has the same signal."""
        return self._had_terminal and not os.isatty(_STDERR)

    def _act(self, number: signal.Signals, start: anyio.CancelScope) -> None:
        if number == _RELOAD and not self._hung_up():
            self._reload()
        elif self.stop.is_set():
            LOGGER.warning("%s again: stopping at once", number.name)
            self.at_once.set()
        else:
            LOGGER.info("%s: stopping", number.name)
            self.stop.set()
            if self.reloader is None:
                start.cancel()

    def _reload(self) -> None:
        if self.reloader is None:
            LOGGER.warning("the configuration was not reloaded: the server is starting, ask again once it serves")
            return
        try:
            self.reloader.reload()
        except TrunklineError as error:
            LOGGER.error("the configuration was not reloaded, the old one stays: %s", error)


def _end_soon() -> None:
    """Let the system end the process in a moment, whatever holds it up: what is stored is whole at any time."""
    if sys.platform == "win32":
        os._exit(_CUT)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, _AT_ONCE)


def _print_addresses(server: Serving) -> None:
    settings = server.settings
    # One with a folder of its own is a service: its operators name it.
    if settings.state == state_folder(settings.environ):
        note_served(settings.state, settings.store_name)
    lines = [f"Trunkline serves {server.url}"]
    if settings.token_file is not None:
        lines.append(f"Its token is in {settings.token_file}")
        if sys.stdout is not None and sys.stdout.isatty():
            # Not where it may be kept: in the log of a service, or in a file.
            lines.append(f"Sign in with it: {server.url}/chat#token={quote(server.token)}")
    print_lines(*lines, flush=True)
