"""SWEEP, CORE, TURN and COMMANDS: what must not grow, what an answer costs, and the start of operators' commands.

CPU time, ratios of interleaved rounds of one run. SWEEP is a batch of the retention sweep, in the only writer of a
store. CORE is a long run to judge. TURN is a message of a person with its answer, beside a
send of a client. COMMANDS is the start of a command, in starts of a bare interpreter.
"""

import asyncio
import contextlib
import gc
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.attach import cpu
from tests.bench.scenario import command_bar
from tests.support.bench.bar import Bar
from tests.support.bench.filled_store import fill
from tests.support.bench.long_runs import long_trace
from tests.support.bench.product import Load, answer, deliver, prepare, tuned
from tests.support.bench.yardsticks import copied
from trunkline.core.store.commands import Prune
from trunkline.core.store.queue_admin import BATCH, SweepProgress
from trunkline.core.store.sqlite.handlers import execute
from trunkline.sim.invariants import judge

#: old rows
FEW, MANY = 10_000, 1_000_000
CONVERSATIONS = 1_000
BATCHES = 15
#: after every row
_FUTURE = 4e9
#: events of the two traces, and rounds
SHORT, LONG, ROUNDS = 250_000, 1_000_000, 2
#: messages of a round of TURN, and rounds
TURNS, TURN_ROUNDS = 4_000, 4


class _Sweep:
    """A sweep over a store of a gateway, batch by batch."""

    def __init__(self, store: sqlite3.Connection) -> None:
        self._store = store
        self._progress = SweepProgress()
        self.seconds: list[float] = []

    def go_on(self) -> None:
        """One more batch."""
        before = time.process_time()
        self._store.execute("BEGIN IMMEDIATE")
        found = execute(self._store, Prune(cutoff=_FUTURE, progress=self._progress))
        self._store.execute("COMMIT")
        self.seconds.append(time.process_time() - before)
        self._progress = found.progress
        assert found.intents == BATCH, found


def sweep_bar() -> Bar:
    """Measure SWEEP."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        base = folder / "base.db"
        asyncio.run(prepare(base, CONVERSATIONS))
        sweeps: dict[int, _Sweep] = {}
        for rows in (FEW, MANY):
            path = copied(base, folder / f"{rows}.db")
            asyncio.run(fill(path, rows, CONVERSATIONS, over=True))
            store = stack.enter_context(contextlib.closing(sqlite3.connect(path, isolation_level=None)))
            sweeps[rows] = _Sweep(store)
        for _ in range(BATCHES):
            for sweep in sweeps.values():
                sweep.go_on()
    few, many = (statistics.median(sweeps[rows].seconds) for rows in (FEW, MANY))
    return Bar(
        id="SWEEP",
        title=f"a batch of the retention sweep at {MANY:,} old rows / at {FEW:,}",
        measured=many / few,
        demand=1.5,
        better="lower",
        unit="x",
        note=f"{many * 1e3:.1f} ms / {few * 1e3:.1f} ms for {BATCH} rows",
    )


def core_bar() -> Bar:
    """Measure CORE: the collector pauses, as where the app opens a run."""
    found: dict[int, list[float]] = {}
    for events in (SHORT, LONG):
        trace = long_trace(events)
        gc.collect()
        gc.disable()
        try:
            found[events] = [cpu(lambda trace=trace: judge(trace.events)) for _ in range(ROUNDS)]
        finally:
            gc.enable()
        del trace
    short, long = (min(found[events]) for events in (SHORT, LONG))
    return Bar(
        id="CORE",
        title=f"{LONG:,} events to judge / {SHORT:,}",
        measured=long / short,
        demand=4.8,
        better="lower",
        unit="x",
        note=f"{long:.1f} CPU s / {short:.1f} CPU s",
    )


def turn_bar() -> Bar:
    """Measure TURN."""
    load = Load(messages=TURNS, conversations=CONVERSATIONS)
    turns: list[float] = []
    sends: list[float] = []
    with tuned(), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = folder / "base.db"
        asyncio.run(prepare(base, CONVERSATIONS))
        for number in range(TURN_ROUNDS):
            sends.append(asyncio.run(deliver(copied(base, folder / f"send {number}.db"), load)).cpu)
            turns.append(asyncio.run(answer(copied(base, folder / f"turn {number}.db"), load)))
    return Bar(
        id="TURN",
        title="a message of a person, until its answer is delivered / a send",
        measured=min(turns) / min(sends),
        demand=2.4,
        better="lower",
        unit="x",
        note=f"{min(turns) * 1e6:.0f} us / {min(sends) * 1e6:.0f} us CPU",
    )


def command_bars() -> Iterator[Bar]:
    """Measure COMMANDS."""
    yield command_bar("COMMANDS", 2, "--version")
    for command in ("queue", "transcript", "bindings", "hands", "bugs"):
        yield command_bar("COMMANDS", 3, command, "--help")
    yield command_bar("COMMANDS", 15, "bugs")
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        asyncio.run(prepare(store, 1))
        for words in (("queue", "list"), ("hands", "list"), ("bindings", "list"), ("transcript",)):
            yield command_bar("COMMANDS", 15, *words, "--store", str(store))


def bars() -> Iterator[Bar]:
    """Measure them all."""
    yield from command_bars()
    yield turn_bar()
    yield sweep_bar()
    yield core_bar()
