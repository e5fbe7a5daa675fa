"""The HTTP API on a thread of its own, for clients that do not await."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio

from tests.support.http import api, over_socket


@contextmanager
def api_on_thread(path: Path, **settings: Any) -> Generator[str]:
    """Serve the API of a gateway on a store file, and give its address."""
    port, up, stopped = 0, threading.Event(), threading.Event()
    failed: list[BaseException] = []

    async def serve() -> None:
        nonlocal port
        async with api(path, **settings) as one, over_socket(one) as (_, found):
            port = found
            up.set()
            while not stopped.is_set():  # noqa: ASYNC110 (another thread sets it)
                await anyio.sleep(0.02)

    def run() -> None:
        try:
            anyio.run(serve)
        except BaseException as error:  # noqa: BLE001 (raised by the caller)
            failed.append(error)
        finally:
            up.set()

    thread = threading.Thread(target=run, name="http api")
    thread.start()
    try:
        assert up.wait(30)
        assert not failed, failed
        yield f"http://127.0.0.1:{port}"
    finally:
        stopped.set()
        thread.join(30)
        assert not failed, failed
