"""The storm: people ask on four platforms at once, and the server is killed at random and at chosen moments."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec

from tests.kill.platforms.model import MarkModel
from tests.kill.platforms.people import Asker
from tests.kill.platforms.record import Moment, Observer, Process
from tests.kill.platforms.servers import PromptServers
from tests.kill.platforms.stage import PLACES, PLATFORMS, api_of, configured, connected, world_of
from tests.kill.platforms.verdict import Verdict, judge, stored
from trunkline.core.env import system_env
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.model.faults import Fault
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.model.server import ModelServer
from trunkline.sim.wire.servers import listening

#: seconds that a chosen moment is waited for; then the kill comes all the same
_NO_MOMENT = 6.0
#: seconds from a moment to its kill: none, or a few milliseconds, in which a response gets out
_AFTER = (0.0, 0.0, 0.002, 0.01, 0.05)
#: what strikes some of the sends beside the kills
_FAULTS = ("reset", "reset-before", "lose-response")


class PlatformPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a storm does."""

    kills: int
    seed: int = 1
    platforms: tuple[str, ...] = PLATFORMS
    #: part of the kills that come at any time
    at_random: float = 0.25
    #: seconds after a start in which these come
    life: tuple[float, float] = (0.0, 2.5)
    #: of the other kills: what they strike at
    moments: tuple[Moment, ...] = tuple(Moment)
    #: part of the lives in which the response of a send is lost, too
    faults: float = 0.1
    #: seconds without an answer, once nobody kills any more, after which no more is waited for
    rest: float = 60.0
    #: planted into the adapters; see `defects`
    defect: str = ""


@dataclass
class PlatformReport:
    """What came of a storm."""

    seconds: float
    questions: int
    sends: int
    #: kills by the moment at which they struck; ``at random`` for the others
    kills: Counter[str]
    verdict: Verdict
    faults: int = 0
    #: how often the model was asked for the same answer again
    asked_again: int = 0
    #: answers that people saw, by platform
    answers: Counter[str] = field(default_factory=Counter[str])

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.kills.total()} kills in {self.seconds:.0f} s: {_counts(self.kills)}",
                f"{self.questions} questions, {self.sends} sends, {self.faults} lost responses,"
                f" {self.asked_again} turns run again; answers: {_counts(self.answers)}",
                *self._doubts(),
                *(self.verdict.findings[:20] or ["nothing lost, doubled or misplaced; nothing in doubt that is known"]),
            ]
        )

    def _doubts(self) -> Iterator[str]:
        """What waits for an operator, by platform, and why."""
        doubts = self.verdict.doubts
        for channel in sorted({one.channel for one in doubts}):
            here = [one for one in doubts if one.channel == channel]
            why = Counter(f"{one.why} ({'seen by people' if one.seen else 'not seen'}):" for one in here)
            yield f"in doubt on {channel}: {_counts(why)}; {', '.join(one.mark for one in here)}"
        if doubts:
            yield f"the latest kill after a response that is in doubt: {max(one.after for one in doubts) * 1000:.0f} ms"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


class Striker:
    """Kills the process when its moment comes."""

    def __init__(self, loop: RealTimeLoop, plan: PlatformPlan, random: Random) -> None:
        self._loop = loop
        self._plan = plan
        self._random = random
        self._struck = asyncio.Event()
        self._moment: Moment | None = None
        self._left = 0
        self.observer: Observer | None = None
        self.servers: PromptServers | None = None

    def seen(self, moment: Moment) -> None:
        """Count a moment."""
        if moment is not self._moment:
            return
        self._left -= 1
        if self._left == 0:
            after = self._random.choice(_AFTER)
            if after:
                self._loop.call_later(after, self._kill)
            else:
                self._kill()

    async def begin(self, config: Path) -> None:
        """Connect every account for the first time: what was said before on a platform is no question to the bot."""
        self._start()
        await connected(*api_of(config))
        self._kill()
        assert self.servers is not None
        self.servers.reap()

    def _start(self) -> None:
        assert self.servers is not None
        assert self.observer is not None
        self.servers.start()
        self.observer.record.processes.append(Process(began=self.observer.now()))

    async def one_life(self) -> str:
        """Start a process and kill it; says when."""
        assert self.servers is not None
        self._struck.clear()
        at_random = self._random.random() < self._plan.at_random
        self._moment = None if at_random else self._random.choice(self._plan.moments)
        self._left = self._random.choice((1, 1, 2, 3, 5))
        self._start()
        came = True
        try:
            async with asyncio.timeout(_NO_MOMENT if self._moment else self._random.uniform(*self._plan.life)):
                await self._struck.wait()
        except TimeoutError:
            came = False
            self._kill()
        self.servers.reap()
        return self._moment.value if came and self._moment else "at random"

    def _kill(self) -> None:
        assert self.servers is not None
        assert self.observer is not None
        if not self.observer.alive:
            return
        self.servers.strike()
        self.observer.record.processes[-1].killed = self.observer.now()
        self._struck.set()


def run_platform_storm(plan: PlatformPlan, folder: Path) -> PlatformReport:
    """Kill a server again and again; then let everybody get their answers, and judge."""
    return run_real_time(lambda loop: _storm(loop, plan, folder))


async def _storm(loop: RealTimeLoop, plan: PlatformPlan, folder: Path) -> PlatformReport:
    began, seed, random = time.monotonic(), plan.seed, Random(plan.seed)
    world = World(load_text(world_of(plan.platforms)), loop, seed=seed, bugs=())
    world.build()
    striker = Striker(loop, plan, random)
    observer = striker.observer = Observer(world, striker.seen)
    model, over = MarkModel(observer, seed), False
    epoch = system_env().now() - world.now()
    struck, armed = Counter[str](), 0
    try:
        async with listening(world.platforms, world, Attribution(), epoch=epoch) as listeners, opened(model.server):
            config = configured(folder, listeners, model.server.url)
            servers = striker.servers = PromptServers(config, plan.defect)
            try:
                await striker.begin(config)
                people = [
                    loop.create_task(Asker(world, observer, f"{name}{at[0]}", f"{at}/{place}", seed).ask(lambda: over))
                    for at in plan.platforms
                    for name, place in PLACES.items()
                ]
                for _ in range(plan.kills):
                    if random.random() < plan.faults:
                        world.arm(Fault.model_validate({"on": "send", "do": random.choice(_FAULTS)}))
                        armed += 1
                    struck[await striker.one_life()] += 1
                world.faults.heal()
                servers.start()
                observer.record.processes.append(Process(began=observer.now()))
                over = True
                await asyncio.gather(*people)
                late = await rest(observer, folder / "gateway.db", plan.rest)
                servers.strike()
                servers.reap()
            finally:
                servers.close()
        intents, inbox, undone, _ = stored(folder / "gateway.db")
        verdict = judge(observer.record, intents, inbox, undone)
        verdict.findings += late
    finally:
        world.disk.discard()
    record = observer.record
    return PlatformReport(
        seconds=time.monotonic() - began,
        questions=len(record.questions),
        sends=len(record.sends),
        kills=struck,
        verdict=verdict,
        faults=armed,
        asked_again=model.asked.total() - len(model.asked),
        answers=Counter(place.channel for seen in record.accepted.values() for place, _ in seen),
    )


async def rest(observer: Observer, store: str | Path, seconds: float) -> list[str]:
    """Wait until every question is answered or parked, and nothing is in work."""
    end, last = observer.now() + seconds, (0, 0, 0)
    while observer.now() < end:
        intents, inbox, undone, unsent = stored(store)
        settled = {one.mark for one in intents}
        if not undone and not unsent and observer.record.questions.keys() <= settled & inbox.keys():
            return []
        if (left := (undone, unsent, inbox.total())) != last:
            end, last = observer.now() + seconds, left
        await asyncio.sleep(0.25)
    return [f"nothing has ended for {seconds:.0f} s: {last[0]} turns and {last[1]} messages are open"]


@asynccontextmanager
async def opened(server: ModelServer) -> AsyncGenerator[None]:
    """A model that listens."""
    await server.open()
    try:
        yield
    finally:
        await server.close()
