"""A server that stops, requests that take long, and clients that do not read."""

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import msgspec
import pytest

from tests.support.http import ALL, SETTINGS, Api, api, authorised
from tests.support.notes_api import Notes
from tests.support.small_gateway import TinyPlatform, serving
from trunkline.core.env import system_env
from trunkline.core.http.app import build_app
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.served import Served
from trunkline.core.http.server import HttpServer
from trunkline.core.http.settings import HttpLimits

pytestmark = pytest.mark.anyio

replace = msgspec.structs.replace


class Slow(Notes):
    """An endpoint that answers when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.go_on = anyio.Event(), anyio.Event()

    async def wait(self, call: Call) -> str:
        self.began.set()
        await self.go_on.wait()
        return "done"


@asynccontextmanager
async def stoppable(one: Api, stopped: Callable[[], None]) -> AsyncGenerator[tuple[httpx.AsyncClient, HttpServer]]:
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    server = HttpServer(one.app, one.served, one.settings)

    async def run(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        await server.run([listener], task_status=task_status)
        stopped()

    async with anyio.create_task_group() as group:
        await group.start(run)
        async with httpx.AsyncClient(base_url=base, headers=authorised(), trust_env=False, timeout=20) as client:
            yield client, server


async def test_what_was_begun_is_finished(tmp_path: Path) -> None:
    slow, ended, said = Slow(), anyio.Event(), list[httpx.Response]()
    async with api(tmp_path / "gateway.db", endpoints=slow.endpoints()) as one:
        async with stoppable(one, ended.set) as (client, server), anyio.create_task_group() as group:

            async def ask() -> None:
                said.append(await client.get("/v1/wait"))

            group.start_soon(ask)
            await slow.began.wait()
            server.stop()
            await one.served.stopping.wait()
            assert (await one.http.get("/v1/notes/x")).json()["type"] == "urn:trunkline:problem:stopping"
            slow.go_on.set()
        assert [answer.json() for answer in said] == ["done"]
        with anyio.fail_after(10):
            await ended.wait()


async def test_what_takes_too_long_is_told_to_come_again(tmp_path: Path) -> None:
    slow, said = Slow(), list[httpx.Response]()
    settings = replace(SETTINGS, limits=HttpLimits(stop_time=1.0))
    gateway = api(tmp_path / "gateway.db", endpoints=slow.endpoints(), settings=settings)
    async with gateway as one, stoppable(one, lambda: None) as (client, server), anyio.create_task_group() as group:

        async def ask() -> None:
            said.append(await client.get("/v1/wait"))

        group.start_soon(ask)
        await slow.began.wait()
        server.stop()
    assert [(answer.status_code, answer.headers["retry-after"]) for answer in said] == [(503, "1")]


async def test_a_server_whose_task_is_cancelled_stops_in_order(tmp_path: Path) -> None:
    async with api(tmp_path / "gateway.db", endpoints=Notes().endpoints()) as one:
        listener = socket.create_server(("127.0.0.1", 0))
        server = HttpServer(one.app, one.served, one.settings)
        async with anyio.create_task_group() as group:
            await group.start(server.run, [listener])
            group.cancel_scope.cancel()
        assert one.served.stopping.is_set()
        assert listener.fileno() == -1, "the socket is closed"


async def test_a_client_that_does_not_read_is_cut(tmp_path: Path) -> None:
    async def big(call: Call) -> str:
        """Answer a lot."""
        return "x" * 50_000_000

    endpoint = Endpoint(method="GET", path="/v1/big", scope=Scope.READ, summary="Big", run=big, answer=str)
    settings = replace(SETTINGS, limits=HttpLimits(write_time=0.3))
    asked = f"GET /v1/big HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {ALL}\r\n\r\n".encode()
    gateway = api(tmp_path / "gateway.db", endpoints=(endpoint,), settings=settings)
    async with gateway as one, stoppable(one, lambda: None) as (client, server):
        port = client.base_url.port
        assert port is not None
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(asked)
            with anyio.fail_after(30):
                while 'route="/v1/big"' not in one.served.metrics.text():  # noqa: ASYNC110 (the metrics have no event)
                    await anyio.sleep(0.01)
            # The time to read runs from now at the latest, on the same loop: it ends first, however busy the machine.
            await anyio.sleep(1.0)
            received = 0
            try:
                with anyio.fail_after(10):
                    while True:
                        received += len(await stream.receive())
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
        assert received < 50_000_000
        assert (await client.get("/nothing")).status_code == 404
        server.stop()


async def test_a_gateway_that_waits_for_its_store_says_so(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    async with api(path, endpoints=Notes().endpoints()):
        platform = TinyPlatform()
        async with serving(path, platform) as second:
            served = Served.of(gateway=second.gateway, store=second.store, log=second.log, env=system_env())
            transport = httpx.ASGITransport(build_app(served, SETTINGS))
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=authorised()
            ) as client:
                assert (await client.get("/v1/health/live")).status_code == 200
                waiting = await client.get("/v1/health/ready")
                assert (waiting.status_code, waiting.headers["retry-after"]) == (503, "1")
                assert waiting.json()["type"] == "urn:trunkline:problem:standby"
                metrics = await client.get("/metrics")
                assert "trunkline_serving 0" in metrics.text
        platform.close()
