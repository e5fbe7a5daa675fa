"""A gateway that is watched over HTTP: joined under load, connected again, restarted, with a hole, hostile, refused."""

import random
import socket
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import anyio
import httpx
import pytest

from tests.support.app.listed_runs import ListedRuns
from tests.support.app.pilot import settle
from tests.support.factories import direct
from tests.support.http import ALL, Api, api
from tests.support.small_gateway import Echo, TinyPlatform
from trunkline.app.runs.live_run import LiveRun
from trunkline.app.runs.watched_gateway import GatewayFeed, watched_gateway
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.platform.textual_private import screen_lines
from trunkline.app.tui.state.workspace import Workspace
from trunkline.core.agent import Turn
from trunkline.core.errors import UsageError
from trunkline.core.events import EventLog
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import RunJoined
from trunkline.core.events.hands import DelegationAccepted, DelegationFinished
from trunkline.core.hands.port import HandTask
from trunkline.core.http.event_stream import EventStreams, RecentEvents
from trunkline.core.http.server import HttpServer
from trunkline.core.store.queries import ListOpenIntents, ReadTranscript
from trunkline.core.values import Receipt, SendRequest, SessionId
from trunkline.sim.events.processes import ProcessCrashed
from trunkline.sim.invariants import Status

pytestmark = pytest.mark.anyio
#: the key of the Sessions screen
SESSIONS = "4"


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
        if turn.text.startswith(hand) and turn.callback is None:
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
    options = {"agent": agent or Echo(act), "runner": SlowHands(), "hands": {"each": {"never": {"deadline": "1h"}}}}
    feeds: list[RecentEvents] = []

    def before(log: EventLog) -> None:
        feeds.append(RecentEvents(log, f"log-{uuid4().hex}", events=events))

    async with api(path, platform=platform, before=before, **options) as one:
        streams = EventStreams(one.served, feeds[0])
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


def open_intents(events: list[Any]) -> set[str]:
    """What is open according to a trace."""
    found: dict[str, None] = {}
    for event in events:
        if isinstance(event.body, IntentPrepared):
            found[event.intent] = None
        elif isinstance(event.body, IntentSettled):
            found.pop(event.intent, None)
    return set(found)


def open_delegations(events: list[Any]) -> set[str]:
    """Which tasks of hands go on according to a trace."""
    begun = {event.delegation for event in events if isinstance(event.body, DelegationAccepted)}
    return begun - {event.delegation for event in events if isinstance(event.body, DelegationFinished)}


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_joined_at_any_moment_under_load_it_shows_what_the_store_holds(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    async with stage(tmp_path / "gateway.db") as s:
        sent = 0

        async def load(count: int) -> None:
            nonlocal sent
            for _ in range(count):
                sent += 1
                person = str(draw.randrange(100, 120))
                text = draw.choice(["hello", "clerk count", "never ends" if sent % 10 == 0 else "x", "two\nlines"])
                s.platform.say(f"m{sent}", direct(person), text)
                await anyio.sleep(draw.random() * 0.01)

        await load(draw.randrange(20, 60))
        async with anyio.create_task_group() as group:
            group.start_soon(load, 60)
            await anyio.sleep(draw.random() * 0.3)
            async with watching(s.url, tmp_path) as w:
                await w.until(lambda: sent >= 60 and group.cancel_scope is not None and len(s.platform.acked) == sent)
                await anyio.sleep(0.5)
                last = s.running.log.seq

                def caught_up() -> bool:
                    joined = w.bodies(RunJoined)
                    shown = sum(event.node == "snapshot" for event in w.view.events)
                    return bool(joined) and joined[0].after + w.view.last - shown >= last

                await w.until(caught_up)
                store = s.running.store
                assert open_intents(w.view.events) == {
                    str(one.id) for one in await store.read(ListOpenIntents(after=0, limit=10_000))
                }
                # Hands may still end on a busy machine: what has been recorded since `last` is shown a moment later.
                await w.until(lambda: open_delegations(w.view.events) == open_delegations(s.running.log.events))
                for key, session in w.view.sessions.at(w.view.last).items():
                    lines = await store.read(ReadTranscript(session=SessionId(session.id)))
                    entries = w.view.transcripts.of(key)
                    assert sorted(one.text for one in entries[-5:]) == sorted(
                        line.text for line in lines[-len(entries[-5:]) :]
                    )
                assert not [one.id for one in w.view.verdicts if one.status is Status.VIOLATED]
                assert w.workspace.run.playback.mode is not None
                for name in ("messages", "queue", "hands", "sessions"):
                    assert getattr(w.workspace.run, name) is not None
                    assert not w.workspace.run.lazy.why(name)


async def test_a_connection_that_breaks_is_made_again_and_nothing_is_missing(tmp_path: Path) -> None:
    async with stage(tmp_path / "gateway.db") as s, watching(s.url, tmp_path) as w:
        await w.until(lambda: w.view.last > 0)
        for n in range(6):
            s.platform.say(f"m{n}", text=f"text {n}")
            await s.running.until(IntentSettled, n + 1)
            w.feed._stream._shut()  # pyright: ignore[reportPrivateUsage]
        await w.until(lambda: len(w.bodies(IntentSettled)) == 6)
        assert len(w.bodies(RunJoined)) == 1, "it is the same run"
        assert "connected, reading only" in w.feed.waiting_for()


async def test_another_process_is_an_event_of_the_run_and_the_run_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "gateway.db"
    async with stage(path) as s:
        s.platform.say("m1", text="before")
        await s.running.until(IntentSettled)
        port = int(s.url.rpartition(":")[2])
        watched = watching(s.url, tmp_path)
        w = await watched.__aenter__()
        await w.until(lambda: w.view.last > 0)
    await w.until(lambda: "cannot connect" in w.feed.waiting_for())
    assert w.feed.waiting_for().count(s.url) == 1
    async with stage(path, port=port) as s:
        s.platform.say("m2", text="after")
        await w.until(lambda: len(w.bodies(IntentSettled)) == 1)
        assert len(w.bodies(RunJoined)) == len(w.bodies(ProcessCrashed)) == 1
        [key] = w.view.sessions.at(w.view.last)
        assert [one.text for one in w.view.transcripts.of(key)] == [
            *("before", "you said before"),
            *("after", "you said after"),
        ]
        assert {event.generation for event in w.view.events} == {1, 2}
        await watched.__aexit__(None, None, None)


async def test_events_that_are_missing_begin_the_run_anew(tmp_path: Path) -> None:
    async with stage(tmp_path / "gateway.db", events=5) as s, watching(s.url, tmp_path) as w:
        await w.until(lambda: w.view.last > 0)
        with _kept_away(w.feed):
            for n in range(20):
                s.platform.say(f"m{n}", text=f"text {n}")
            await s.running.until(IntentSettled, 20)
        await w.until(lambda: len(w.bodies(RunJoined)) == 1 and "events are missing" in w.feed.waiting_for())
        await w.until(lambda: sum(len(w.view.transcripts.of(key)) for key in w.view.sessions.at(w.view.last)) == 40)


@contextmanager
def _kept_away(feed: GatewayFeed) -> Iterator[None]:
    """Break the connection, and let it be made again only at the end."""
    stream = feed._stream  # pyright: ignore[reportPrivateUsage]
    connect, allowed = stream._open, Event()  # pyright: ignore[reportPrivateUsage]

    def wait(query: Mapping[str, str], headers: Mapping[str, str]) -> AbstractContextManager[httpx.Response]:
        assert allowed.wait(60)
        return connect(query, headers)

    stream._open = wait  # pyright: ignore[reportPrivateUsage]
    stream._shut()  # pyright: ignore[reportPrivateUsage]
    try:
        yield
    finally:
        allowed.set()


async def test_beyond_the_limit_it_is_shown_anew(tmp_path: Path) -> None:
    async with stage(tmp_path / "gateway.db") as s, watching(s.url, tmp_path, limit=1) as w:
        await w.until(lambda: w.view.last > 0)
        for n in range(60):
            s.platform.say(f"m{n}", text="x" * 10_000)
            await s.running.until(IntentSettled, n + 1)
        await w.until(lambda: "beyond --limit" in w.feed.waiting_for() and not w.bodies(RunEnded) and w.view.last > 0)
        assert not w.feed.over, w.feed.problem


async def test_begun_anew_while_there_is_no_connection_it_is_not_forgotten(tmp_path: Path) -> None:
    async with stage(tmp_path / "gateway.db") as s, watching(s.url, tmp_path) as w:
        await w.until(lambda: w.view.last > 0)
        with _kept_away(w.feed):
            await w.until(lambda: "connecting again" in w.feed.waiting_for())
            w.feed._stream.begin_anew()  # pyright: ignore[reportPrivateUsage]
        await w.until(lambda: "beyond --limit" in w.feed.waiting_for() and w.view.last > 0)


@pytest.mark.slow
async def test_a_gateway_that_holds_more_than_the_limit_is_not_shown_again_and_again(tmp_path: Path) -> None:
    async with stage(tmp_path / "gateway.db") as s:
        for n in range(40):
            s.platform.say(f"m{n}", text="x" * 40_000)
            await s.running.until(IntentSettled, n + 1)
        async with watching(s.url, tmp_path, limit=1) as w:
            await w.until(lambda: w.feed.over)
            assert "what the gateway holds is beyond --limit 1" in w.feed.problem


async def test_hostile_texts_reach_no_terminal(tmp_path: Path) -> None:
    async with stage(tmp_path / "gateway.db") as s:
        s.platform.say("m1", text="\x1b]0;stolen\x07\x1b[2J\ud800")
        await s.running.until(IntentSettled)
        async with watching(s.url, tmp_path) as w:
            await w.until(lambda: w.view.last > 3)
            app = TrunklineApp(w.workspace, theme="textual-dark", clocked=False)
            async with app.run_test(size=(80, 24)) as pilot:
                for key in "12345678":
                    await pilot.press(key)
                    await settle(app)
                    shown = "\n".join(line.text for line in screen_lines(app))
                    assert "\x1b" not in shown
                    assert "connected, reading only" in shown
                    assert "both sides agree" not in shown
                    assert ("not known what people saw" in shown) == (key == SESSIONS)


async def test_what_will_not_pass_is_one_line(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("this-is-not-the-token")
    async with stage(tmp_path / "gateway.db") as s:
        with pytest.raises(UsageError, match="does not accept the token"):
            await anyio.to_thread.run_sync(lambda: watched_gateway(s.url, wrong))
    with pytest.raises(UsageError, match="is the gateway running"):
        await anyio.to_thread.run_sync(lambda: watched_gateway(s.url, wrong))
