"""A gateway that is watched over HTTP: connected again after breaks, and refused in one line."""

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.app.listed_runs import ListedRuns
from tests.support.http import ALL, Api, api
from tests.support.small_gateway import Echo, TinyPlatform
from trunkline.app.runs.gateway_feed import GatewayFeed
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.watched_gateway import watched_gateway
from trunkline.app.tui.state.workspace import Workspace
from trunkline.core.agent import Turn
from trunkline.core.errors import UsageError
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import RunJoined
from trunkline.core.hands.port import HandTask
from trunkline.core.http.event_feed import RecentEvents
from trunkline.core.http.event_stream import EventStreams
from trunkline.core.http.server import HttpServer
from trunkline.core.values import Receipt, SendRequest

pytestmark = pytest.mark.anyio


class HangingPlatform(TinyPlatform):
    """Never answers for people whose id ends with 7: their messages stay open."""

    async def send(self, request: SendRequest) -> Receipt:
        if request.address.conversation.endswith("7"):
            await anyio.sleep_forever()
        return await super().send(request)


class SlowHands:
    """Hands of which ``never`` does not end."""

    def has(self, hand: str) -> bool:
        return hand in ("clerk", "never")

    async def run(self, task: HandTask) -> str:
        if task.hand == "never":
            await anyio.sleep_forever()
        return f"done: {task.task}"


async def act(turn: Turn) -> str | None:
    """Delegate what begins with a name of a hand, else repeat it."""
    for hand in ("clerk", "never"):
        if turn.text.startswith(hand) and turn.asked is None:
            await turn.delegate(hand, turn.text)
    return f"you said {turn.text}"


class Stage:
    """A gateway that serves, and its address."""

    def __init__(self, one: Api, port: int, streams: EventStreams, platform: TinyPlatform) -> None:
        self.api, self.streams, self.platform, self.running = one, streams, platform, one.running
        self.url = f"http://127.0.0.1:{port}"


@asynccontextmanager
async def stage(path: Path, *, port: int = 0, events: int = 50_000, agent: Any = None) -> AsyncGenerator[Stage]:
    """Serve on a store file, and on a port of before."""
    platform = HangingPlatform()
    hands = {"each": {"never": {"deadline": "1h"}}}
    async with api(path, platform=platform, agent=agent or Echo(act), runner=SlowHands(), hands=hands) as one:
        streams = EventStreams(one.served, RecentEvents(one.served.log, one.served.env.ids.new("log"), events=events))
        streams.feed.open()
        one.app.router.routes.append(streams.route())
        listener = socket.create_server(("127.0.0.1", port))
        server = HttpServer(one.app, one.served, one.settings)
        async with anyio.create_task_group() as group:
            await group.start(server.run, [listener])
            yield Stage(one, listener.getsockname()[1], streams, platform)
            server.stop()
    platform.close()


class Watcher:
    """The app's state over a gateway, without a screen."""

    def __init__(self, feed: GatewayFeed) -> None:
        self.feed = feed
        self.workspace = Workspace(ListedRuns(), live=LiveRun(feed))

    @property
    def view(self) -> Any:
        return self.workspace.run.view

    async def until(self, seen: Callable[[], bool]) -> None:
        with anyio.fail_after(60):
            while not seen():
                self.workspace.tick(0.05)
                await anyio.sleep(0.005)

    def bodies(self, *kinds: type) -> list[Any]:
        return [event.body for event in self.view.events if isinstance(event.body, kinds)]


@asynccontextmanager
async def watching(url: str, tmp_path: Path, **options: Any) -> AsyncGenerator[Watcher]:
    token = tmp_path / "token"
    token.write_text(ALL)
    feed = await anyio.to_thread.run_sync(lambda: watched_gateway(url, token, **options))
    try:
        yield Watcher(feed)
    finally:
        feed.close()


async def test_a_connection_that_breaks_is_made_again_and_nothing_is_missing(tmp_path: Path) -> None:
    async with stage(tmp_path / "gateway.db") as s, watching(s.url, tmp_path) as w:
        await w.until(lambda: w.view.last > 0)
        for n in range(6):
            s.platform.say(f"m{n}", text=f"text {n}")
            await s.running.until(IntentSettled, n + 1)
            _break(w.feed)
        await w.until(lambda: len(w.bodies(IntentSettled)) == 6)
        assert len(w.bodies(RunJoined)) == 1, "it is the same run"
        assert "connected, reading only" in w.feed.said()


def _break(feed: GatewayFeed) -> None:
    from trunkline.app.runs.gateway_stream import _shut

    response = feed._stream._response  # pyright: ignore[reportPrivateUsage]
    if response is not None:
        _shut(response)


async def test_what_will_not_pass_is_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("this-is-not-the-token")
    async with stage(tmp_path / "gateway.db") as s:
        with pytest.raises(UsageError, match="does not accept the token"):
            await anyio.to_thread.run_sync(lambda: watched_gateway(s.url, wrong))
    with pytest.raises(UsageError, match="is the gateway running"):
        await anyio.to_thread.run_sync(lambda: watched_gateway(s.url, wrong))
