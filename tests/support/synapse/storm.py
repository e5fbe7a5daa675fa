"""People write to a gateway on a real homeserver while its process is killed, at random and at events of the wire."""

import asyncio
import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from aiohttp import web

from tests.support.serve.processes import ServeProcess
from tests.support.synapse.homeserver import MatrixUser, Synapse
from tests.support.synapse.proxy import PassOn, SynapseProxy
from trunkline.sim.wire.sockets import reset

#: seconds that the last process has to answer everything
PATIENCE = 90.0
#: seconds between two messages of a person, and the longest life of a process
_PAUSE, _LONGEST = 0.12, 1.5
_CONFIG = """\
store: gateway.db
http: {{listen: "127.0.0.1:0", token_file: token}}
accounts:
  - matrix: {{homeserver: "{url}", user: "{user}", token: {{env: MATRIX_TOKEN}}, poll_seconds: 5, request_timeout: 5}}
gateway:
  delivery: {{max_interrupted: 1000, backoff: [0.3]}}
  turns: {{max_attempts: 1000}}
"""


class WirePoint(StrEnum):
    """When a process is killed."""

    RANDOM = "at random"
    #: a send has reached the homeserver's door, and is not accepted
    ARRIVED = "send arrived"
    ACCEPTED = "send accepted"
    ANSWERED = "send answered"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A message of a person."""

    text: str
    room: str
    thread: str | None = None


class StormVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the people saw in the end."""

    told: int
    kills: dict[str, int]
    #: answers that came more than once, never, or elsewhere
    doubled: tuple[str, ...]
    lost: tuple[str, ...]
    misplaced: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        kills = ", ".join(f"{name} {count}" for name, count in sorted(self.kills.items()))
        wrong = f"{len(self.lost)} lost, {len(self.doubled)} doubled, {len(self.misplaced)} misplaced"
        return f"{self.told} messages, {sum(self.kills.values())} kills ({kills}) in {self.seconds:.1f} s: {wrong}"


class Village:
    """People who write in a room, in its threads and in direct conversations, and the account of a gateway."""

    def __init__(self, server: Synapse, name: str) -> None:
        self.bot, self.ana, self.bo = (server.user(f"{name}-{who}") for who in ("bot", "ana", "bo"))
        self.room = self.ana.create_room(self.bo, self.bot, name="the square")
        self.bo.join(self.room)
        self.direct = [who.create_room(self.bot, direct=True) for who in (self.ana, self.bo)]
        self.threads = [self.ana.send(self.room, f"thread {n}") for n in (1, 2)]
        self._number = itertools.count(1)
        self.told: list[Told] = []

    def tell(self, dice: Random, mark: str = "q") -> Told:
        """Let somebody write something, somewhere."""
        place: tuple[MatrixUser, str, str | None] = dice.choice(
            [
                (self.ana, self.direct[0], None),
                (self.bo, self.direct[1], None),
                (dice.choice([self.ana, self.bo]), self.room, None),
                (self.ana, self.room, self.threads[0]),
                (self.bo, self.room, self.threads[1]),
            ]
        )
        who, room, thread = place
        one = Told(text=f"{mark}{next(self._number)}.", room=room, thread=thread)
        who.send(room, one.text, thread=thread)
        self.told.append(one)
        return one

    def answers(self) -> dict[str, list[tuple[str, str | None]]]:
        """Where the gateway has said what."""
        found: dict[str, list[tuple[str, str | None]]] = {}
        for room in (self.room, *self.direct):
            for event in self.ana_or_bo(room).events(room):
                if event["sender"] == self.bot.id and event["type"] == "m.room.message":
                    relation = event["content"].get("m.relates_to", {})
                    thread = relation.get("event_id") if relation.get("rel_type") == "m.thread" else None
                    # In a room the agent repeats who has said it.
                    found.setdefault(event["content"]["body"].split()[-1], []).append((room, thread))
        return found

    def ana_or_bo(self, room: str) -> MatrixUser:
        """Somebody who is in a room."""
        return self.bo if room == self.direct[1] else self.ana


class MatrixStorm:
    """One storm."""

    def __init__(self, server: Synapse, folder: Path, seed: int) -> None:
        self.village = Village(server, f"storm{seed}")
        self._server = server
        self._folder = folder
        self.dice = Random(seed)
        self._kills: Counter[str] = Counter()
        self._url = ""

    def run(self, kills: int) -> StormVerdict:
        """Kill processes, let the last one come to rest, and look at what there is."""
        began = time.monotonic()
        with running_proxy(self._server.url) as (proxy, loop):
            self._url = proxy.url
            with self._start() as first:
                # The account joins its rooms; what was said before it was used for the first time is not for it.
                wait_until(lambda: self._joined() and "is connected" in first.log, first)
            stop = threading.Event()
            people = threading.Thread(target=self._write, args=(stop,))
            people.start()
            try:
                while self._kills.total() < kills:
                    self._one(proxy, loop)
            finally:
                stop.set()
                people.join()
            with self._start() as last:
                wait_until(lambda: len(self._answered()) >= len(self.village.told), last, PATIENCE, fails=False)
                time.sleep(1.5)
        return self.verdict(time.monotonic() - began)

    def _joined(self) -> bool:
        joined = self.village.bot.ask("GET", "/joined_rooms")["joined_rooms"]
        return {self.village.room, *self.village.direct} <= set(joined)

    def _write(self, stop: threading.Event) -> None:
        dice = Random(str(self.dice.random()))
        while not stop.wait(dice.uniform(0, 2 * _PAUSE)):
            self.village.tell(dice)

    @contextmanager
    def _start(self) -> Iterator[ServeProcess]:
        text = _CONFIG.format(url=self._url, user=self.village.bot.id)
        (self._folder / "gateway.yaml").write_text(text)
        environ = {"MATRIX_TOKEN": self.village.bot.token, "XDG_STATE_HOME": str(self._folder)}
        made = ServeProcess(self._folder, "--config", "gateway.yaml", environ=environ)
        try:
            yield made
        finally:
            made.kill()

    def _one(self, proxy: SynapseProxy, loop: asyncio.AbstractEventLoop) -> None:
        """One process, from its start to its death."""
        point = self.dice.choice([*WirePoint, *list(WirePoint)[1:]])
        with self._start() as process:
            struck = threading.Event()
            if point is not WirePoint.RANDOM:
                strike = _killing(point, process, struck)
                loop.call_soon_threadsafe(proxy.strike, strike)
                met = struck.wait(10.0)
                if not met:
                    assert process.process.poll() is None, process.log
            else:
                wait_until(lambda: "Trunkline serves" in process.output, process)
                time.sleep(self.dice.uniform(0, _LONGEST))
                met = False
            process.process.kill()
            self._kills[(point if met else WirePoint.RANDOM).value] += 1

    def _answered(self) -> set[str]:
        there = self.village.answers()
        return {one.text for one in self.village.told if one.text in there}

    def verdict(self, seconds: float = 0.0) -> StormVerdict:
        """What there is now."""
        there, told = self.village.answers(), self.village.told
        return StormVerdict(
            told=len(told),
            kills=dict(self._kills),
            doubled=tuple(one.text for one in told if len(there.get(one.text, ())) > 1),
            lost=tuple(one.text for one in told if one.text not in there),
            misplaced=tuple(one.text for one in told if set(there.get(one.text, ())) - {(one.room, one.thread)}),
            seconds=seconds,
        )


def _killing(point: WirePoint, process: ServeProcess, struck: threading.Event) -> Any:
    async def strike(request: web.Request, pass_on: PassOn) -> web.StreamResponse:
        found = None if point is WirePoint.ARRIVED else await pass_on()
        if point is WirePoint.ANSWERED and found is not None:
            await found.prepare(request)
            await found.write_eof()
        process.process.kill()
        struck.set()
        if point is WirePoint.ANSWERED and found is not None:
            return found
        raise reset(request)

    return strike


@contextmanager
def running_proxy(url: str) -> Iterator[tuple[SynapseProxy, asyncio.AbstractEventLoop]]:
    """A proxy, on a loop of a thread of its own."""
    loop, proxy = asyncio.new_event_loop(), SynapseProxy(url)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(proxy.open(), loop).result(PATIENCE)
        yield proxy, loop
    finally:
        asyncio.run_coroutine_threadsafe(proxy.close(), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def wait_until(holds: Any, process: ServeProcess, patience: float = PATIENCE, *, fails: bool = True) -> None:
    """Wait until something holds. Raises `AssertionError` with the log of the process, unless it must not fail."""
    until = time.monotonic() + patience
    while not holds():
        assert process.process.poll() is None, process.log
        if time.monotonic() >= until:
            assert not fails, process.log
            return
        time.sleep(0.1)
