"""Metrics: the text format, and what is counted."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from websockets.exceptions import ConnectionClosedError

from tests.support.chat import web_chat
from tests.support.for_each import for_each
from tests.support.http import SETTINGS, api, authorised, closed_after, over_socket
from tests.support.prometheus_text import read
from tests.support.small_gateway import ANA, Echo, TinyPlatform
from tests.support.web_chat import client as socket_client
from trunkline.app.serve.server import streams
from trunkline.core.agent import Turn
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import TurnEnded
from trunkline.core.http.app import build_app
from trunkline.core.http.metrics import Counter, Gauge, Histogram, render

pytestmark = pytest.mark.anyio


def test_labels_and_help_are_escaped() -> None:
    odd = 'a "quoted"\\ text\nwith a line end'
    counter = Counter("odd_total", "Help with \\ and\na line end.", ["what"])
    counter.add(odd)
    kinds, samples = read(render([counter]))
    assert kinds == {"odd_total": "counter"}
    assert samples == {("odd_total", (("what", odd),)): 1}


def test_numbers_are_written_so_that_they_are_read_again() -> None:
    for value in (0, 1, -3, 0.1, 1e-9, 1e300, float("inf")):
        assert read(render([Gauge("g", "A gauge.", lambda value=value: value)]))[1] == {("g", ()): value}


def test_a_counter_without_labels_begins_at_zero() -> None:
    assert read(render([Counter("x_total", "X.")]))[1] == {("x_total", ()): 0}


def test_a_histogram_is_cumulative() -> None:
    histogram = Histogram("h", "H.", [0.1, 1.0], ["route"])
    for value in (0.05, 0.1, 0.5, 7):
        histogram.observe(value, "/a")
    samples = read(render([histogram]))[1]
    found = {dict(labels)["le"]: count for (name, labels), count in samples.items() if name == "h_bucket"}
    assert found == {"0.1": 2, "1": 3, "+Inf": 4}
    assert samples["h_count", (("route", "/a"),)] == 4
    assert samples["h_sum", (("route", "/a"),)] == pytest.approx(7.65)


def test_label_sets_are_bounded() -> None:
    counter = Counter("x_total", "X.", ["what"])
    for n in range(5_000):
        counter.add(f"value {n}")
    samples = read(render([counter]))[1]
    assert len(samples) == 501
    assert samples["x_total", (("what", "other"),)] == 4_500


@for_each(
    "text",
    [
        "x 1",
        "# TYPE x counter\nx 1\n",
        "# HELP x_total X.\n# TYPE x_total counter\nx_total 1\nx_total 2\n",
        '# HELP x_total X.\n# TYPE x_total counter\nx_total{a="b"c"} 1\n',
        "# HELP x X.\n# TYPE x counter\nx 1\n",
        '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n',
    ],
)
def test_the_reader_of_these_tests_refuses_what_is_wrong(text: str) -> None:
    with pytest.raises(AssertionError):
        read(text)


async def test_a_conversation_is_counted(tmp_path: Path) -> None:
    async def act(turn: Turn) -> str | None:
        if "fail" in turn.text:
            raise ValueError("no")
        return "yes"

    platform = TinyPlatform()
    gateway = api(tmp_path / "gateway.db", agent=Echo(act), platform=platform)
    async with closed_after(platform, ours=True), gateway as one:
        platform.say("m1", ANA)
        platform.say("m1", ANA)
        platform.say("m2", ANA, "fail")
        await one.running.until(TurnEnded, 2)
        await one.running.until(IntentSettled, 2)
        with anyio.fail_after(30):
            # The store's thread records the end a moment before the queue forgets the message.
            while one.running.gateway.load[0]:  # noqa: ASYNC110 -- nothing notifies of it
                await anyio.sleep(0.01)
        await one.http.get("/nothing/of/ours")
        await one.http.get("/metrics", headers=authorised("token-send"))
        answer = await one.http.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    kinds, samples = read(answer.text)

    def value(name: str, **labels: str) -> float | None:
        return samples.get((name, tuple(sorted(labels.items()))))

    assert value("trunkline_inbound_total", status="admitted", reason="") == 2
    assert value("trunkline_inbound_total", status="dropped", reason="duplicate-message") == 1
    assert value("trunkline_turns_total", outcome="replied", reason="") == 1
    assert value("trunkline_turns_total", outcome="failed", reason="agent-raised") == 1
    assert value("trunkline_intents_total", state="delivered") == 2
    assert value("trunkline_serving") == 1
    assert value("trunkline_intents_open") == 0
    assert value("trunkline_delegations_open") == 0
    assert value("trunkline_http_requests_total", method="GET", route="none", status="404") == 1
    assert value("trunkline_http_requests_total", method="GET", route="/metrics", status="403") == 1
    assert kinds["trunkline_http_request_seconds"] == "histogram"
    assert "of/ours" not in answer.text, "no label is a stranger's text"


async def test_open_streams_are_counted(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        app = build_app(one.served, SETTINGS, more=streams(one.served))
        async with over_socket(replace(one, app=app)) as (client, _), client.stream("GET", "/v1/events"):
            samples = read((await client.get("/metrics")).text)[1]
            assert samples["trunkline_event_streams_open", ()] == 1
            assert samples["trunkline_chat_sockets_open", ()] == 0


async def test_open_sockets_are_counted_and_closed_ones_are_not(tmp_path: Path) -> None:
    async with web_chat(tmp_path / "gateway.db") as one:
        app = build_app(one.served, SETTINGS, more=streams(one.served))
        async with over_socket(replace(one, app=app)) as (http, port):

            async def counted(count: int) -> None:
                with anyio.fail_after(20):
                    while read((await http.get("/metrics")).text)[1]["trunkline_chat_sockets_open", ()] != count:  # noqa: ASYNC110
                        await anyio.sleep(0.01)

            url = f"ws://127.0.0.1:{port}/v1/chat/ws"
            async with socket_client(url) as ana, socket_client(url, "ben") as ben:
                await ana.until("caught_up")
                await ben.until("caught_up")
                await counted(2)
            await counted(0)
            async with socket_client(url, None) as nobody:
                await nobody.send(type="hello", token="wrong", peer={"id": "eve"})
                with pytest.raises(ConnectionClosedError):
                    await nobody.until("ready")
            await counted(0)
