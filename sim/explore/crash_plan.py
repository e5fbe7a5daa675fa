"""Plans crashes: kills at every commit and every step, and a sample of stops and second crashes.

Samples are keyed by the seed and by the crash point. So adding or omitting a point does not affect the others, and the
same exploration tries the same runs on any machine.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from trunkline.core.events import Event, gateway, hands
from trunkline.core.events.delivery import IntentSettled
from trunkline.sim.events.world import PlatformConnected
from trunkline.sim.run.crash_at import CrashAt, Crashes
from trunkline.sim.run.gateway_process import GatewayProcess
from trunkline.sim.run.world import World

#: of so many kills that lead to the same run as another, one is played to check it
_CHECKED = 20


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """How many runs to try."""

    #: try only every Nth step
    every_step: int = 1
    #: runs in which the process is stopped gracefully instead of killed
    stops: int = 100
    #: runs in which the next process also ends, while it recovers
    second: int = 100


class CrashTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A run with one crash, and further runs with a second crash during its recovery."""

    first: CrashAt
    #: number of runs with a second crash
    second: int = 0
    #: kills that lead to the same run, which is not played for them
    same: tuple[CrashAt, ...] = ()
    #: kills that lead to the same run, which is played to check that
    checked: tuple[CrashAt, ...] = ()

    @property
    def runs(self) -> int:
        """The number of runs that the trial stands for."""
        return 1 + len(self.same) + len(self.checked) + self.second


class CrashPoints(msgspec.Struct, frozen=True, kw_only=True):
    """Commits and steps after which a process was alive and can crash."""

    commits: tuple[int, ...]
    steps: tuple[int, ...]
    #: form of a point -> number of what outlives a kill there; points with the same number lead to the same run
    states: dict[str, int] = {}


class Survey:
    """Observes a run and collects its crash points.

    `alone`: no second process runs, so that a kill leaves nothing but the world and the store.
    """

    def __init__(self, world: World, process: GatewayProcess, *, alone: bool) -> None:
        self._world = world
        self._process = process
        self._alone = alone
        self._commits: list[int] = []
        self._steps: list[int] = []
        #: commits of the running step
        self._new: list[int] = []
        self._states: dict[str, int] = {}
        self._numbers: dict[tuple[float, ...], int] = {}
        world.on_commit = self._commit
        world.watch_steps(self._step)

    def _commit(self, count: int) -> None:
        if self._process.alive:
            self._commits.append(count)
            self._new.append(count)

    def _step(self, count: int) -> bool:
        if self._process.alive:
            self._steps.append(count)
            if self._alone:
                number = self._numbers.setdefault(self._world.state, len(self._numbers))
                self._states[f"step:{count}"] = number
                # A process that is killed at a commit ends with the step of that commit.
                self._states.update((f"commit:{commit}", number) for commit in self._new)
        self._new.clear()
        return False

    def points(self, steps: int) -> CrashPoints:
        """The crash points, without the last step of the run."""
        own = tuple(step for step in self._steps if step < steps)
        return CrashPoints(commits=tuple(self._commits), steps=own, states=self._states)


class Recovery:
    """Observes the recovery from a crash and collects its crash points.

    Recovery starts with the next process, and ends when all work that was open at the crash has ended and every account
    is connected again.
    """

    def __init__(self, world: World, process: GatewayProcess, crashes: Crashes) -> None:
        self._world = world
        self._process = process
        self._crashes = crashes
        self._waiting: set[str] = set()
        self._accounts = 0
        self._commits: list[int] = []
        self._steps: list[int] = []
        #: commits and steps before the restart
        self._before = (0, 0)
        #: whether recovery is in progress; None before it starts
        self._in_progress: bool | None = None
        world.log.subscribe(self._begin, gateway.ProcessStarted)
        world.log.subscribe(self._look, gateway.TurnEnded, IntentSettled, hands.DelegationFinished, PlatformConnected)

    def points(self, steps: int) -> CrashPoints:
        """The crash points of the next process, counted from the restart, without the last step of the run."""
        before = self._before[1]
        return CrashPoints(commits=tuple(self._commits), steps=tuple(n for n in self._steps if before + n < steps))

    def _begin(self, event: Event) -> None:
        if not self._crashes.over or self._in_progress is not None or event.node != self._process.name:
            return
        world = self._world
        self._in_progress = True
        self._before = world.disk.commits, world.loop.steps - 1
        self._waiting = set(world.progress.open)
        self._accounts = sum(len(platform.spec.accounts) for platform in world.platforms.values())
        world.on_commit = self._commit
        world.watch_steps(self._step)

    def _commit(self, count: int) -> None:
        if self._in_progress and self._process.alive:
            self._commits.append(count - self._before[0])

    def _step(self, count: int) -> bool:
        if self._in_progress and self._process.alive:
            self._steps.append(count - self._before[1])
        return not self._in_progress

    def _look(self, event: Event) -> None:
        if not self._in_progress:
            return
        self._accounts -= isinstance(event.body, PlatformConnected)
        self._waiting.intersection_update(self._world.progress.open)
        if not self._waiting and self._accounts <= 0:
            self._in_progress = False


def plan(points: CrashPoints, sampling: Sampling, seed: int) -> tuple[CrashTrial, ...]:
    """The trials for a run with these crash points: kills first, then stops.

    Kills that lead to the same run are one trial. A drawn share of them is played nevertheless, as a check.
    """
    steps = points.steps[:: sampling.every_step]
    firsts = [*(CrashAt(what="commit", n=n) for n in points.commits), *(CrashAt(what="step", n=n) for n in steps)]
    ranked = sorted(firsts, key=lambda first: _draw(seed, "second", first.point))
    often, rest = divmod(sampling.second, len(firsts)) if firsts else (0, 0)
    more = set(ranked[:rest])
    stopped = set(sorted(firsts, key=lambda first: _draw(seed, "stop", first.point))[: sampling.stops])
    groups: dict[object, list[CrashAt]] = {}
    for first in firsts:
        groups.setdefault(points.states.get(first.point, first.point), []).append(first)
    return (
        *(_trial(group, often * len(group) + len(more.intersection(group)), seed) for group in groups.values()),
        *(CrashTrial(first=msgspec.structs.replace(first, kind="stop")) for first in firsts if first in stopped),
    )


def _trial(group: Sequence[CrashAt], second: int, seed: int) -> CrashTrial:
    """The trial for kills that lead to the same run."""
    others = group[1:]
    checked = tuple(crash for crash in others if _draw(seed, "check", crash.point) % _CHECKED == 0)
    same = tuple(crash for crash in others if crash not in checked)
    return CrashTrial(first=group[0], second=second, same=same, checked=checked)


def second_crash(first: CrashAt, number: int, recovery: CrashPoints, seed: int) -> CrashAt | None:
    """The Nth second crash after a first one; None if the recovery has no crash points.

    Half of them are at commits, if the recovery has any. Every fourth is a stop.
    """
    draw = _draw(seed, "then", first.point, str(number))
    draw, is_step = divmod(draw, 2)
    draw, kind = divmod(draw, 4)
    if recovery.commits and (not is_step or not recovery.steps):
        return CrashAt(what="commit", n=_one_of(recovery.commits, draw), kind="kill" if kind else "stop")
    if recovery.steps:
        return CrashAt(what="step", n=_one_of(recovery.steps, draw), kind="kill" if kind else "stop")
    return None


def _one_of(numbers: Sequence[int], draw: int) -> int:
    return numbers[draw % len(numbers)]


def _draw(seed: int, *what: str) -> int:
    text = f"{seed}/{'/'.join(what)}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
