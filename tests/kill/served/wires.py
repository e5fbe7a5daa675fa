"""The storm on four wires: people ask on the platforms, while a gateway, its standby and their server are struck."""

import asyncio
import time
from pathlib import Path
from random import Random

import msgspec

from tests.kill.platforms.model import MarkModel
from tests.kill.platforms.people import Asker
from tests.kill.platforms.record import Moment, Observer, Process
from tests.kill.platforms.stage import PLACES, PLATFORMS, configured, connected, world_of
from tests.kill.platforms.storm import opened, rest
from tests.kill.platforms.verdict import Verdict, judge, stored
from tests.kill.served.twins import Blows, Outages, Twins, server_and_proxy, twin_configs
from trunkline.core.env import system_env
from trunkline.sim.loop import RealTimeLoop, run_real_time
from trunkline.sim.run.world import World
from trunkline.sim.scenario import load_text
from trunkline.sim.wire.attribution import Attribution
from trunkline.sim.wire.servers import listening

#: seconds that a chosen moment is waited for, and in which a kill comes that has none
_NO_MOMENT, _LIFE = 3.0, (0.0, 1.0)
#: part of the kills that come at any time
_AT_RANDOM = 0.25
#: seconds without an answer, once nobody strikes any more, after which no more is waited for
_REST = 60.0


class WiresReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    seconds: float
    questions: int
    verdict: Verdict
    outages: Outages
    #: processes that ended, cut off, since the other had taken over
    replaced: int

    def __repr__(self) -> str:
        doubts = len(self.verdict.doubts)
        return "\n".join(
            [
                f"{self.questions} questions on four wires in {self.seconds:.0f} s: {self.outages}",
                f"{self.replaced} replaced; {doubts} in doubt for good reasons",
                *(self.verdict.findings[:20] or ["nothing lost, doubled, misplaced or out of order"]),
            ]
        )


class _Waiter:
    """Waits for a moment on a wire."""

    def __init__(self, dice: Random) -> None:
        self._dice = dice
        self._moment: Moment | None = None
        self._left = 0
        self._come = asyncio.Event()

    def seen(self, moment: Moment) -> None:
        if moment is self._moment:
            self._left -= 1
            if self._left <= 0:
                self._come.set()

    async def moment(self) -> None:
        """Wait until it is time to kill."""
        dice = self._dice
        if dice.random() < _AT_RANDOM:
            await asyncio.sleep(dice.uniform(*_LIFE))
            return
        self._come.clear()
        self._moment, self._left = dice.choice(list(Moment)), dice.choice((1, 1, 2, 3, 5))
        try:
            async with asyncio.timeout(_NO_MOMENT):
                await self._come.wait()
        except TimeoutError:
            return
        finally:
            self._moment = None


def run_wires_storm(blows: Blows, folder: Path, *, seed: int = 1) -> WiresReport:
    """Strike as often as said; then let everybody get their answers, and judge."""
    return run_real_time(lambda loop: _storm(loop, blows, folder, seed))


async def _storm(loop: RealTimeLoop, blows: Blows, folder: Path, seed: int) -> WiresReport:
    began, dice = time.monotonic(), Random(f"wires {seed}")
    world = World(load_text(world_of(PLATFORMS)), loop, seed=seed, bugs=())
    world.build()
    waiter = _Waiter(dice)
    observer = Observer(world, waiter.seen)
    model, over = MarkModel(observer, seed), False
    epoch = system_env().now() - world.now()
    try:
        with server_and_proxy() as (server, proxy, url):
            async with listening(world.platforms, world, Attribution(), epoch=epoch) as ears, opened(model.server):
                config = configured(folder, ears, model.server.url)
                twins = Twins(
                    server,
                    proxy,
                    twin_configs(config, blows),
                    lambda: len(observer.record.accepted),
                    observer.struck,
                    blows.lasts,
                )
                observer.record.processes.append(Process(began=observer.now()))
                async with twins.running():
                    await connected(twins.url or "", (folder / "token").read_text())
                    askers = [
                        Asker(world, observer, f"{name}{at[0]}", f"{at}/{place}", seed)
                        for at in PLATFORMS
                        for name, place in PLACES.items()
                    ]
                    people = [loop.create_task(asker.ask(lambda: over)) for asker in askers]
                    for kind in blows.drawn(dice):
                        await twins.blow(kind, waiter.moment)
                    over = True
                    await asyncio.gather(*people)
                    late = await rest(observer, url, _REST)
            intents, inbox, undone, _ = stored(url)
        verdict = judge(observer.record, intents, inbox, undone)
        verdict.findings += late
    finally:
        world.disk.discard()
    return WiresReport(
        seconds=time.monotonic() - began,
        questions=len(observer.record.questions),
        verdict=verdict,
        outages=twins.outages,
        replaced=twins.replaced,
    )
