"""The disk: one in-memory SQLite database that outlives the processes that use it.

A crash leaves exactly what was committed. The connection that a process opens belongs to the disk, and closing it
leaves it open. Commits are counted, so that a fault can strike at any of them.
"""

import contextlib
import re
import sqlite3
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import msgspec

from trunkline.core.store.sqlite.connection import Db
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.sim.events.script import StoredRows
from trunkline.sim.index.known_texts import checksum
from trunkline.sim.loop import Node
from trunkline.sim.store.inline_sqlite import make_inline
from trunkline.sim.store.store_reuse import ReusableStore


class SimConnection(sqlite3.Connection):
    """A connection that notifies its disk of each commit, and stays open when a process closes it."""

    disk: "Disk"

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement; the disk is notified before and after a COMMIT."""
        if sql != "COMMIT":
            return super().execute(sql, parameters)
        self._fail(self.disk.refusal())
        cursor = super().execute(sql)
        self.disk.count_commit()
        return cursor

    def _fail(self, refusal: str | None) -> None:
        if refusal is None:
            return
        if refusal == "write-error":
            # As in SQLite: an I/O error rolls the transaction back, a full disk leaves it open.
            super().execute("ROLLBACK")
        raise sqlite3.OperationalError(_ERRORS[refusal])

    def close(self) -> None:
        """Roll back; the data stays with the disk."""
        if self.in_transaction:
            super().execute("ROLLBACK")

    def discard(self) -> None:
        """Close the connection itself."""
        super().close()


class SimLock:
    """A process's lock on a disk: freed when its node dies, held while the node is frozen."""

    def __init__(self, disk: "Disk", node: Node | None) -> None:
        self._disk = disk
        self._node = node

    @property
    def name(self) -> str:
        """Process and number, e.g. ``gateway 1``."""
        return "nobody" if self._node is None else f"{self._node.name} {self._node.generation}"

    @property
    def alive(self) -> bool:
        """Whether the process lives; a lock without a process lives until it is dropped."""
        return self._node is None or self._node.alive

    def take(self) -> str:
        if self._disk.lock is None or not self._disk.lock.alive:
            self._disk.lock = self
        return "the disk" if self._disk.lock is self else ""

    def drop(self) -> None:
        if self._disk.lock is self:
            self._disk.lock = None


class Disk:
    """Durable state of one run. `failing` answers before a commit how it fails: ``error`` or ``write-error``.

    With `looks`, which costs time, `carries` names the rows that a commit writes. `unmirrored` answers whether mirrors
    are refused now. The connection is taken from `spare`, and given back at the end.
    """

    def __init__(
        self,
        failing: Callable[[], str | None],
        on_commit: Callable[[int], None],
        *,
        looks: bool = False,
        unmirrored: Callable[[], bool] | None = None,
        spare: ReusableStore | None = None,
    ) -> None:
        self._failing = failing
        self._looks = looks
        self._unmirrored = unmirrored
        # Traces and triggers for such faults would stay in a reused connection.
        self._spare = None if looks or unmirrored is not None else spare
        #: what the current transaction writes, with `looks`
        self.carries = set[str]()
        self._on_commit = on_commit
        self._connection: SimConnection | None = None
        #: commits so far, by all processes; a renewed lease does not count
        self.commits = 0
        self._outside = 0
        #: the lock of the process that works the store
        self.lock: SimLock | None = None

    def open(self) -> sqlite3.Connection:
        """The raw connection, shared by all processes."""
        if self._connection is None:
            connection = self._spare_one() or self._new_one()
            connection.disk = self
            if self._looks:
                connection.set_trace_callback(partial(_look, self.carries))
            if self._unmirrored is not None:
                connection.create_function("unmirrored", 0, self._unmirrored)
                connection.execute(_REFUSE_MIRRORS)
            self._connection = connection
        return self._connection

    def _spare_one(self) -> SimConnection | None:
        held = None if self._spare is None else self._spare.take_connection()
        return held if isinstance(held, SimConnection) else None

    def _new_one(self) -> SimConnection:
        made = sqlite3.connect(":memory:", isolation_level=None, factory=SimConnection, cached_statements=256)
        fill(made, _empty_store())
        if self._spare is not None:
            self._spare.note(made)
        return made

    def connect(self, node: Node | None = None) -> Db:
        """A connection of a process, as in production but running inline in the simulated loop."""
        db = Db(self.open, 64)
        db.process_lock = SimLock(self, node)
        make_inline(db, latency=lambda: LATENCY)
        return db

    def reach(self) -> None:
        """A process that is no gateway is about to use it. Raises `sqlite3.OperationalError`."""

    def notify(self, *, left: bool) -> None:
        """A process that is no gateway has committed. `left`: something is there; a file notifies no gateway."""

    @property
    def outside(self) -> int:
        """Rows changed so far by statements that have taken effect, also by those without a COMMIT."""
        if self._connection is not None and not self._connection.in_transaction:
            self._outside = self._connection.total_changes
        return self._outside

    def refusal(self) -> str | None:
        """How the commit that is about to happen fails; none if it succeeds."""
        return self._failing()

    def count_commit(self) -> None:
        """Count a commit: it is durable, and its caller has not been notified yet."""
        self.commits += 1
        self._on_commit(self.commits)

    @property
    def rows(self) -> StoredRows | None:
        """The rows on it; None if nothing was stored, or too much of it."""
        return None if self._connection is None else stored_rows(self._connection)

    def crash(self) -> None:
        """Roll back what the dead process had not committed."""
        if self._connection is not None:
            self._connection.close()

    def discard(self) -> None:
        """Give the connection back, or close it: the run is over."""
        connection, self._connection = self._connection, None
        if connection is not None and (self._spare is None or not self._spare.give(connection)):
            connection.discard()


#: virtual seconds that one statement or transaction takes
LATENCY = 0.0005
#: a store with more lines than this is left out: the trace would be as large again
_MOST_LINES = 2_000
#: what the invariants are shown of the disk; statements of their own, not those of the gateway
_ROWS = (
    "SELECT id, state, acked, coalesce(reason, '') FROM intents ORDER BY n",
    "SELECT id, state FROM inbox ORDER BY n",
    "SELECT id, state, callback FROM delegations ORDER BY n",
    "SELECT id, status FROM bindings ORDER BY n",
)
#: SQLite's error messages for a full disk and for a failing one
_ERRORS = {"error": "database or disk is full", "write-error": "disk I/O error"}
#: another writer holds the transcripts: mirrors are refused, everything else is stored
_REFUSE_MIRRORS = (
    "CREATE TEMP TRIGGER refuse_mirrors BEFORE INSERT ON main.transcript WHEN NEW.role = 'assistant' AND unmirrored()"
    " BEGIN SELECT RAISE(ABORT, 'another writer holds the transcript'); END"
)
#: what a transaction writes, by its statements
_CARRIES = {
    "inbound": re.compile(r"\s*INSERT\b.*?\bINTO inbox\b", re.DOTALL),
    "intent": re.compile(r"\s*INSERT\b.*?\bINTO intents\b", re.DOTALL),
    "ack": re.compile(r"\s*UPDATE intents\b.*\breceipts = (?:printf\(.*)?json_insert\(", re.DOTALL),
}


def _look(carries: set[str], statement: str) -> None:
    if statement.startswith("BEGIN"):
        carries.clear()
    carries.update(what for what, pattern in _CARRIES.items() if pattern.match(statement))


@cache
def _empty_store() -> bytes:
    """The image of an empty store, made by the migrations."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made)
        return made.serialize()


def fill(connection: sqlite3.Connection, image: bytes) -> None:
    """Copy a database into a connection: a tenth of the cost of the migrations, and a sweep does it often."""
    with contextlib.closing(sqlite3.connect(":memory:")) as source:
        source.deserialize(image)
        source.backup(connection)


def stored_rows(connection: sqlite3.Connection) -> StoredRows | None:
    """The rows of a store; None if there are too many, or no tables yet."""
    try:
        (count,) = connection.execute("SELECT count(*) FROM transcript").fetchone()
        lines = connection.execute("SELECT role, text, was FROM transcript ORDER BY n").fetchall()
        rows = [connection.execute(sql).fetchall() for sql in _ROWS]
    except sqlite3.Error:
        return None
    if count > _MOST_LINES:
        return None
    first = [(role, text if was is None else msgspec.json.decode(was)[0]) for role, text, was in lines]
    tables: list[Any] = [[tuple(row) for row in table] for table in rows]
    return StoredRows(
        intents=tuple(tables[0]),
        lines=tuple((role, checksum(text)) for role, text in first),
        works=tuple(tables[1]),
        delegations=tuple(tables[2]),
        bindings=tuple(tables[3]),
    )
