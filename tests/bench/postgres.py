"""PG1 to PG6: the delivery pipeline on a private PostgreSQL server that is durable in full, as ratios in one run.

The yardsticks are measured on the same server, in interleaved rounds: the same rows, coalesced; the pipeline on a file
of SQLite; a plain outbox, and procrastinate where it is installed. Each run has a copy of one database, in which each
conversation has its session, and what it leaves is counted. Where no server is installed, it says so and measures
nothing.
"""

import asyncio
import gc
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar

from tests.support.bench.bar import Bar
from tests.support.bench.product import Load, Took, deliver, prepare, tuned
from tests.support.bench.server_yardsticks import (
    address_in,
    coalesced,
    copy_database,
    has_procrastinate,
    outbox,
    procrastinate,
    run_sql,
    server_cpu,
    store_in,
)
from tests.support.bench.yardsticks import Written, contents, copied, record
from tests.support.postgres import Server, programs, running

ROUNDS = 3
MESSAGES = 10_000
CONVERSATIONS = 1_000
#: through the queues, which need commits for each
QUEUED = 1_500
#: of one conversation
ONE_BY_ONE = 300
LOAD, ONE_LOAD = Load(messages=MESSAGES, conversations=CONVERSATIONS), Load(messages=ONE_BY_ONE, conversations=1)
#: what is demanded and wanted of each: the rate of the rows alone, the CPU of a gateway on a file, the server's for the
#: rows, the rates of two queues, and that of one conversation on a file
ROWS, GATEWAY, SERVER, OUTBOX, OTHERS, ONE = (0.15, 0.25), (1.5, 1.1), (6.0, 3.0), (1.2, 3.0), (3.0, 10.0), (0.2, 0.6)
T = TypeVar("T", Took, Written)


class Bench:
    """Runs things on copies of one database, and keeps what they gave, round by round."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._made = 0
        self.figures: dict[str, list[float]] = defaultdict(list)
        #: transactions of the last run
        self.commits: dict[str, int] = {}
        run_sql(server, "CREATE DATABASE base")
        asyncio.run(prepare(store_in(server, "base"), CONVERSATIONS))
        asyncio.run(prepare(folder / "base.db", CONVERSATIONS))
        url = self._copy()
        self._script = asyncio.run(record(url, LOAD))
        self._before = contents(store_in(server, "base"))
        # `record` has sent one message more, to see that the gateway is up.
        self._each = {name: (count - self._before[name]) / (MESSAGES + 1) for name, count in contents(url).items()}

    def _copy(self) -> str:
        self._made += 1
        # Nothing of what went before is written during the next run.
        url = store_in(self._server, copy_database(self._server, "base", f"copy{self._made}"))
        run_sql(self._server, "CHECKPOINT")
        return url

    def _check(self, url: str, messages: int) -> None:
        """All that a run was to store is there, and nothing else."""
        found = contents(url)
        wanted = {name: count + self._each[name] * messages for name, count in self._before.items()}
        assert found == wanted, (found, wanted)

    def _keep(self, name: str, work: Callable[[], T], messages: int) -> T:
        gc.collect()
        before = server_cpu(self._server)
        took = work()
        self.figures[f"{name} server"].append((server_cpu(self._server) - before) / messages)
        self.figures[name].append(took.rate)
        self.figures[f"{name} cpu"].append(took.cpu)
        return took

    def product(self, name: str, load: Load) -> None:
        """The pipeline on the server."""
        url = self._copy()
        self.commits[name] = self._keep(name, lambda: asyncio.run(deliver(url, load)), load.messages).commits
        self._check(url, load.messages + 1)

    def file(self, name: str, load: Load) -> None:
        """The pipeline on a file of SQLite."""
        path = copied(self._folder / "base.db", self._folder / "run.db")
        self._keep(name, lambda: asyncio.run(deliver(path, load)), load.messages)
        path.unlink()

    def rows(self) -> None:
        """The rows alone."""
        url = self._copy()
        self._keep("rows", lambda: coalesced(url, self._script), MESSAGES)
        self._check(url, MESSAGES)

    def queues(self) -> None:
        """What others do."""
        for name, queue in (("outbox", outbox), *([("procrastinate", procrastinate)] if has_procrastinate() else [])):
            database = f"{name}{self._made}"
            run_sql(self._server, f"CREATE DATABASE {database}")
            gc.collect()
            self.figures[name].append(asyncio.run(queue(address_in(self._server, database), QUEUED)))

    def median(self, name: str) -> float:
        """The median of a figure."""
        return statistics.median(self.figures[name])

    def ratio(self, name: str, to: str) -> float:
        """The median over the rounds of one figure by another."""
        return statistics.median(a / b for a, b in zip(self.figures[name], self.figures[to], strict=True))


def measure(server: Server, folder: Path) -> Bench:
    """All runs, in interleaved rounds."""
    bench = Bench(server, folder)
    for _ in range(ROUNDS):
        bench.rows()
        bench.product("pipeline", LOAD)
        bench.file("file", LOAD)
        bench.product("one", ONE_LOAD)
        bench.file("one file", ONE_LOAD)
        bench.queues()
    return bench


def _bar(name: str, title: str, measured: float, bar: tuple[float, float], unit: str, note: str) -> Bar:
    demand, want = bar
    better: Literal["higher", "lower"] = "higher" if want > demand else "lower"
    return Bar(id=name, title=title, measured=measured, demand=demand, want=want, better=better, unit=unit, note=note)


def _bars(bench: Bench) -> list[Bar]:
    def rate(name: str) -> str:
        return f"{name} {bench.median(name):,.0f}/s"

    def micros(name: str) -> str:
        return f"{bench.median(name) * 1e6:.0f} us"

    pipeline = f"{bench.median('pipeline'):,.0f} messages/s in {bench.commits['pipeline']} commits"
    found = [
        _bar(
            "PG1",
            "pipeline on PostgreSQL / the rows alone, coalesced",
            bench.ratio("pipeline", "rows"),
            ROWS,
            "x",
            f"{pipeline}; {rate('rows')}; on a {rate('file')} ({bench.ratio('pipeline', 'file'):.2f})",
        ),
        _bar(
            "PG2",
            "CPU of the gateway / that with a file",
            bench.ratio("pipeline cpu", "file cpu"),
            GATEWAY,
            "x",
            f"{micros('pipeline cpu')} / {micros('file cpu')} a message",
        ),
        _bar(
            "PG3",
            "CPU of the server / for the rows alone",
            bench.ratio("pipeline server", "rows server"),
            SERVER,
            "x",
            f"{micros('pipeline server')} / {micros('rows server')} a message",
        ),
        _bar("PG4", "pipeline / a plain outbox", bench.ratio("pipeline", "outbox"), OUTBOX, "x", rate("outbox")),
    ]
    cpu = f"{micros('one cpu')} CPU and {micros('one server')} of the server; on a file {micros('one file cpu')}"
    found.append(
        _bar(
            "PG5",
            "messages of one conversation, a commit each / on a file",
            bench.ratio("one", "one file"),
            # Each statement of a commit is a round trip to the server.
            ONE,
            "x",
            f"{rate('one')}; {rate('one file')}; {cpu}",
        )
    )
    if "procrastinate" in bench.figures:
        ratio = bench.ratio("pipeline", "procrastinate")
        found.append(_bar("PG6", "pipeline / procrastinate", ratio, OTHERS, "x", rate("procrastinate")))
    else:
        print("PG6: procrastinate is not installed, so it is not measured")
    return found


def bars() -> list[Bar]:
    """Measure them all."""
    if programs() is None:
        print("PG1 to PG6: PostgreSQL is not installed (tools/postgres.sh does it), so its store is not measured")
        return []
    with tuned(), running(durable=True) as server, tempfile.TemporaryDirectory() as folder:
        return _bars(measure(server, Path(folder)))
