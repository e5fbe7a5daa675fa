"""Half an hour of mixed load on one server: what grows is what would end it after a month.

``python -m tests.kill.soak [--minutes 30]``: people ask on four platforms, chat over HTTP and over WebSockets that come
and go, a client sends, an operator lists, a stream of events is followed, everything is recorded and pruned. Each ten
seconds the process is looked at. At the end a table by minute is printed, and what is larger by more than a
twentieth in the last third than in the one before.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import fmean

import aiohttp
import msgspec

from tests.kill.platforms.model import MarkModel
from tests.kill.platforms.people import Asker
from tests.kill.platforms.record import Observer, Process
from tests.kill.platforms.servers import PromptServers
from tests.kill.platforms.stage import PLACES, PLATFORMS, api_of, configured, connected, world_of
from tests.kill.platforms.verdict import judge, stored
from trunkline.core.env import system_env
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.servers import listening

#: seconds between two looks
_EVERY = 10.0
#: how much larger may be what the process uses in the last third than in the one before, on average
_GROWS = 1.05


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """The process at one moment, in kilobytes and counts."""

    at: float
    memory: int
    descriptors: int
    wal: int
    store: int
    log: int
    record: int
    answers: int


class Soak:
    """One server, and everybody around it."""

    def __init__(self, folder: Path, pid: int, url: str, token: str, seconds: float) -> None:
        self._folder, self._pid, self._url = folder, pid, url
        self._token = token
        self._headers = {"Authorization": f"Bearer {token}"}
        self._end = time.monotonic() + seconds
        self.began = time.monotonic()
        self.looks: list[Look] = []
        self.answers = 0
        self.refused: list[str] = []

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._end

    async def repeat(self, pause: float, step: Callable[[aiohttp.ClientSession, int], Awaitable[None]]) -> None:
        """Do something again and again, with a pause."""
        dice = random.Random(step.__name__)
        async with aiohttp.ClientSession(self._url, headers=self._headers) as http:
            n = 0
            while not self.is_over:
                n += 1
                try:
                    async with asyncio.timeout(60):
                        await step(http, n)
                except (aiohttp.ClientError, TimeoutError) as error:
                    self.refused.append(f"{step.__name__}: {error!r}")
                await asyncio.sleep(pause * dice.uniform(0.5, 1.5))

    async def _call(self, http: aiohttp.ClientSession, method: str, path: str, body: object = None) -> object:
        async with http.request(method, path, json=body) as answer:
            if answer.status >= 400:
                self.refused.append(f"{method} {path}: {answer.status} {(await answer.text())[:200]}")
                return {}
            return await answer.json()

    async def chat(self, http: aiohttp.ClientSession, n: int) -> None:
        """A person says something over HTTP and waits for the answer."""
        peer = {"kind": "direct", "id": f"person{n % 40}", "name": f"Person {n % 40}"}
        body = {"channel": "webchat", "peer": peer, "message_id": f"c{n}", "text": f"say {n}", "wait": 30}
        await self._call(http, "POST", "/v1/chat/inbound", body)
        self.answers += 1

    async def socket(self, http: aiohttp.ClientSession, n: int) -> None:
        """A tab is opened, says something, gets the answer, and is closed."""
        async with http.ws_connect("/v1/chat/ws") as tab:
            await tab.send_json({"type": "hello", "token": self._token, "peer": {"id": f"tab{n % 20}"}})
            await tab.send_json({"type": "say", "id": f"s{n}", "text": f"tab {n}"})
            while True:
                frame = json.loads((await tab.receive()).data)
                if frame["type"] == "message" and frame["text"].endswith(f"tab {n}"):
                    break
        self.answers += 1

    async def send(self, http: aiohttp.ClientSession, n: int) -> None:
        """A client sends to a person of the web chat."""
        body = {"to": f"person{n % 40}", "channel": "webchat", "text": f"news {n}", "key": f"k{n}", "wait": 5}
        await self._call(http, "POST", "/v1/messages", body)

    async def operate(self, http: aiohttp.ClientSession, n: int) -> None:
        """An operator looks around."""
        for path in ("/v1/queue?limit=50", "/v1/sessions", "/v1/accounts", "/metrics", "/v1/health/ready"):
            async with http.get(path) as answer:
                await answer.read()
                if answer.status != 200:
                    self.refused.append(f"{path}: {answer.status}")

    async def follow(self, http: aiohttp.ClientSession, n: int) -> None:
        """Somebody follows the events for a while."""
        async with http.get("/v1/events", headers={"Accept": "text/event-stream"}) as stream:
            try:
                async with asyncio.timeout(20):
                    async for _ in stream.content:
                        pass
            except TimeoutError:
                pass

    async def look(self) -> None:
        """Measure, until it is over."""
        while not self.is_over:
            await asyncio.sleep(_EVERY)
            self.looks.append(self._measured())

    def _measured(self) -> Look:
        status = Path(f"/proc/{self._pid}/status").read_text()
        return Look(
            at=time.monotonic() - self.began,
            memory=int(status.partition("VmRSS:")[2].split()[0]),
            descriptors=len(list(Path(f"/proc/{self._pid}/fd").iterdir())),
            wal=_size(self._folder / "gateway.db-wal"),
            store=_size(self._folder / "gateway.db"),
            log=_size(self._folder / "servers.log"),
            record=sum(map(_size, (self._folder / "traces").glob("*"))),
            answers=self.answers,
        )


def _size(path: Path) -> int:
    return path.stat().st_size // 1024 if path.exists() else 0


def report(looks: list[Look]) -> str:
    """A row for each minute; then each figure at the end of the first third, at the end, and the highest of both."""
    third = looks[: max(1, len(looks) // 3)]
    rest = looks[len(third) :] or third
    names = ("memory", "descriptors", "wal", "store", "log", "record")
    lines = ["".join(f"{title:>12}" for title in ("minute", *names, "answers"))]
    for look, after in zip(looks, [*looks[1:], None], strict=True):
        minute = int(look.at // 60)
        if after is None or int(after.at // 60) > minute:
            figures = (minute + 1, *(getattr(look, name) for name in (*names, "answers")))
            lines.append("".join(f"{figure:>12}" for figure in figures))
    lines.append(f"{'':12} {'first third: last, most':>26} {'afterwards: last, most':>26}")
    middle, last = rest[: (len(rest) + 1) // 2], rest[len(rest) // 2 :]
    for name in names:
        early, late = ([getattr(look, name) for look in part] for part in (third, rest))
        before, after = (fmean(getattr(look, name) for look in part) for part in (middle, last))
        grown = "  GROWS" if name in ("memory", "descriptors", "wal") and after > _GROWS * before else ""
        lines.append(f"{name:12} {early[-1]:>14}{max(early):>12} {late[-1]:>14}{max(late):>12}{grown}")
    return "\n".join(lines)


async def _soak(loop: RealTimeLoop, folder: Path, minutes: float) -> None:
    world = World(load_text(world_of(PLATFORMS)), loop, seed=1, bugs=())
    world.build()
    observer = Observer(world, lambda _moment: None)
    model, epoch = MarkModel(observer, 1), system_env().now() - world.now()
    async with listening(world.platforms, world, Attribution(), epoch=epoch) as listeners:
        await model.server.open()
        config = configured(folder, listeners, model.server.url)
        settings = json.loads(config.read_text())
        settings["log"] = {"level": "info"}
        settings["accounts"].append({"channel": "webchat"})
        settings["record"] = {"folder": "traces", "file_size": 4_000_000, "files": 4}
        settings["gateway"] = {
            "delivery": {"retention": "60s"},
            "agents": [{"id": "main", "default": True}, {"id": "echo"}],
        }
        settings["gateway"]["bindings"] = [{"match": {"channel": "webchat"}, "agent": "echo"}]
        settings["agents"]["echo"] = {"echo": {}}
        config.write_text(json.dumps(settings))
        servers = PromptServers(config)
        servers.start()
        observer.record.processes.append(Process(began=observer.now()))
        url, token = api_of(config)
        await connected(url, token)
        soak = Soak(folder, servers.pid, url, token, 60 * minutes)
        askers = [
            Asker(world, observer, f"{name}{at[0]}", f"{at}/{place}", 1)
            for at in PLATFORMS
            for name, place in PLACES.items()
        ]
        work = [soak.repeat(0.5, soak.chat), soak.repeat(1.0, soak.socket), soak.repeat(2.0, soak.send)]
        work += [soak.repeat(5.0, soak.operate), soak.repeat(3.0, soak.follow), soak.look()]
        await asyncio.gather(*work, *(asker.ask(lambda: soak.is_over, pause=3.0) for asker in askers))
        await asyncio.sleep(10)
        intents, inbox, undone, _ = stored(folder / "gateway.db")
        verdict = judge(observer.record, intents, inbox, undone)
        servers.strike()
        servers.reap()
        servers.close()
        await model.server.close()
    world.disk.discard()
    asked = len(observer.record.questions)
    print(f"{minutes:g} minutes: {soak.answers} answers over HTTP, {asked} questions on platforms")
    print(report(soak.looks))
    print(*soak.refused[:20], sep="\n")
    seen = {mark for mark, answers in observer.record.accepted.items() if answers}
    unseen, doubled = observer.record.questions.keys() - seen, [m for m in seen if len(observer.record.accepted[m]) > 1]
    print(f"unanswered: {sorted(unseen)}; doubled: {doubled}; undone turns: {undone}; in doubt: {len(verdict.doubts)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.kill.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as where:
        run_real_time(lambda loop: _soak(loop, Path(where), options.minutes))
