"""A server on a thread of its own, for clients that do not await: as `trunkline serve` starts it, or the API alone."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx

from tests.support.http import api, over_socket
from trunkline.app.serve.server import serving
from trunkline.app.serve.settings import Overrides, load_settings


@contextmanager
def served_on_thread(state: Path, config: Path | None = None) -> Generator[httpx.Client]:
    """Serve with a store in a folder; gives a client that has the token with every scope."""
    settings = load_settings(config, state=state, overrides=Overrides(port=0), environ={})
    up, stop = threading.Event(), threading.Event()
    found: list[tuple[str, str]] = []

    async def serve() -> None:
        async with serving(settings) as made:
            while not made.gateway.serving:  # noqa: ASYNC110 (the gateway has no event for it)
                await anyio.sleep(0.01)
            found.append((made.url, made.token))
            up.set()
            while not stop.is_set():  # noqa: ASYNC110 (another thread sets it)
                await anyio.sleep(0.02)

    thread = threading.Thread(target=anyio.run, args=[serve], name="trunkline serve")
    thread.start()
    try:
        assert up.wait(30), "the server has not started"
        url, token = found[0]
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=30) as client:
            yield client
    finally:
        stop.set()
        thread.join(30)
        assert not thread.is_alive(), "the server has not stopped"


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
