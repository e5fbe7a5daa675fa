"""What scenarios store and ask, and what is drawn at random, gives the same answers and rows on both databases."""

import contextlib
import sqlite3
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from tests.support.contract.generated_calls import Corpus, Draws, recorded_calls
from tests.support.paths import SCENARIO_FILES
from tests.support.postgres import Server, running
from tests.support.scenario.own_defects import FILES
from trunkline.core.errors import StoreError
from trunkline.core.store.commands import Write
from trunkline.core.store.postgres.address import server_address
from trunkline.core.store.postgres.connection import PgConnection
from trunkline.core.store.postgres.migrate import migrate
from trunkline.core.store.sqlite import connection as connection_module
from trunkline.core.store.sqlite import store as store_module
from trunkline.core.store.sqlite.connection import PendingWrite, pending
from trunkline.core.store.sqlite.handlers import HANDLERS, QUERIES, ReadSql, RunSql, ask
from trunkline.core.store.sqlite.migrate import migrate as migrate_file
from trunkline.core.store.sqlite.sql.work import forget_begun
from trunkline.sim import run_scenario
from trunkline.sim.run import fault_board, world
from trunkline.sim.store.disk import Disk
from trunkline.sim.store.outside import OutsideStore

_together = connection_module._together  # pyright: ignore[reportPrivateUsage]
#: what the simulator's disk says, and no handler
_BY_A_FAULT = "another writer holds the transcript"
_LEASE = "SELECT owner, token, lock, until FROM lease"
Call = Callable[[sqlite3.Connection], Any]


class Recorded(msgspec.Struct, frozen=True):
    """A call on a connection, with its outcome on SQLite: an answer, or an error."""

    words: str
    call: Call
    outcome: Any
    #: the row of the lease at that time
    lease: tuple[Any, ...]


class Recorder:
    """Notes what is committed and asked in runs."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.calls: list[Recorded] = []
        #: the rows at the end
        self.rows: dict[str, list[tuple[Any, ...]]] = {}
        #: rows were written by no command
        self.other_rows = False
        patched.setattr(connection_module, "_together", self._commit)
        patched.setattr(store_module, "ask", self._ask)
        patched.setattr(store_module, "forget_begun", self._forget)
        patched.setattr(OutsideStore, "write", self._outside(OutsideStore.write))
        patched.setattr(Disk, "discard", self._discard(Disk.discard))
        for module, name in ((world, "write_stored"), (fault_board, "damage")):
            patched.setattr(module, name, self._other(getattr(module, name)))

    def _note(self, words: str, call: Call, c: sqlite3.Connection, work: Callable[[], Any]) -> Any:
        lease = c.execute(_LEASE).fetchone()
        try:
            answer = work()
        except (sqlite3.OperationalError, StoreError):
            # The disk, or another holder: nothing was stored.
            raise
        except Exception as error:
            if str(error) == _BY_A_FAULT:
                raise
            self.calls.append(Recorded(words, call, error, lease))
            raise
        self.calls.append(Recorded(words, call, answer, lease))
        return answer

    def _commit(self, c: sqlite3.Connection, writes: Sequence[PendingWrite], token: int | None) -> list[Any]:
        if any(isinstance(write.command, RunSql) for write in writes):
            return _together(c, writes, token)
        kinds = ", ".join(type(write.command).__name__ for write in writes)
        return self._note(kinds, lambda c: _together(c, writes, None), c, lambda: _together(c, writes, token))

    def _ask(self, c: sqlite3.Connection, query: Any) -> Any:
        if isinstance(query, ReadSql) or any(map(callable, msgspec.structs.astuple(query))):
            return ask(c, query)
        return self._note(type(query).__name__, lambda c: ask(c, query), c, lambda: ask(c, query))

    def _forget(self, c: sqlite3.Connection, token: int) -> None:
        self._note("forget_begun", lambda c: forget_begun(c, token), c, lambda: forget_begun(c, token))

    def _outside(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(store: OutsideStore, command: Any) -> Any:
            changed = store._changed(command)  # pyright: ignore[reportPrivateUsage]
            pair, disk = [pending(changed, lambda answer: answer)], store._disk  # pyright: ignore[reportPrivateUsage]
            words = f"outside {type(changed).__name__}"
            return self._note(words, lambda c: _together(c, pair, None)[0], disk.open(), lambda: write(store, command))

        return recorded

    def _discard(self, discard: Callable[[Disk], None]) -> Callable[[Disk], None]:
        def noted(disk: Disk) -> None:
            self.rows = rows_of(disk.open())
            discard(disk)

        return noted

    def _other(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **named: Any) -> Any:
            self.other_rows = True
            return work(*args, **named)

        return noted


def rows_of(c: Any) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of all tables but the lease; JSON that a store may write otherwise as a value."""
    made = sqlite3.connect(":memory:", isolation_level=None)
    migrate_file(made)
    tables = [name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table in tables:
        columns = [column for _, column, *_ in made.execute(f"PRAGMA table_info({table})")]
        rows = c.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        if table not in ("lease", "sqlite_sequence"):
            found[table] = sorted((tuple(map(value_of, row)) for row in rows), key=repr)
    made.close()
    return found


def value_of(value: Any) -> Any:
    if isinstance(value, str):
        value = value.rstrip()
        if value.startswith("{"):
            with contextlib.suppress(ValueError):
                return msgspec.json.decode(value)
        return value.replace("\0", "\ufffd")
    return float(value) if isinstance(value, int) else value


def plain(outcome: Any) -> Any:
    """An outcome whose texts have no NUL, as on PostgreSQL."""
    if isinstance(outcome, Exception):
        # What the database says is its own.
        return type(outcome).__name__ if isinstance(outcome, sqlite3.Error) else repr(outcome)
    try:
        return msgspec.json.decode(msgspec.json.encode(outcome).replace(b"\\u0000", "\ufffd".encode()))
    except TypeError:
        return repr(outcome)


def outcome_of(recorded: Recorded, c: PgConnection) -> Any:
    c.execute("UPDATE lease SET owner = ?, token = ?, lock = ?, until = ?", recorded.lease)
    try:
        return recorded.call(cast("sqlite3.Connection", c))
    except Exception as error:  # noqa: BLE001 -- compared
        return error


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running() as started:
        yield started


@pytest.mark.slow
@pytest.mark.nightly(every=6)
@pytest.mark.parametrize("path", SCENARIO_FILES, ids=lambda path: path.stem)
def test_a_scenario(path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        recorder = Recorder(patched)
        run_scenario(FILES[path])
    if recorder.other_rows:
        # The commands alone do not make them.
        return
    with contextlib.closing(PgConnection(server_address(server.url()))) as connection:
        migrate(connection)
        for recorded in recorder.calls:
            assert plain(outcome_of(recorded, connection)) == plain(recorded.outcome), recorded.words
        assert rows_of(connection) == recorder.rows


@pytest.mark.slow
def test_a_difference_is_found(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        recorder = Recorder(patched)
        run_scenario(FILES[SCENARIO_FILES[0]])
    assert len(recorder.calls) > 10
    with contextlib.closing(PgConnection(server_address(server.url()))) as connection:
        migrate(connection)
        # A kind of writes is left out.
        others = [recorded for recorded in recorder.calls if "Admit" not in recorded.words]
        assert any(plain(outcome_of(recorded, connection)) != plain(recorded.outcome) for recorded in others)
        assert rows_of(connection) != recorder.rows


#: commands and queries that are drawn for each pair of stores, and pairs: 20,000 at night
DRAWN, PAIRS = 500, 40


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    with pytest.MonkeyPatch.context() as patched:
        return recorded_calls(patched)


def drawn_outcome(c: Any, call: tuple[Any, ...]) -> Any:
    try:
        if not isinstance(call[0], Write):
            return ask(c, call[0])
        return _together(c, [pending(command, lambda answer: answer) for command in call], None)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 -- compared; a check may expect not to be asked
        return error


@pytest.mark.slow
def test_every_command_and_query_is_drawn(corpus: Corpus) -> None:
    missing = {*HANDLERS, *QUERIES} - corpus.of_kind.keys()
    assert missing <= {RunSql, ReadSql}


@pytest.mark.slow
@pytest.mark.nightly(every=10)
@pytest.mark.parametrize("seed", range(PAIRS))
def test_drawn_commands_and_queries(seed: int, corpus: Corpus, server: Server) -> None:
    with (
        contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as file,
        contextlib.closing(PgConnection(server_address(server.url()))) as connection,
    ):
        migrate_file(file)
        migrate(connection)
        refused = count = 0
        for n, call in enumerate(Draws(corpus, seed).calls(DRAWN)):
            ours, theirs = drawn_outcome(file, call), drawn_outcome(connection, call)
            assert plain(theirs) == plain(ours), call
            count, refused = count + len(call), refused + isinstance(ours, Exception)
            if n % 25 == 0:
                assert rows_of(connection) == rows_of(file), call
        assert rows_of(connection) == rows_of(file)
        # Most of it does something.
        assert count >= DRAWN > refused * 3, refused
