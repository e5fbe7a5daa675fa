"""OPEN, SCROLL, SEEK, FRAME, LIVE, LATE, DIFF: the app over a trace of 100,000 events. CPU time, without a terminal.

OPEN is from the file to the first picture: read, judged, indexed, drawn. SCROLL is a key that moves the cursor, until
the picture is complete, on the slowest of all screens. SEEK is the same after a jump to anywhere. FRAME is one of 30
frames a second while the run plays 10,000 events in each second, on the slowest screen; its note names the worst one.
These three are measured in a small and in a large terminal, and the larger figure counts. LIVE is a frame while the
trace is written at that rate and followed: read, judged, learnt, drawn, in the median frame and in the worst one. LATE
is by how much a screen is behind the file then. DIFF compares two such traces.
"""

import asyncio
import gc
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

from tests.support.app.listed_runs import ListedRuns
from tests.support.app.pilot import settle
from tests.support.app.repeated_runs import repeated
from tests.support.bench.bar import Bar
from tests.support.bench.long_runs import judged, long_file
from trunkline.app.runs.live_run import Feed, LiveRun
from trunkline.app.runs.model import Run
from trunkline.app.tui.app import FRAMES, TrunklineApp
from trunkline.app.tui.keys import NAMES
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.diff.compare import Diff
from trunkline.app.view.index.run_index import RunView
from trunkline.core.events import read_trace
from trunkline.sim import judge

EVENTS = 100_000
SIZE = (120, 40)
#: SCROLL, SEEK and FRAME are measured at both; on the larger one the timeline has all its panes
SIZES = (SIZE, (200, 60))
KEYS = ("down", "down", "up", "pagedown", "down", "pageup")
ROUNDS = 4
SEEKS = 30
#: events a second
RATE = 10_000
PLAYED = 60
#: times that a screen plays; the machine disturbs some of them
PLAYS = 2
#: the speed that is tried to find the one that plays at this rate
TRIED = 512.0
#: of a run that is followed, the events at its end on which every screen is tried
LAST = 10_000
OTHERS = ("overview", "messages", "sessions", "bindings", "queue", "hands", "invariants")


class Cost(NamedTuple):
    """CPU seconds of the frames of a screen."""

    mean: float
    worst: float


def app_of(run: Run) -> TrunklineApp:
    """The app over a run, without a clock."""
    return TrunklineApp(Workspace(ListedRuns(), seed=1, run=run), theme="textual-dark", clocked=False)


async def _spent(work: Callable[[], Awaitable[object]]) -> float:
    before = time.process_time()
    await work()
    return time.process_time() - before


async def _opened(path: Path) -> tuple[float, Run]:
    """CPU seconds from the file to the first picture; and the run, for the other bars."""
    gc.collect()
    before = time.process_time()
    trace = read_trace(path)
    run = Run(trace=trace, verdicts=judge(trace.events))
    one = app_of(run)
    async with one.run_test(size=SIZE):
        await settle(one)
        spent = time.process_time() - before
    return spent, judged(trace)


async def _go(one: TrunklineApp, screen: str, seq: int) -> None:
    one.action_show(screen)
    await settle(one)
    one.workspace.seek(seq)
    one.sync()
    await settle(one)


async def _key(one: TrunklineApp, key: str) -> None:
    one.simulate_key(key)
    await settle(one)


async def _scrolled(one: TrunklineApp) -> dict[str, float]:
    """CPU seconds of a key, by screen: the worst of the keys, each the best of several."""
    costs: dict[str, float] = {}
    for screen in NAMES:
        await _go(one, screen, one.workspace.run.view.last // 2)
        await _key(one, "down")
        found = [[await _spent(lambda key=key: _key(one, key)) for key in KEYS] for _ in range(ROUNDS)]
        costs[screen] = max(median(times) for times in zip(*found, strict=True))
    return costs


async def _sought(one: TrunklineApp) -> dict[str, float]:
    """CPU seconds of a jump to anywhere, by screen: the worst one but the two that were disturbed most."""
    dice = random.Random(1)
    costs: dict[str, float] = {}
    for screen in NAMES:
        await _go(one, screen, 1)
        found: list[float] = []
        for _ in range(SEEKS):
            one.workspace.seek(dice.randrange(1, one.workspace.run.view.last))

            async def show() -> None:
                one.sync()
                await settle(one)

            found.append(await _spent(show))
        costs[screen] = sorted(found)[-3]
    return costs


async def _played(one: TrunklineApp) -> tuple[dict[str, Cost], float]:
    """CPU seconds of the frames, by screen, and events a second that were played."""
    speed, rate = TRIED, 0.0
    for _ in range(2):
        speed *= RATE / rate if rate else 1.0
        await _go(one, "timeline", 1)
        _, rate = await _frames(one, speed)
    costs: dict[str, Cost] = {}
    for screen in NAMES:
        await _go(one, screen, 1)
        plays = [(await _frames(one, speed))[0] for _ in range(PLAYS)]
        # The same frames twice: what was dear both times is dear, the rest is the machine.
        best = [min(times) for times in zip(*plays, strict=True)]
        costs[screen] = Cost(min(mean(times) for times in plays), max(best))
    return costs, rate


async def _frames(one: TrunklineApp, speed: float) -> tuple[list[float], float]:
    """CPU seconds of each frame of the screen that is shown, and events a second."""
    playback = one.workspace.run.playback
    playback.set_speed(speed)
    playback.seek(1)
    found: list[float] = []
    for _ in range(PLAYED):
        # It stops at the few violations, and this does not.
        playback.playing = True
        found.append(await _spent(lambda: _frame(one)))
    return found, (playback.cursor - 1) / PLAYED * FRAMES


async def _frame(one: TrunklineApp) -> None:
    one.workspace.run.playback.tick(1 / FRAMES)
    one.sync()
    await settle(one)


def _beginning(path: Path, start: int) -> tuple[Path, list[bytes]]:
    """A file with the events up to `start`, and the lines of the whole trace."""
    lines = path.read_bytes().splitlines(keepends=True)
    written = path.with_name("live.jsonl")
    written.write_bytes(b"".join(lines[: start + 1]))
    return written, lines


async def _followed(path: Path, screen: str, *, start: int = 0) -> tuple[list[float], int]:
    """CPU seconds of each frame while a file is written at `RATE` and followed; from event `start` on.

    The last frame is that of the end, in which everything is judged that only the end can break. Also by how many
    events the screen is late then, beyond those of one frame.
    """
    written, lines = _beginning(path, start)
    # The budget of a frame is one of CPU time here: how busy the machine is should not matter.
    feed = Feed(written, clock=time.process_time)
    workspace = Workspace(ListedRuns(), live=LiveRun(feed, clock=time.process_time))
    one = TrunklineApp(workspace, theme="textual-dark", clocked=False, first=screen)
    costs: list[float] = []
    async with one.run_test(size=SIZE):
        while workspace.run.view.last < start:
            workspace.tick(0)
        workspace.run.playback.follow()
        await _pulled(one)
        with written.open("ab", buffering=0) as file:
            for at in range(start + 1, len(lines), RATE // FRAMES):
                file.write(b"".join(lines[at : at + RATE // FRAMES]))
                workspace.run.playback.follow()
                costs.append(await _spent(lambda: _pulled(one)))
        late = max(0, len(lines) - 1 - RATE // FRAMES - workspace.run.view.last)
    # What a long run leaves alive is out of the collector's rounds; it ends here, and eight of them are much.
    gc.unfreeze()
    return costs, late


async def _pulled(one: TrunklineApp) -> None:
    one.workspace.tick(1 / FRAMES)
    one.sync()
    await settle(one)


async def _live(path: Path) -> list[Bar]:
    """On the timeline over the whole of it; on the other screens over its end, where they know most."""
    (*costs, end), late = await _followed(path, "timeline")
    followed = {name: await _followed(path, name, start=EVENTS - LAST) for name in OTHERS}
    ends = {name: costs[:-1] for name, (costs, _) in followed.items()}
    lates = {"timeline": late, **{name: late for name, (_, late) in followed.items()}}
    middle = _by_screen({name: median(found) for name, found in ends.items()})
    worst = _by_screen({name: max(found) for name, found in ends.items()})
    return [
        _bar("LIVE", "a frame of a run followed at 10,000 events a second", median(costs), 0.033, f"others: {middle}"),
        _bar("LIVEMAX", "the worst of these frames", max(costs), 0.033, f"the end {end * 1e3:.1f}; others: {worst}"),
        Bar(
            id="LATE",
            title="events that the screen is late at the end of such a run, on the slowest screen",
            measured=max(lates.values()),
            demand=0,
            better="lower",
            unit="events",
            note=", ".join(f"{name} {late:,}" for name, late in lates.items() if late) or "no screen is late",
        ),
    ]


class Played(NamedTuple):
    """What keys, jumps and frames cost in a terminal of some size, by screen; and events a second."""

    scrolled: dict[str, float]
    sought: dict[str, float]
    frames: dict[str, Cost]
    rate: float


async def _used(run: Run, size: tuple[int, int]) -> Played:
    """The app in a terminal of this size."""
    one = app_of(run)
    async with one.run_test(size=size):
        await settle(one)
        return Played(await _scrolled(one), await _sought(one), *await _played(one))


async def measure(path: Path) -> list[Bar]:
    """All of them."""
    opened, run = await _opened(path)
    used = {f"{width}x{height}": await _used(run, (width, height)) for width, height in SIZES}
    scrolled = {size: one.scrolled for size, one in used.items()}
    sought = {size: one.sought for size, one in used.items()}
    frames = {size: {name: cost.mean for name, cost in one.frames.items()} for size, one in used.items()}
    worst = ", ".join(
        f"{size} {max(cost.worst for cost in one.frames.values()) * 1e3:.1f}" for size, one in used.items()
    )
    rate = min(one.rate for one in used.values())
    played = f"{rate:,.0f} events a second; the worst frame: {worst}; {_by_size(frames)}"
    return [
        _bar("OPEN", "a trace of 100,000 events, to the first picture", opened, 2.0, "read, judged, indexed, drawn"),
        _bar("SCROLL", "a key in it, on the slowest screen", _slowest(scrolled), 0.015, _by_size(scrolled)),
        _bar("SEEK", "a jump to anywhere in it, on the slowest screen", _slowest(sought), 0.05, _by_size(sought)),
        _bar("FRAME", "a frame while it plays, on the slowest screen", _slowest(frames), 0.033, played),
        *await _live(path),
    ]


def _slowest(costs: dict[str, dict[str, float]]) -> float:
    return max(cost for screens in costs.values() for cost in screens.values())


def _by_size(costs: dict[str, dict[str, float]]) -> str:
    return "; ".join(f"{size}: {_by_screen(screens)}" for size, screens in costs.items())


def _by_screen(costs: dict[str, float]) -> str:
    return ", ".join(f"{name} {cost * 1e3:.1f}" for name, cost in costs.items())


def _bar(name: str, title: str, seconds: float, demand: float, note: str) -> Bar:
    return Bar(
        id=name, title=title, measured=seconds * 1e3, demand=demand * 1e3, better="lower", unit="ms CPU", note=note
    )


def bars() -> Iterator[Bar]:
    """Measure OPEN, SCROLL, SEEK, FRAME, LIVE, LATE and DIFF."""
    with tempfile.TemporaryDirectory() as folder:
        # Made before there is an event loop: the simulator brings its own.
        path = long_file(Path(folder), EVENTS)
        yield from asyncio.run(measure(path))
    yield _bar("DIFF", "two traces of 100,000 events, compared", _compared(), 1.0, "indexed before")


def _compared() -> float:
    """CPU seconds of a comparison."""
    one, other = (RunView(repeated(bug=bug, count=EVENTS, shift=bug * 0.001)) for bug in (False, True))
    before = time.process_time()
    Diff(one, other)
    return time.process_time() - before


if __name__ == "__main__":
    for bar in bars():
        print(bar)
