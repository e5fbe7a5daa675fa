"""Server-sent events over a real socket: whole in order, resumed after breaks, cut when they lag, bounded, guarded."""

import asyncio
import contextlib
import json
import random
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from httpx_sse import ServerSentEvent, aconnect_sse

from tests.support.http import ALL, SETTINGS, TOKENS, Api, api, authorised, over_socket
from trunkline.core.events import EventLog, decode_event
from trunkline.core.events.gateway import InboundAckFailed
from trunkline.core.http import event_stream
from trunkline.core.http.auth import Tokens
from trunkline.core.http.event_stream import EventStreams, RecentEvents
from trunkline.core.http.settings import HttpLimits

pytestmark = pytest.mark.anyio

PATH = "/v1/events"


class Stage:
    """A server, and a client of its streams."""

    def __init__(self, one: Api, http: httpx.AsyncClient, port: int, streams: EventStreams) -> None:
        self.api, self.http, self.port, self.streams = one, http, port, streams
        self.feed = streams.feed
        self.sink = one.running.log.recorder("test")

    @property
    def log(self) -> EventLog:
        return self.api.running.log

    def record(self, count: int, text: str = "x") -> None:
        for _ in range(count):
            self.sink.record(InboundAckFailed(detail=text))

    @asynccontextmanager
    async def stream(self, query: str = "", last: str = "") -> AsyncGenerator[Any]:
        headers = {"Last-Event-ID": last} if last else {}
        async with aconnect_sse(self.http, "GET", PATH + query, headers=headers, timeout=30) as source:
            source.response.raise_for_status()
            yield source.aiter_sse()

    async def take(self, count: int, query: str = "", last: str = "") -> list[ServerSentEvent]:
        """The first events of a stream that have data."""
        found: list[ServerSentEvent] = []
        with anyio.fail_after(30):
            async with self.stream(query, last) as events:
                async for event in events:
                    if event.data:
                        found.append(event)
                    if len(found) == count:
                        break
        return found

    async def until_open(self, count: int) -> None:
        with anyio.fail_after(30):
            while self.feed.readers != count:  # noqa: ASYNC110 (nothing tells)
                await anyio.sleep(0.01)


@asynccontextmanager
async def stage(path: Path, *, events: int = 50_000, **limits: Any) -> AsyncGenerator[Stage]:
    """A server whose feed keeps so many events."""
    settings = SETTINGS if not limits else type(SETTINGS)(tokens=SETTINGS.tokens, limits=HttpLimits(**limits))
    async with api(path / "gateway.db", settings=settings) as one:
        feed = RecentEvents(one.served.log, "log-a", events=events)
        streams = EventStreams(one.served, feed)
        one.app.router.routes.append(streams.route())
        async with over_socket(one) as (http, port):
            yield Stage(one, http, port, streams)


async def test_a_new_stream_has_what_comes_and_one_after_0_has_all_that_is_kept(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        s.feed.open()
        async with s.stream() as events:
            await s.until_open(1)
            s.record(1, "new")
            first = await anext(event async for event in events if event.data)
            assert decode_event(first.data.encode()) == s.log.events[-1]
            assert first.id == f"log-a-{s.log.seq}"
        began = s.feed.oldest
        every = await s.take(s.log.seq - began + 2, "?after=0")
        assert every[0].event == "gap", "the process had begun before the feed"
        assert [decode_event(one.data.encode()) for one in every[1:]] == s.log.events[began - 1 :]


async def test_connections_that_break_at_random_lose_and_repeat_nothing(tmp_path: Path) -> None:
    draw = random.Random(7)
    async with stage(tmp_path) as s:
        s.feed.open()
        start, total = s.feed.newest, 3_000
        found: list[str] = []
        last = f"log-a-{start}"

        async def write() -> None:
            for _ in range(total // 20):
                await anyio.to_thread.run_sync(s.record, 20, "ä" * draw.randrange(200))
                await anyio.sleep(0.001)

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            with anyio.fail_after(120):
                while len(found) < total:
                    cut = draw.randrange(1, 200)
                    async with s.stream(last=last) as events:
                        async for event in events:
                            if event.data:
                                assert event.event == "message"
                                found.append(event.data)
                            last = event.id
                            cut -= 1
                            if not cut or len(found) == total:
                                break
        assert [decode_event(one.encode()) for one in found] == s.log.events[start : start + total]


async def test_only_the_kinds_that_are_asked_for_come_and_the_position_moves_on(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        s.feed.open()
        with anyio.fail_after(30):
            async with s.stream("?kinds=inbound.received,inbound.ack_failed") as events:
                await s.until_open(1)
                s.sink.record(InboundAckFailed(detail="one"))
                s.api.running.log.recorder("gateway").record(decode_event(UNWANTED).body)
                found: list[ServerSentEvent] = []
                async for event in events:
                    found.append(event)
                    if event.id == f"log-a-{s.log.seq}":
                        break
        assert [json.loads(one.data)["kind"] for one in found if one.data] == ["inbound.ack_failed"]
        refused = await s.http.get(PATH, params={"kinds": "inbound.recieved"})
        assert (refused.status_code, refused.json()["field"]) == (422, "kinds")


UNWANTED = b'{"seq":1,"at":1.0,"node":"x","kind":"adapter.ended","body":{"channel":"discord","account":"default"}}'


async def test_what_is_no_longer_kept_and_what_is_of_another_process_is_a_gap(tmp_path: Path) -> None:
    async with stage(tmp_path, events=10) as s:
        s.feed.open()
        s.record(50)
        await s.feed.wait(s.log.seq - 1)
        at = s.feed.oldest - 5
        gap, first = await s.take(2, last=f"log-a-{at}")
        assert (gap.event, json.loads(gap.data)) == ("gap", {"process": "log-a", "next": at + 5, "missing": 4})
        assert json.loads(first.data)["seq"] == at + 5
        assert gap.id == f"log-a-{at + 4}", "who breaks off after the marker gets what follows it"
        gap, first = await s.take(2, last="log-b-3")
        assert json.loads(gap.data) == {"process": "log-a", "next": at + 5, "of": "log-b"}
        assert json.loads(first.data)["seq"] == at + 5


async def test_a_reader_that_never_reads_is_cut_and_holds_no_memory_meanwhile(tmp_path: Path) -> None:
    async with stage(tmp_path, events=200, write_time=0.5) as s:
        s.feed.open()
        with contextlib.closing(socket.create_connection(("127.0.0.1", s.port))) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            raw.sendall(f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ALL}\r\n\r\n".encode())
            await s.until_open(1)
            with anyio.fail_after(60):
                while s.feed.readers:
                    # 1 MB each time: far more than the buffers of a connection hold.
                    s.record(200, "y" * 5_000)
                    await anyio.sleep(0.01)
            assert s.feed.size < 2_000_000
        assert len(await s.take(2, f"?after=log-a-{s.feed.newest - 2}")) == 2, "others are served"


async def test_a_slow_reader_is_told_that_it_lags_and_goes_on_with_its_last_id(tmp_path: Path) -> None:
    async with stage(tmp_path, events=100) as s:
        s.feed.open()
        seen: list[ServerSentEvent] = []
        with anyio.fail_after(60):
            async with s.stream() as events:
                await s.until_open(1)
                s.record(1)
                async for event in events:
                    seen.append(event)
                    for _ in range(40 if len(seen) < 1_000 else 0):
                        s.record(100, "z" * 2_000)
                        await asyncio.sleep(0)
        assert [event.event for event in seen].index("lagged") == len(seen) - 1, "the stream ends there"
        lagged = json.loads(seen[-1].data)
        last = int(seen[-1].id.rpartition("-")[2])
        assert lagged["missing"] == lagged["next"] - 1 - last > 0
        gap, *_ = await s.take(2, last=seen[-1].id)
        assert gap.event == "gap"


async def test_a_stream_ends_whose_token_is_revoked(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        tokens: Tokens = s.api.app.state.tokens
        async with s.stream() as events:
            await s.until_open(1)
            tokens.replace(TOKENS)
            s.record(1, "still read")
            assert (await anext(event async for event in events if event.data)).event == "message"
            tokens.replace([one for one in TOKENS if one.caller.name != "all"])
            with anyio.fail_after(20):
                assert [event.event async for event in events if event.data] == []
            await s.until_open(0)


async def test_streams_that_begin_together_are_counted_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "STREAMS", 2)
    async with stage(tmp_path) as s:
        found: list[int] = []

        async def ask() -> None:
            async with s.http.stream("GET", f"{PATH}?snapshot=true") as response:
                found.append(response.status_code)
                await enough.wait()

        enough = anyio.Event()
        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(ask)
            with anyio.fail_after(20):
                while len(found) < 6:  # noqa: ASYNC110 (nothing tells)
                    await anyio.sleep(0.01)
            enough.set()
        assert sorted(found) == [200, 200, 503, 503, 503, 503]


async def test_streams_are_few_end_with_the_server_and_are_counted_down_when_clients_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "STREAMS", 2)
    async with stage(tmp_path) as s:
        async with s.stream(), s.stream():
            await s.until_open(2)
            refused = await s.http.get(PATH)
            assert (refused.status_code, refused.json()["type"]) == (503, "urn:trunkline:problem:busy")
            assert "retry-after" in refused.headers
        await s.until_open(0)
        async with s.stream() as events:
            await s.until_open(1)
            s.api.served.stopping.set()
            with anyio.fail_after(30):
                assert [event.event async for event in events if event.data] == ["stopping"]
        await s.until_open(0)


async def test_a_silent_stream_says_that_it_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "HEARTBEAT", 0.05)
    async with stage(tmp_path) as s, s.http.stream("GET", PATH) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        text = ""
        with anyio.fail_after(30):
            async for part in response.aiter_text():
                text += part
                if text.count(":\n\n") > 2:
                    break
        assert text.startswith("retry: 1000\n\n")


@pytest.mark.parametrize("given", ["x", "log-a-", "log-a-x", "log-a-999999", "-3", "a b-3", "log-a-" + "9" * 30])
async def test_a_position_that_cannot_be_is_refused(tmp_path: Path, given: str) -> None:
    async with stage(tmp_path) as s:
        for refused in (
            await s.http.get(PATH, params={"after": given}),
            await s.http.get(PATH, headers={"Last-Event-ID": given}),
        ):
            assert (refused.status_code, refused.json()["field"]) == (422, "after")


async def test_it_needs_a_token_that_may_read(tmp_path: Path) -> None:
    async with stage(tmp_path) as s:
        for secret, status in (("wrong", 401), ("token-send", 403), ("token-operate", 403)):
            assert (await s.http.get(PATH, headers=authorised(secret))).status_code == status
        assert (await s.http.get(PATH, params={"befor": "1"})).status_code == 422
        assert s.feed.readers == 0
