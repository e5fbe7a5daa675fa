"""The process of ``trunkline serve``: what it prints, and how signals end it."""

from __future__ import annotations

import os
import signal

import anyio

from trunkline.app.cli.io.output import print_lines
from trunkline.app.serve.server import Serving, serving
from trunkline.app.serve.settings import Settings
from trunkline.core.gc_tuning import fewer_collections


def run_server(settings: Settings) -> int:
    """Serve until a signal says to stop. Raises `UsageError` for what is wrong with the settings."""
    # Store, token and traces have what people write.
    os.umask(0o077)
    fewer_collections()
    anyio.run(_serve, settings)
    return 0


async def _serve(settings: Settings) -> None:
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        at_once = await group.start(_watch_signals, stop)
        async with serving(settings, at_once=at_once) as server:
            _print_addresses(server)
            await stop.wait()
        group.cancel_scope.cancel()


async def _watch_signals(
    stop: anyio.Event, *, task_status: anyio.abc.TaskStatus[anyio.Event] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Set `stop` at the first signal, and the event that this starts with at the second one."""
    at_once = anyio.Event()
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started(at_once)
        async for _ in signals:
            (at_once if stop.is_set() else stop).set()


def _print_addresses(server: Serving) -> None:
    lines = [f"Trunkline serves {server.url}"]
    if server.settings.token_file is not None:
        lines.append(f"Its token is in {server.settings.token_file}")
    print_lines(*lines, flush=True)
