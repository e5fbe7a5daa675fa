"""A storm over two processes on one store: whichever works is killed, frozen or stopped; the other takes over."""

import signal
import time
from collections import Counter
from pathlib import Path
from random import Random

import anyio
import msgspec

from tests.kill.child import REPLACED
from tests.kill.crew import crew
from tests.kill.pair import Pair, pair
from tests.kill.platform import Point
from tests.kill.stage import Setting
from tests.kill.verdict import Verdict

#: of the store, seconds; a process that is frozen for longer is replaced
LEASE = 1.0
#: seconds that a process works before it is struck, at most
_LONGEST = 0.08
#: seconds after which a blow at a point of the platform is given up, and the process killed
_OVERDUE = 3.0
_KINDS = {  # weights
    "kill": 50,
    "kill at a point": 25,
    "kill both": 5,
    "kill the standby": 5,
    "freeze": 9,
    "freeze long": 2,
    "stop": 4,
}


class PairReport(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a storm."""

    setting: Setting
    verdict: Verdict
    kills: int
    #: processes that ended since another had taken over
    replaced: int
    blows: dict[str, int]
    seconds: float
    log: str
    #: workers that were killed
    workers: int = 0

    def __repr__(self) -> str:
        met = ", ".join(f"{name} {count}" for name, count in sorted(self.blows.items()))
        lines = [
            f"two processes, {self.setting.idempotency.value}, seed {self.setting.seed}: {self.kills} kills in"
            f" {self.seconds:.1f} s, {self.replaced} replaced",
            self.verdict.figures,
            f"met: {met}; {self.workers} workers killed",
            *self.verdict.findings[:40],
        ]
        if self.log:
            lines += ["the gateway said:", self.log]
        return "\n  ".join(lines)


class PairStorm:
    """One storm. Both processes run at all times; whichever ends is started again."""

    def __init__(self, both: Pair, kills: int, dice: Random) -> None:
        self._both = both
        self._wanted = kills
        self._dice = dice
        self._running: list[int] = []
        self.kills = 0
        self.replaced = 0
        self.blows: Counter[str] = Counter()

    async def run(self) -> None:
        """Strike until enough processes were killed."""
        names, weights = list(_KINDS), list(_KINDS.values())
        while self.kills < self._wanted:
            await self._fill_up()
            await self._working()
            kind = self._dice.choices(names, weights)[0]
            await self._strike(kind)
            self.blows[kind] += 1
        await self._fill_up()

    async def _fill_up(self) -> None:
        for process in [one for one in self._running if self._both.has_ended(one)]:
            await self._reap(process)
        while len(self._running) < 2:
            self._running.append(await self._both.start())

    async def _reap(self, process: int) -> None:
        self.replaced += await self._both.ended(process) == REPLACED
        self._running.remove(process)

    async def _working(self) -> int:
        """The number of the process that works, waiting until there is one."""
        people = self._both.stage.people
        while people.working not in self._running:
            with anyio.move_on_after(0.05):
                await people.until_more(1)
            await self._fill_up()
        return people.working

    async def _strike(self, kind: str) -> None:
        dice, both = self._dice, self._both
        working = await self._working()
        match kind:
            case "kill at a point":
                # The other process may reach the point after a takeover: it is the working one that is struck.
                with anyio.move_on_after(_OVERDUE):
                    await both.reached(dice.choice(list(Point)[:-1]), dice.randint(1, 20))
                await self._kill(await self._working())
            case "kill both":
                await self._kill(*self._running)
            case "kill the standby":
                await self._kill(*(one for one in self._running if one != working))
            case "stop":
                await anyio.sleep(dice.uniform(0, _LONGEST))
                await both.stop(working)
                self._running.remove(working)
            case "freeze" | "freeze long":
                await anyio.sleep(dice.uniform(0, _LONGEST))
                both.strike(working, signal.SIGSTOP)
                await anyio.sleep(
                    dice.uniform(1, 2) * both.stage.setting.lease if kind == "freeze long" else dice.uniform(0, 0.3)
                )
                both.strike_unless_ended(working, signal.SIGCONT)
            case _:
                await anyio.sleep(dice.uniform(0, _LONGEST))
                await self._kill(working)

    async def _kill(self, *processes: int) -> None:
        for process in processes:
            self._both.strike_unless_ended(process, signal.SIGKILL)
        for process in processes:
            await self._reap(process)
            self.kills += 1


def run_pair_storm(setting: Setting, kills: int, folder: Path) -> PairReport:
    """Run a storm on a folder."""

    if setting.server is None:
        setting = msgspec.structs.replace(setting, lease=LEASE)

    async def storm() -> PairReport:
        began = time.monotonic()
        async with pair(setting, folder, 60.0 + 2.0 * kills, REPLACED) as both:
            storm = PairStorm(both, kills, Random(f"pair {setting.seed}"))
            async with crew(both.stage, folder) as workers:
                await storm.run()
                verdict = await both.finish()
        return PairReport(
            setting=setting,
            verdict=verdict,
            kills=storm.kills,
            replaced=storm.replaced,
            blows=dict(storm.blows),
            seconds=time.monotonic() - began,
            log=both.stage.said(),
            workers=workers.kills,
        )

    return anyio.run(storm)
