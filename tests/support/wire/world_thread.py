"""A world on the wire beside a test that waits for processes: on a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from trunkline.core.env import system_env
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PlatformConnected
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.model.world import THREADLESS
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.server import WireListener
from trunkline.sim.wire.servers import listening

T = TypeVar("T")
_PATIENCE = 30.0
_WORLD = """\
scenario: 1
title: platforms for a server
world:
  people: [ana, ben]
{platforms}
cast: {{agents: {{main: [{{do: [{{silent: true}}]}}]}}}}
script: [{{at: 0s, note: not played}}]
"""


class WorldThread:
    """Platforms whose people a test moves from another thread."""

    def __init__(self, loop: RealTimeLoop, world: World, listeners: dict[str, WireListener]) -> None:
        self._loop = loop
        self._world = world
        self.listeners = listeners
        self._said = 0

    def do(self, act: Callable[[World], T]) -> T:
        """Do something in the world, and return what it returns."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(act(self._world))
            except BaseException as error:  # noqa: BLE001 (raised in the other thread)
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(_PATIENCE)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for something in the loop of the world, and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_PATIENCE)

    def say(self, place: str, text: str) -> None:
        """Ana writes."""
        self._said += 1
        name = f"said{self._said}"

        def say(world: World) -> None:
            ref = world.place(place)
            platform, room = world.platforms[ref.platform], world.room(ref)
            peer = world.peer(platform.channel, "ana")
            platform.people.say(name, peer, (), room, platform.message_id(name, room), text)

        self.do(say)

    def seen(self, place: str) -> list[str]:
        """The texts of the gateway in a place."""

        def texts(world: World) -> list[str]:
            where, events = world.address(place), world.log.events
            bodies = [event.body for event in events if isinstance(event.body, WireAccepted)]
            return [body.text for body in bodies if body.address == where]

        return self.do(texts)

    def connections(self, platform: str) -> int:
        """How often a process has connected to a platform."""
        return self.do(
            lambda world: sum(
                isinstance(event.body, PlatformConnected) and event.body.channel == platform
                for event in world.log.events
            )
        )


@contextmanager
def world_on_thread(*platforms: str, settings: str = "") -> Generator[WorldThread]:
    """Platforms with a room `ops`, and a thread in it where there are threads, until the block ends.

    `settings`: more of each, as YAML.
    """
    threads = {name: "" if name in THREADLESS else "threads: [deploy]" for name in platforms}
    rooms = "\n".join(
        f"  {name}: {{rooms: {{ops: {{{threads[name]}}}}}, latency: 10ms{settings}}}" for name in platforms
    )
    found: Future[WorldThread] = Future()
    stop = threading.Event()

    async def main(loop: RealTimeLoop) -> None:
        world = World(load_text(_WORLD.format(platforms=rooms)), loop, seed=1, bugs=())
        world.build()
        epoch = system_env().now() - world.now()
        try:
            async with listening(world.platforms, world, Attribution(), epoch=epoch) as listeners:
                found.set_result(WorldThread(loop, world, listeners))
                while not stop.is_set():  # noqa: ASYNC110 (another thread sets it)
                    await asyncio.sleep(0.02)
        finally:
            world.disk.discard()

    def run() -> None:
        try:
            run_real_time(main)
        except BaseException as error:  # noqa: BLE001 (raised in the other thread)
            failed.append(error)
            if not found.done():
                found.set_exception(error)

    failed: list[Any] = []
    thread = threading.Thread(target=run, name="world")
    thread.start()
    try:
        yield found.result(_PATIENCE)
    finally:
        stop.set()
        thread.join(_PATIENCE)
        assert not thread.is_alive(), "the world has not ended"
        assert not failed, failed
