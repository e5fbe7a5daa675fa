"""A gateway with its HTTP API in a thread, for clients that block."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.from_thread

from tests.support.http import Api, api, over_socket


@dataclass
class Served:
    """A gateway that serves, asked from another thread."""

    url: str
    api: Api
    portal: anyio.from_thread.BlockingPortal

    def call(self, do: Callable[[Api], Awaitable[Any]]) -> Any:
        """Do something in the gateway's thread, and answer its result."""
        return self.portal.call(do, self.api)


@contextmanager
def serving_url(path: Path, **more: Any) -> Generator[Served, None, None]:
    """The API on a store file, on a port of 127.0.0.1, until the block ends. `env`: that of the routes."""

    async def run(*, task_status: anyio.abc.TaskStatus[tuple[str, Api]]) -> None:
        async with api(path, **more) as one, over_socket(one) as (_, port):
            task_status.started((f"http://127.0.0.1:{port}", one))
            await anyio.sleep_forever()

    with anyio.from_thread.start_blocking_portal() as portal:
        future, (url, one) = portal.start_task(run)
        try:
            yield Served(url, one, portal)
        finally:
            future.cancel()
