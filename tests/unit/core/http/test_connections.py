"""Who gets a connection, and which one is closed for it: decided without a socket."""

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import msgspec
import pytest

from tests.support.for_each import for_each
from tests.support.http import SETTINGS, api, over_socket
from trunkline.app.serve.machine import connection_limit
from trunkline.core.http.app import ENDPOINTS
from trunkline.core.http.connections import Connections, Grant, Proxies, client_of
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.routes.health import Health
from trunkline.core.http.settings import HttpLimits, Rate

#: why connections were closed
REPORTED = list[str]()
LIMITS = HttpLimits(connections=4, per_address=3, reserve=1)


class Wire(asyncio.Transport):
    """A transport that can be cut."""

    cut = False

    def abort(self) -> None:
        self.cut = True


def added(all_: Connections, *hosts: str | None) -> list[Wire]:
    made = [Wire() for _ in hosts]
    for wire, host in zip(made, hosts, strict=True):
        assert all_.add(wire, host) is Grant.ANY
    return made


def test_the_one_that_waits_for_longest_makes_room() -> None:
    REPORTED.clear()
    connections = Connections(LIMITS, Proxies(()), REPORTED.append)
    wires = added(connections, "a", "b", "c", "d")
    connections.use(wires[0])
    connections.use(wires[1])
    connections.rest(wires[1])
    (new,) = added(connections, "e")
    assert [wire.cut for wire in wires] == [False, False, True, False]
    assert len(connections) == 4
    added(connections, "f")
    assert wires[3].cut, "it waits for longer than the one that was in use since"
    assert not wires[1].cut
    assert not new.cut
    assert REPORTED == ["evicted"] * 2


def test_of_the_greediest_client() -> None:
    connections = Connections(LIMITS, Proxies(()), REPORTED.append)
    wires = added(connections, "good", "greedy", "greedy", "other")
    added(connections, "new")
    assert [wire.cut for wire in wires] == [False, True, False, False]


def test_who_has_as_many_as_one_may_have_makes_its_own_room() -> None:
    connections = Connections(LIMITS, Proxies(()), REPORTED.append)
    wires = added(connections, "good", "greedy", "greedy", "greedy", "greedy")
    assert [wire.cut for wire in wires] == [False, True, False, False, False]


def test_what_is_in_use_is_not_closed_and_leaves_a_reserve() -> None:
    connections = Connections(LIMITS, Proxies(()), REPORTED.append)
    wires = added(connections, "a", "b", "c", "d")
    for wire in wires:
        connections.use(wire)
    reserved, refused = Wire(), Wire()
    assert connections.add(reserved, "e") is Grant.RESERVED
    connections.use(reserved)
    assert connections.add(refused, "e") is Grant.NONE
    assert not any(wire.cut for wire in (*wires, reserved))
    connections.rest(reserved)
    assert connections.add(Wire(), "e") is Grant.ANY, "the one of the reserve waits, and makes room"
    assert reserved.cut


def test_a_proxy_has_no_limit_of_its_own() -> None:
    connections = Connections(
        HttpLimits(connections=100, per_address=3), Proxies(("10.0.0.0/8", "::1")), REPORTED.append
    )
    for wire in added(connections, *["10.1.2.3"] * 10, *["::1"] * 10, *[None] * 10):
        assert not wire.cut
    assert sum(wire.cut for wire in added(connections, *["11.0.0.1"] * 4)) == 1


def test_what_is_closed_counts_no_more() -> None:
    connections = Connections(LIMITS, Proxies(()), REPORTED.append)
    wires = added(connections, "a", "a", "a")
    for wire in wires:
        connections.remove(wire)
        connections.remove(wire)
        connections.rest(wire)
    assert len(connections) == 0
    assert not any(wire.cut for wire in [*wires, *added(connections, "a", "a", "a", "b")])


@for_each(
    ("host", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_a_client_is_an_address_or_a_network(host: str, client: str) -> None:
    assert client_of(host) == client


@for_each(
    ("configured", "descriptors", "limit"),
    [(None, 1024, 768), (None, 16_384, 10_000), (None, 256, 192), (2000, 1024, 768), (2000, 4096, 2000), (5, 1024, 5)],
)
def test_connections_follow_from_descriptors(configured: int | None, descriptors: int, limit: int) -> None:
    assert connection_limit(configured, descriptors) == limit


@pytest.mark.anyio
async def test_behind_a_proxy_the_client_of_its_header_counts(tmp_path: Path) -> None:
    limits = HttpLimits(rate=Rate(per_second=0.001, burst=2))
    settings = msgspec.structs.replace(SETTINGS, limits=limits, trusted_proxies=("127.0.0.1",))
    async with api(tmp_path / "gateway.db", settings=settings) as one, over_socket(one) as (http, _):
        http.headers.pop("Authorization")

        async def ask(forwarded: str) -> int:
            return (await http.get("/v1/health/live", headers={"X-Forwarded-For": forwarded})).status_code

        # What the client itself has written there stands in front, and counts for nothing.
        assert [await ask(f"10.9.9.{n}, 192.0.2.1") for n in range(3)] == [200, 200, 429]
        assert await ask("192.0.2.2, 127.0.0.1") == 200
        assert await ask("2001:db8::1") == await ask("2001:db8::2") == 200
        assert await ask("2001:db8::3") == 429


@pytest.mark.anyio
async def test_who_is_no_proxy_is_not_believed(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(SETTINGS, limits=HttpLimits(rate=Rate(per_second=0.001, burst=2)))
    async with api(tmp_path / "gateway.db", settings=settings) as one, over_socket(one) as (http, _):
        http.headers.pop("Authorization")
        found = [await http.get("/v1/health/live", headers={"X-Forwarded-For": f"192.0.2.{n}"}) for n in range(3)]
        assert [answer.status_code for answer in found] == [200, 200, 429]


def slow_endpoint() -> tuple[Endpoint, anyio.Event, anyio.Semaphore]:
    """An endpoint that answers once an event is set, and releases once for each request."""
    go, begun = anyio.Event(), anyio.Semaphore(0)

    @Endpoint("GET", "/v1/slow", None, answer=Health)
    async def slow(_: Call) -> Health:
        """Wait?"""
        begun.release()
        await go.wait()
        return Health(status="live")

    return slow, go, begun


@pytest.mark.anyio
async def test_requests_of_one_client_behind_a_proxy_are_bounded(tmp_path: Path) -> None:
    slow, go, begun = slow_endpoint()
    settings = msgspec.structs.replace(SETTINGS, limits=HttpLimits(per_address=2), trusted_proxies=("127.0.0.1",))
    gateway = api(tmp_path / "gateway.db", settings=settings, endpoints=(*ENDPOINTS, slow))
    async with gateway as one, over_socket(one) as (http, _), anyio.create_task_group() as group:
        client = {"X-Forwarded-For": "192.0.2.1"}
        for _ in range(2):
            group.start_soon(lambda: http.get("/v1/slow", headers=client))
            await begun.acquire()
        refused = await http.get("/v1/sessions", headers=client)
        assert (refused.status_code, refused.json()["type"]) == (503, "urn:trunkline:problem:busy")
        assert (await http.get("/v1/health/live", headers=client)).status_code == 200
        assert (await http.get("/v1/sessions", headers={"X-Forwarded-For": "192.0.2.2"})).status_code == 200
        go.set()
        assert (await http.get("/v1/sessions", headers={"X-Forwarded-For": "192.0.2.2"})).status_code == 200


@pytest.mark.anyio
async def test_a_crowd_is_counted_by_reason_and_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = msgspec.structs.replace(SETTINGS, limits=HttpLimits(connections=3, per_address=3, reserve=0))
    slow, go, begun = slow_endpoint()
    gateway = api(tmp_path / "gateway.db", settings=settings, endpoints=(*ENDPOINTS, slow))
    async with gateway as one, over_socket(one) as (http, port):
        async with AsyncExitStack() as stack:
            wires = [await stack.enter_async_context(await anyio.connect_tcp("127.0.0.1", port)) for _ in range(4)]
            # The first one is closed for the fourth, the others are in use, and the fifth gets nothing.
            for wire in wires[1:]:
                await wire.send(b"GET /v1/slow HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                await begun.acquire()
            for _ in range(2):
                assert (await http.get("/v1/queue")).status_code == 503
            go.set()
        text = one.served.metrics.text()
    assert 'trunkline_http_refused_total{reason="evicted"} 1' in text
    assert 'trunkline_http_refused_total{reason="busy"} 2' in text
    # More only after a while.
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "too many connections, of one address or of all: idle connections are closed for new ones"
    ]
