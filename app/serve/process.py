"""The process of ``trunkline serve``: what it prints, and what signals do to it."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator
from contextlib import suppress

import anyio

from trunkline.app.serve.logs import LOGGER, Logs, logging_to_stderr
from trunkline.app.serve.redaction import Redaction
from trunkline.app.serve.reload import Reloader
from trunkline.app.serve.server import Serving, serving
from trunkline.app.serve.settings import Settings
from trunkline.app.terminal.output import print_error, print_lines
from trunkline.core.errors import LeaseLost, StoreError, TrunklineError, UsageError
from trunkline.core.gc_tuning import fewer_collections

#: exit code when another process has taken over the store; a supervisor starts this one again, which then stands by
TAKEN_OVER = 1
_STDERR = 2
_RELOAD: int | None = getattr(signal, "SIGHUP", None)


def run_server(settings: Settings) -> int:
    """Serve until a signal says to stop. Raises `UsageError` for settings or a store that cannot be used."""
    # Store, token and traces have what people write.
    os.umask(0o077)
    with logging_to_stderr(settings.log_level, settings.log_format, Redaction()) as logs:
        try:
            anyio.run(_serve, settings, logs)
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
        raise found if isinstance(found, UsageError) else UsageError(str(found))
    return 0


def _first(group: BaseExceptionGroup[TrunklineError]) -> Exception:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    assert isinstance(error, Exception)
    return error


async def _serve(settings: Settings, logs: Logs) -> None:
    stop, at_once = anyio.Event(), anyio.Event()
    had_terminal = os.isatty(_STDERR)
    async with anyio.create_task_group() as group:
        with anyio.open_signal_receiver(*_signals()) as signals:
            async with serving(settings, logs=logs, at_once=at_once) as server:
                # Now, so that what the server is made of is never looked at again.
                fewer_collections()
                watch = _Signals(stop, at_once, server.reloader, had_terminal=had_terminal)
                group.start_soon(watch.follow, signals)
                # A server goes on whose output nobody reads.
                with suppress(OSError):
                    _print_addresses(server)
                await stop.wait()
            group.cancel_scope.cancel()


def _signals() -> list[signal.Signals]:
    return [signal.SIGTERM, signal.SIGINT, *([signal.Signals(_RELOAD)] if _RELOAD is not None else [])]


class _Signals:
    """The actions of the signals."""

    def __init__(self, stop: anyio.Event, at_once: anyio.Event, reloader: Reloader, *, had_terminal: bool) -> None:
        self._stop = stop
        self._at_once = at_once
        self._reloader = reloader
        self._had_terminal = had_terminal

    async def follow(self, signals: AsyncIterator[signal.Signals]) -> None:
        """Act on signals as they come."""
        async for number in signals:
            if number == _RELOAD and not self._hung_up():
                self._reload()
            elif self._stop.is_set():
                LOGGER.warning("%s again: stopping at once", number.name)
                self._at_once.set()
            else:
                LOGGER.info("%s: stopping", number.name)
                self._stop.set()

    def _hung_up(self) -> bool:
        """Whether the terminal that the server was started in is gone, for which the system has the same signal."""
        return self._had_terminal and not os.isatty(_STDERR)

    def _reload(self) -> None:
        try:
            self._reloader.reload()
        except TrunklineError as error:
            LOGGER.error("the configuration was not reloaded, the old one stays: %s", error)


def _print_addresses(server: Serving) -> None:
    lines = [f"Trunkline serves {server.url}"]
    if server.settings.token_file is not None:
        lines.append(f"Its token is in {server.settings.token_file}")
    print_lines(*lines, flush=True)
