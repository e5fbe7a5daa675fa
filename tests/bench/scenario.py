"""S4, S6, S7, the busy hour, and the start of the command: what a simulated message and a whole run cost."""

import gc
import resource
import statistics
import subprocess
import sys
import time

from tests.bench import loop as loop_bench
from tests.bench import scenarios
from tests.support.bench.bar import Bar
from trunkline.sim import ScenarioFile, run_scenario

ROUNDS = 7


def cost(file: ScenarioFile) -> tuple[float, float]:
    """CPU seconds of one run, and its virtual seconds; the run must hold."""
    gc.collect()
    before = time.process_time()
    result = run_scenario(file)
    spent = time.process_time() - before
    broken = [verdict.id for verdict in result.verdicts if verdict.violations]
    assert not broken, f"{file.id}: {broken}"
    return spent, result.virtual_seconds


def dense_bars() -> list[Bar]:
    """S4 and S7: 50 messages in 25 s, with 4 wire faults and a crash; in units of the same loop's timer events."""
    files = [scenarios.dense(seed) for seed in range(1, 5)]
    for file in files:
        cost(file)
    per_event, per_message, speeds = [], [], []
    for _ in range(ROUNDS):
        per_event.append(1 / loop_bench.rate(loop_bench.perturbed))
        costs = [cost(file) for file in files]
        per_message.append(sum(spent for spent, _ in costs) / (50 * len(files)))
        speeds.append(sum(seconds for _, seconds in costs) / sum(spent for spent, _ in costs))
    event, message = statistics.median(per_event), statistics.median(per_message)
    ratio = statistics.median(m / e for m, e in zip(per_message, per_event, strict=True))
    note = f"{message * 1e6:.0f} us a message, {event * 1e6:.2f} us a timer event"
    return [
        Bar(
            id="S4",
            title="CPU of one simulated message",
            measured=ratio,
            # 80 needs fewer steps a commit: of the 27 steps of a message the store's writer takes 6, and 31 checkers
            # see 13 events of it.
            demand=105,
            want=80,
            better="lower",
            unit="timer events",
            note=note,
        ),
        Bar(
            id="S7",
            title="dense scenario with faults",
            measured=statistics.median(speeds),
            demand=1000,
            better="higher",
            unit="simulated s / CPU s",
            note=f"{len(files)} scenarios of 50 messages and 5 faults",
        ),
    ]


def long_bars() -> list[Bar]:
    """S6, a day with a message a minute; and an hour with a thousand messages."""
    day, hour = scenarios.quiet_day(), scenarios.busy_hour()
    days = [cost(day) for _ in range(3)]
    before = time.perf_counter()
    cost(hour)
    wall = time.perf_counter() - before
    return [
        Bar(
            id="S6",
            title="a quiet day of 1440 messages",
            measured=statistics.median(seconds / spent for spent, seconds in days),
            demand=55_000,
            better="higher",
            unit="simulated s / CPU s",
            note=f"{statistics.median(spent for spent, _ in days):.2f} CPU s",
        ),
        Bar(
            id="HOUR",
            title="an hour of 1000 messages",
            measured=wall,
            demand=5.0,
            better="lower",
            unit="wall s",
            note="all invariants checked after every event",
        ),
    ]


def command_bar(name: str, demand: float, *words: str) -> Bar:
    """The CPU of a command in starts of a bare interpreter: the median of pairs.

    A machine may be slower a second later, and a short start finds a quiet moment sooner than a long one: the least of
    each would not belong together.
    """
    bare, spent = sorted((_pair_of_starts(words) for _ in range(9)), key=lambda pair: pair[1] / pair[0])[4]
    return Bar(
        id=name,
        title=f"trunkline {' '.join(words)}".partition(" --store")[0],
        measured=spent / bare,
        demand=demand,
        better="lower",
        unit="interpreters",
        note=f"{spent * 1e3:.0f} ms, a bare interpreter {bare * 1e3:.0f} ms",
    )


def _pair_of_starts(words: tuple[str, ...]) -> tuple[float, float]:
    return _cpu_of("-c", "pass"), _cpu_of("-m", "trunkline", *words)


def _cpu_of(*arguments: str) -> float:
    """CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def start_bars() -> list[Bar]:
    """The tour, headless: from the start of the process to its exit."""
    command = [sys.executable, "-m", "trunkline", "run", "scenarios/tour"]
    walls = []
    for _ in range(5):
        before = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        walls.append(time.perf_counter() - before)
        assert done.returncode == 0, done.stdout + done.stderr
    return [
        Bar(
            id="TOUR",
            title="the tour, headless, start to exit",
            measured=statistics.median(walls),
            demand=1.5,
            better="lower",
            unit="wall s",
            note=f"fastest of 5: {min(walls):.2f} s",
        )
    ]


def bars() -> list[Bar]:
    """Measure them all."""
    return [
        *dense_bars(),
        *long_bars(),
        *start_bars(),
        command_bar("HELP", 3, "--help"),
        command_bar("VERSION", 2, "--version"),
    ]
