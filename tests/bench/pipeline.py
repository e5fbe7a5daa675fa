"""P1 to P6 and FSYNC: the whole delivery pipeline, on real store files that are durable in full, as ratios.

The yardsticks are measured in the same run, on the same disk, in interleaved rounds: the rows alone, a naive gateway,
and the disk itself. Every run starts on a copy of one store in which each conversation has its session, and what it
leaves is counted: all of them store the same rows.

    python -m tests.bench.pipeline callers    the load of FSYNC alone, to be counted by hand:
    strace -f -c -e trace=fsync,fdatasync python -m tests.bench.pipeline callers
"""

import asyncio
import gc
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tests.support.bench.bar import Bar
from tests.support.bench.product import Load, Took, deliver, lone, prepare, tuned
from tests.support.bench.yardsticks import BATCH, Script, contents, copied, fsync, naive, raw, record

ROUNDS = 3
MESSAGES = 10_000
MANY, USUAL, FEW = 10_000, 1_000, 100
#: fewer, where each needs commits of its own
ONE_BY_ONE = 500
NAIVE = 600
LONE = 100
#: seconds that a commit takes longer in P6, and rounds and messages of it
SLOW = 0.005
SLOW_ROUNDS = 3
SLOW_NAIVE = 60
#: times the CPU of the rows alone that a message may cost, and should: one after the other, lone, and on a slow disk
P4, P5, P6 = (2.5, 1.5), (2.5, 1.2), (8.0, 5.0)
#: callers of FSYNC
FEW_CALLERS = 100
#: writing the log anew after a checkpoint: the log, the store, and the first page of the new log
FSYNCS_OF_A_CHECKPOINT = 3


class Bench:
    """Runs things on copies of one store, and keeps what they gave, round by round."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base = folder / "base.db"
        self._made = 0
        self.figures: dict[str, list[float]] = defaultdict(list)
        self.tooks: dict[str, list[Took]] = defaultdict(list)
        asyncio.run(prepare(self._base, MANY))
        path = self._copy()
        self._script: Script = asyncio.run(record(path, Load(messages=MESSAGES, conversations=USUAL)))
        self._before = contents(self._base)
        # `record` has sent one message more, to see that the gateway is up.
        self._each = {name: (count - self._before[name]) / (MESSAGES + 1) for name, count in contents(path).items()}

    def _copy(self) -> Path:
        self._made += 1
        return copied(self._base, self._folder / f"{self._made}.db")

    def _check(self, path: Path, messages: int) -> None:
        """All that a run was to store is there, and nothing else."""
        found = contents(path)
        wanted = {name: count + self._each[name] * messages for name, count in self._before.items()}
        assert found == wanted, (found, wanted)
        path.unlink()

    def product(self, name: str, load: Load) -> None:
        """One run of the pipeline."""
        path = self._copy()
        gc.collect()
        took = asyncio.run(deliver(path, load))
        self._check(path, load.messages + 1)
        self.tooks[name].append(took)
        self.figures[name].append(took.rate)
        self.figures[f"{name} cpu"].append(took.cpu)

    def raw(self, name: str, *, slow: float = 0.0, batch: int = BATCH, messages: int = MESSAGES) -> None:
        """The rows alone. `<name> cpu` has the CPU seconds of a message."""
        path = self._copy()
        gc.collect()
        took = raw(path, self._script, slow=slow, batch=batch, most=messages)
        self.figures[name].append(took.rate)
        self.figures[f"{name} cpu"].append(took.cpu)
        self._check(path, messages)

    def naive(self, name: str, messages: int, *, slow: float = 0.0) -> None:
        """The naive gateway."""
        path = self._copy()
        gc.collect()
        self.figures[name].append(asyncio.run(naive(path, self._script, messages, FEW, slow=slow)))
        self._check(path, messages)

    def disk(self) -> None:
        """The disk alone."""
        path = self._folder / "fsync"
        rate, median = fsync(path)
        path.unlink()
        self.figures["fsyncs"].append(rate)
        self.figures["fsync"].append(median)

    def lone(self) -> None:
        """Messages that come one by one, with nothing else going on."""
        path = self._copy()
        gc.collect()
        seconds, cpu = asyncio.run(lone(path, LONE))
        self.figures["lone"].append(seconds)
        self.figures["lone cpu"].append(cpu)
        self._check(path, LONE + 1)

    def median(self, name: str) -> float:
        """The median of a figure."""
        return statistics.median(self.figures[name])

    def ratio(self, name: str, to: str) -> float:
        """The median over the rounds of one figure by another."""
        return statistics.median(a / b for a, b in zip(self.figures[name], self.figures[to], strict=True))

    def took(self, name: str, read: Callable[[Took], float]) -> float:
        """The median of something that a run took."""
        return statistics.median(read(took) for took in self.tooks[name])


def measure(folder: Path) -> Bench:
    """All runs, in interleaved rounds."""
    bench = Bench(folder)
    for _ in range(ROUNDS):
        bench.disk()
        bench.raw("raw")
        bench.naive("naive", NAIVE)
        bench.product("few", Load(messages=MESSAGES, conversations=FEW))
        bench.product("usual", Load(messages=MESSAGES, conversations=USUAL))
        bench.product("many", Load(messages=MESSAGES, conversations=MANY))
        bench.raw("raw one", batch=1, messages=ONE_BY_ONE)
        bench.product("one", Load(messages=ONE_BY_ONE, conversations=1))
        bench.lone()
    for _ in range(SLOW_ROUNDS):
        bench.raw("slow raw", slow=SLOW)
        bench.naive("slow naive", SLOW_NAIVE, slow=SLOW)
        bench.product("slow", Load(messages=MESSAGES, conversations=USUAL, slow=SLOW))
    bench.product("callers", callers())
    return bench


def callers() -> Load:
    """The load of FSYNC."""
    return Load(messages=MESSAGES, conversations=USUAL, callers=FEW_CALLERS)


def counted(took: Took) -> int:
    """The times that a run made the disk write, by its commits and checkpoints."""
    return took.commits + took.checkpoints * FSYNCS_OF_A_CHECKPOINT


def _bar(name: str, title: str, measured: float, demand: float, want: float, unit: str, note: str) -> Bar:
    better: Literal["higher", "lower"] = "higher" if want > demand else "lower"
    return Bar(id=name, title=title, measured=measured, demand=demand, want=want, better=better, unit=unit, note=note)


def _load_bars(bench: Bench) -> list[Bar]:
    """P1 to P3: what it carries."""
    usual = bench.tooks["usual"][-1]
    cpu = bench.took("usual", lambda took: took.cpu) * 1e6
    rows = f"{bench.median('usual'):,.0f} messages/s, {cpu:.0f} us CPU and {usual.events:.0f} events each"
    return [
        _bar(
            "P1",
            f"pipeline, {USUAL:,} conversations / the rows alone",
            bench.ratio("usual", "raw"),
            # A fifth of raw is out of reach for one loop that also checks what user code hands over: loop and store
            # thread take turns, and the index that made the rows alone a sixth quicker moves only the smaller part.
            # On a quiet machine 0.174 was measured.
            0.15,
            0.30,
            "x",
            f"{rows}; raw {bench.median('raw'):,.0f}/s",
        ),
        _bar(
            "P2",
            "the same / a commit for each step",
            bench.ratio("usual", "naive"),
            # 9 where an fdatasync takes 0.17 ms: there a commit for each step costs little. P6 has the slow disk.
            8,
            40,
            "x",
            f"naive {bench.median('naive'):,.0f}/s",
        ),
        _bar(
            "P3",
            f"pipeline, {MANY:,} conversations / {FEW}",
            bench.ratio("many", "few"),
            # 0.71 was measured: lanes, timers and rows of 10,000 conversations do not fit into the processor's caches.
            0.65,
            1.0,
            "x",
            f"{bench.median('many'):,.0f} and {bench.median('few'):,.0f} messages/s",
        ),
    ]


def _disk_bars(bench: Bench) -> list[Bar]:
    """P4 and P5, where each message has its commits, as CPU; and FSYNC, what it asks of the disk."""
    took = bench.tooks["callers"][-1]
    commits = bench.took("one", lambda took: ONE_BY_ONE / took.commits)
    return [
        _bar(
            "P4",
            "CPU of a message of one conversation / its rows alone, a commit for each step",
            bench.ratio("one cpu", "raw one cpu"),
            # One commit a message is the rule here: a receipt is durable before the next send of its conversation.
            # The rows alone have two, one for each step. As messages for each fdatasync the disk was measured.
            *P4,
            "x",
            f"{bench.median('one cpu') * 1e6:.0f} us / {bench.median('raw one cpu') * 1e6:.0f} us;"
            f" {bench.median('one'):,.0f} messages/s, {commits:.2f} for each commit;"
            f" the disk alone {bench.median('fsyncs'):,.0f} fdatasync/s",
        ),
        _bar(
            "P5",
            "CPU until a lone message is durable / all its rows alone, a commit for each step",
            bench.ratio("lone cpu", "raw one cpu"),
            # One commit, and two changes of thread.
            *P5,
            "x",
            f"{bench.median('lone cpu') * 1e6:.0f} us CPU, {bench.median('lone') * 1e6:,.0f} us;"
            f" fdatasync {bench.median('fsync') * 1e6:,.0f} us",
        ),
        _bar(
            "FSYNC",
            f"fsyncs of a message, {FEW_CALLERS} callers",
            counted(took) / MESSAGES,
            0.2,
            0.05,
            "fsyncs",
            f"{took.commits} commits and {took.checkpoints} checkpoints for {MESSAGES:,} messages",
        ),
    ]


def _slow_bars(bench: Bench) -> list[Bar]:
    """P6: on a slow disk, where a batch is large."""
    slow = f"commits {SLOW * 1e3:.0f} ms slower"
    note = f"{bench.median('slow'):,.0f} messages/s, naive {bench.median('slow naive'):,.0f}/s"
    of_raw = f"raw {bench.median('slow raw'):,.0f}/s, {bench.ratio('slow', 'slow raw'):.2f} of it"
    title = f"{slow}: CPU of a message / its rows alone"
    cpu = f"{bench.median('slow cpu') * 1e6:.0f} us / {bench.median('slow raw cpu') * 1e6:.0f} us"
    return [_bar("P6", title, bench.ratio("slow cpu", "slow raw cpu"), *P6, "x", f"{cpu}; {note}; {of_raw}")]


def bars() -> list[Bar]:
    """Measure them all."""
    with tuned(), tempfile.TemporaryDirectory() as folder:
        bench = measure(Path(folder))
    return [*_load_bars(bench), *_disk_bars(bench), *_slow_bars(bench)]


def main() -> None:
    """The bars, or the load of FSYNC alone."""
    if sys.argv[1:] != ["callers"]:
        for bar in bars():
            print(bar)
        return
    with tuned(), tempfile.TemporaryDirectory() as folder:
        took = asyncio.run(deliver(Path(folder) / "store.db", callers()))
    kinds = f"{took.commits} commits, {took.checkpoints} checkpoints"
    print(f"counted {counted(took)} fsyncs for {MESSAGES:,} messages: {kinds}")


if __name__ == "__main__":
    main()
