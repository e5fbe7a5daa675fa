"""P6: what a line costs in a transcript of 10,000 entries, against one of 100 in the same store.

A sample is a message that comes and the mirror of its answer, each with its commit, in a store file that is opened as a
gateway opens it. What it added is taken away again, outside of the measurement, so that the transcripts stay as long as
they are. CPU time of this thread, samples of both by turns, medians.
"""

import contextlib
import gc
import random
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from tests.support.bench.bar import Bar
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.sql.transcript import append, append_mirror
from trunkline.core.values import IntentId, SessionId

SHORT, LONG = 100, 10_000
#: other sessions, so that neither of the two has the table for itself
OTHERS = 20
SAMPLES = 500
WARM_UP = 50
TEXT = "a line as people write them, not long, and not short either: " * 2


def session_of(entries: int) -> SessionId:
    """The session with so many entries."""
    return SessionId(f"session-{entries:032x}")


def fill(raw: sqlite3.Connection, dice: random.Random) -> None:
    """Transcripts that grew side by side; ids are random, as those of a gateway are."""
    counts = {session_of(SHORT): SHORT, session_of(LONG): LONG}
    counts |= {session_of(number): LONG // OTHERS for number in range(OTHERS)}
    lines = [session for session, count in counts.items() for _ in range(count)]
    dice.shuffle(lines)
    raw.execute("BEGIN")
    for session in lines:
        append(raw, session, "user", TEXT, ref(dice), 1.0)
    raw.execute("COMMIT")


def ref(dice: random.Random) -> str:
    """An id as a gateway makes them."""
    return f"inbound-{dice.getrandbits(128):032x}"


def cost(raw: sqlite3.Connection, session: SessionId, dice: random.Random) -> float:
    """CPU seconds of one line: the mean of a message and of the answer to it, each in a transaction."""
    heard = ref(dice)
    said = IntentId(f"{heard}.reply")
    before = time.thread_time()
    raw.execute("BEGIN IMMEDIATE")
    append(raw, session, "user", TEXT, heard, 2.0)
    raw.execute("COMMIT")
    raw.execute("BEGIN IMMEDIATE")
    append_mirror(raw, session, TEXT, said, 2.0, partial=False)
    raw.execute("COMMIT")
    spent = time.thread_time() - before
    raw.execute("DELETE FROM transcript WHERE session_id = ? AND ref IN (?, ?)", (session, heard, said))
    return spent / 2


def measure(path: Path) -> dict[int, list[float]]:
    """Costs by the number of entries."""
    dice = random.Random("transcripts")
    costs: dict[int, list[float]] = {SHORT: [], LONG: []}
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        migrate(raw)
        fill(raw, dice)
        gc.collect()
        for number in range(SAMPLES + WARM_UP):
            # By turns, and which one comes first too: the second one finds the log as the first one left it.
            for entries in (SHORT, LONG) if number % 2 else (LONG, SHORT):
                spent = cost(raw, session_of(entries), dice)
                if number >= WARM_UP:
                    costs[entries].append(spent)
        found = dict(raw.execute("SELECT session_id, count(*) FROM transcript GROUP BY session_id"))
    assert [found[session_of(entries)] for entries in (SHORT, LONG)] == [SHORT, LONG]
    return costs


def bars() -> list[Bar]:
    """Measure P6."""
    with tempfile.TemporaryDirectory() as folder:
        costs = measure(Path(folder) / "store.db")
    short, long = (statistics.median(costs[entries]) for entries in (SHORT, LONG))
    return [
        Bar(
            id="P6",
            title=f"transcript append at {LONG:,} entries / at {SHORT}",
            measured=long / short,
            demand=1.1,
            better="lower",
            unit="x",
            note=f"{long * 1e6:.1f} us / {short * 1e6:.1f} us a line with its commit",
        )
    ]


if __name__ == "__main__":
    for bar in bars():
        print(bar)
