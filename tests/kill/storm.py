"""The storm: a gateway under load is killed and started again, over and over, and comes to rest in the end."""

import signal
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from random import Random

import anyio
import msgspec

from tests.kill.child import IN_ORDER, IN_WORDS, Fuse
from tests.kill.crew import crew
from tests.kill.platform import Point
from tests.kill.stage import Setting, Stage
from tests.kill.starter import Starter, starter
from tests.kill.verdict import Verdict
from trunkline import Idempotency

#: seconds that a process has, from when it listens; with a look-up, most of what it finds has to wait first
_LONGEST = {Idempotency.KEY: 0.08, Idempotency.LOOKUP: 0.4, Idempotency.NONE: 0.08}
#: with workers, who need a commit for each step and share the disk, it takes so many times as long
_SLOWER = 3.0
#: seconds that one of many processes has where parts misbehave: long enough for turns that ended earlier processes
_LONG_LIFE = (1.0, 1.5)
#: seconds after which a process is killed that does not come to listen, or does not stop
_STUCK = 20.0
#: events at which a gateway kills itself: inside recovery, between a commit and what follows, before an attempt
_FUSES = (
    "process.started",
    "process.recovered",
    "recovery.decided",
    "inbound.received",
    "inbound.admitted",
    "turn.started",
    "turn.ended",
    "intent.prepared",
    "attempt.started",
    "attempt.ended",
    "chunk.acked",
    "mirror.appended",
    "intent.settled",
)
#: what happens once in a process
_ONCE = ("process.started", "process.recovered", Point.CONNECTED)


class Blow(msgspec.Struct, frozen=True, kw_only=True):
    """How a process ends: at a point of the platform, at an event of its own, or after some time."""

    name: str
    #: seconds from when it listens; at the latest it is killed then
    after: float = 0.0
    #: it is killed after such a part of the time that a start takes
    boot: float | None = None
    point: Point | None = None
    fuse: Fuse | None = None
    count: int = 1
    #: asked to end in order
    stop: bool = False
    #: the platform is away for so long, from the start on
    away: float = 0.0

    @property
    def timed(self) -> bool:
        """It is to end by the clock."""
        return self.point is None and self.fuse is None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A storm."""

    kills: int
    setting: Setting
    #: these, again and again, instead of blows at random
    blows: tuple[Blow, ...] = ()


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a storm."""

    plan: Plan
    verdict: Verdict
    kills: int
    #: processes that were asked to end in order, and did
    stops: int
    #: how often which kind of blow was met
    blows: dict[str, int]
    #: requests that the platform got again under a key that it had
    repeats: int
    seconds: float
    #: seconds from the last start to rest
    rest: float
    log: str
    #: workers that were killed
    workers: int = 0
    #: processes whose disk or memory failed, and those of them that ended by themselves, in words
    failing: int = 0
    in_words: int = 0

    def met(self, names: Iterable[str]) -> int:
        """How many blows with these names were met."""
        return sum(self.blows.get(name, 0) for name in names)

    def __repr__(self) -> str:
        setting = self.plan.setting
        met = ", ".join(f"{name} {count}" for name, count in sorted(self.blows.items()))
        each = 1000 * self.seconds / max(self.kills, 1)
        lines = [
            f"{setting.idempotency.value}, seed {setting.seed}: {self.kills} kills and {self.stops} stops"
            f" in {self.seconds:.1f} s ({each:.0f} ms a kill; to rest {self.rest:.2f} s)",
            self.verdict.figures,
            f"met: {met}",
            *([f"failing disk or memory: {self.failing}, ended in words: {self.in_words}"] if self.failing else []),
            *([f"workers killed: {self.workers}"] if self.workers else []),
            f"sent again under a key that the platform had: {self.repeats}",
            *self.verdict.findings[:40],
        ]
        if self.log:
            lines += ["the gateway said:", self.log]
        return "\n  ".join(lines)


def draw(dice: Random, longest: float) -> Blow:
    """A blow at random; `longest`: seconds that a process has for something to happen."""
    away = dice.uniform(0, 0.05) if dice.random() < 0.06 else 0.0
    kind = dice.choices(("boot", "time", "stop", "point", "event"), (20, 20, 4, 28, 28))[0]
    match kind:
        case "boot":
            return Blow(name=kind, boot=dice.uniform(0, 1.2), away=away)
        case "point":
            point = dice.choice((*Point, Point.RECEIVED, Point.RECEIVED))
            return Blow(name=point.value, after=longest, point=point, count=_count(dice, point), away=away)
        case "event":
            event = dice.choice(_FUSES)
            return Blow(name=event, after=longest, fuse=Fuse(kind=event, count=_count(dice, event)), away=away)
        case _:
            return Blow(name=kind, after=dice.uniform(0, longest), stop=kind == "stop", away=away)


def _count(dice: Random, what: str) -> int:
    return 1 if what in _ONCE else min(dice.randint(1, 5), dice.randint(1, 12))


class Storm:
    """One storm on one folder."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self._folder = folder
        self._stage = Stage(plan.setting, folder)
        self._dice = Random(f"blows {plan.setting.seed}")
        self._met: Counter[str] = Counter()
        self._stops = self._failing = self._in_words = 0
        #: seconds that the last start took
        self._boot = 0.03
        #: the process was ended by the clock
        self._overdue = False

    async def run(self) -> Report:
        """Kill, as often as planned, and let the last process come to rest."""
        began, stage = time.monotonic(), self._stage
        async with stage.open(), starter(self._folder) as starts, crew(stage, self._folder) as workers:
            while self._met.total() < self.plan.kills:
                await self._one(starts, self._next_blow())
            rest_began = time.monotonic()
            await self._last(starts)
        now = time.monotonic()
        return Report(
            plan=self.plan,
            verdict=stage.verdict(),
            kills=self._met.total(),
            stops=self._stops,
            blows=dict(self._met),
            repeats=stage.platform.repeats,
            seconds=now - began,
            rest=now - rest_began,
            log=stage.said(),
            workers=workers.kills,
            failing=self._failing,
            in_words=self._in_words,
        )

    async def _last(self, starts: Starter) -> None:
        """The process that comes to rest."""
        stage, rested = self._stage, False

        async def rest() -> None:
            nonlocal rested
            await stage.rest()
            rested = True
            await stage.people.stop_gateway(stage.processes)

        await starts.start(stage.life(sound=True))
        async with anyio.create_task_group() as group:
            group.start_soon(rest)
            status = await starts.ended()
            if not rested:
                raise AssertionError(f"the last process ended with {status} before it came to rest\n{stage.said()}")
            if status != IN_ORDER:
                raise AssertionError(f"the last process ended with {status}\n{stage.said()}")

    def _next_blow(self) -> Blow:
        if self.plan.blows:
            return self.plan.blows[self._stage.processes % len(self.plan.blows)]
        if self.plan.setting.nonsense.any and self._dice.random() < 0.05:
            return Blow(name="late", after=self._dice.uniform(*_LONG_LIFE))
        longest = _LONGEST[self.plan.setting.idempotency]
        return draw(self._dice, longest * _SLOWER if self.plan.setting.workers else longest)

    async def _one(self, starts: Starter, blow: Blow) -> None:
        """One process, from its start to its death."""
        stage = self._stage
        if stage.processes % 10 == 0 and self.plan.setting.idempotency is Idempotency.NONE:
            stage.people.give_up_waiting()
        stage.trap.set(blow.point, blow.count, starts.strike)
        if blow.away:
            stage.platform.go_away(blow.away)
        life = stage.life(blow.fuse)
        failing = bool(life.faults) or life.starved is not None
        self._failing += failing
        await starts.start(life)
        self._overdue, status = False, IN_ORDER
        async with anyio.create_task_group() as group:
            group.start_soon(self._strike, starts, blow)
            status = await starts.ended()
            group.cancel_scope.cancel()
        stage.trap.set(None, 0, starts.strike)
        if status == -signal.SIGKILL and not (blow.stop and self._overdue):
            self._met["nothing came of it" if self._overdue and not blow.timed else blow.name] += 1
        elif failing and status == IN_WORDS:
            self._in_words += 1
        elif failing and blow.stop and self._overdue:
            # It waits for its disk, and stops nevertheless only when it is killed: its last write is tried again.
            self._met["stuck"] += 1
        elif status != IN_ORDER or not blow.stop:
            raise AssertionError(f"process {stage.processes} ended with {status} ({blow})\n{stage.said()}")
        else:
            self._stops += 1

    async def _strike(self, starts: Starter, blow: Blow) -> None:
        """End a process when its time has come."""
        people, process = self._stage.people, self._stage.processes
        began = time.monotonic()
        if blow.boot is not None:
            await anyio.sleep(blow.boot * self._boot)
        else:
            with anyio.move_on_after(_STUCK):
                await people.until_working(process)
                self._boot = time.monotonic() - began
            await anyio.sleep(blow.after)
        if blow.stop:
            await people.stop_gateway(process)
            await anyio.sleep(_STUCK)
        self._overdue = True
        starts.strike()


def run_storm(plan: Plan, folder: Path) -> Report:
    """Run a storm on a folder."""

    async def storm() -> Report:
        return await Storm(plan, folder).run()

    return anyio.run(storm)
