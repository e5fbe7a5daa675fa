"""A connection to a PostgreSQL server, for handlers of SQLite.

It is used in the thread of a `Db`. If it is lost, the next statement outside of a transaction connects again.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from trunkline.core.errors import StoreError, UsageError
from trunkline.core.store.postgres.address import ServerAddress
from trunkline.core.store.postgres.dialect import translated
from trunkline.core.store.postgres.server import ServerConnection

try:
    import psycopg
    from psycopg.types.numeric import Int8Dumper
except ImportError as missing:
    raise UsageError("a store on PostgreSQL needs the package psycopg: pip install 'trunkline[postgres]'") from missing

#: the first version of the server with all that is used
_SERVER = 150_000
#: seconds that a connection, a lock, a statement and a silent peer are waited for
_CONNECT, _LOCK, _STATEMENT, _SILENT = 5, 10, 60, 10
#: a frozen process must not keep the row of the lease locked: its transaction ends without it (seconds)
_IDLE = 2
#: errors that any other statement would get too: no right, a server that only reads, no such table
_ANY_WRITE = frozenset({"42501", "25006", "42P01"})
#: a limit that only this statement is beyond
_TOO_LARGE = "54"
_TIME = b"SELECT extract(epoch FROM clock_timestamp())::double precision"
#: of the store in this schema, among all locks of the database. 1414680139: "TRNK"
_KEY = "(1414680139, to_regclass('lease')::oid::integer)"
#: ends the session of a holder whose lease has expired, and any that has had the lease's row for long: a frozen process
#: must keep neither. In the middle of a pipeline no time limit of the server's ends it. 1000: milliseconds
_END_HOLDER = (
    "SELECT pg_terminate_backend(pid, 1000) FROM pg_locks JOIN lease ON owner <> '' AND until <= ?"
    " WHERE granted AND pid <> pg_backend_pid()"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND (locktype = 'advisory' AND classid = 1414680139 AND objid = to_regclass('lease')"
    " OR relation = to_regclass('lease') AND mode = 'RowShareLock' AND pid IN (SELECT pid FROM pg_stat_activity"
    " WHERE xact_start < clock_timestamp() - make_interval(secs => ?)))"
)
#: what became of a transaction; a session that still has it is ended, since its client is gone
_FATE = (
    "SELECT pg_xact_status($1::xid8), (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE backend_xid = $1::xid8::xid AND usename = current_user AND pid <> pg_backend_pid())"
)


class PgConnection(ServerConnection):
    """A connection over psycopg."""

    def __init__(self, address: ServerAddress) -> None:
        self.address, self.shown = address, address.shown
        self.connect()

    @property
    def session(self) -> object | None:
        return None if self.raw.closed else self.raw

    def connect(self) -> None:
        self.raw = self._connect()

    def end_session(self) -> None:
        self.raw.close()

    def _connect(self) -> "psycopg.Connection[Any]":
        try:
            raw = psycopg.connect(
                self.address.url,
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                connect_timeout=_CONNECT,
                tcp_user_timeout=_SILENT * 1000,
                keepalives_idle=_SILENT,
                application_name="trunkline",
                client_encoding="utf8",
            )
            # A pooler forgets parameters of the start, so they are set.
            settings = (
                f"SET search_path = {self.address.schema}; SET lock_timeout = '{_LOCK}s';"
                f" SET statement_timeout = '{_STATEMENT}s'; SET idle_in_transaction_session_timeout = '{_IDLE}s';"
                " SELECT set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'),"
                " false), current_setting('server_encoding'), current_setting('server_version_num')::integer"
            )
            found = raw.execute(settings.encode())
            while found.nextset():
                pass
            _, encoding, version = found.fetchone() or ("", "", 0)
        except psycopg.ProgrammingError:
            # Its words repeat the address.
            raise UsageError(f"{self.address.shown}: a parameter of the address is none of libpq") from None
        except psycopg.Error as error:
            raise self.in_words(error) from None
        if version < _SERVER or encoding != "UTF8":
            raw.close()
            raise StoreError(
                f"{self.address.shown}: version {version // 10_000} with encoding {encoding}; it needs PostgreSQL"
                f" {_SERVER // 10_000} or later and a database with encoding UTF8"
            )
        raw.adapters.register_dumper(int, Int8Dumper)
        raw.prepare_threshold, raw.prepared_max = 3, 400
        return raw

    def in_words(self, error: psycopg.Error) -> sqlite3.Error:
        """An error as SQLite's: of the statement, or of the server, which would refuse anything now."""
        # The details would show texts of people.
        said = error.diag.message_primary or " ".join(str(error).split())
        if isinstance(error, psycopg.IntegrityError):
            return sqlite3.IntegrityError(said)
        state = error.sqlstate or ""
        own = not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) or state.startswith(_TOO_LARGE)
        found = sqlite3.OperationalError(said)
        found.sqlite_errorcode = sqlite3.SQLITE_ERROR if own and state not in _ANY_WRITE else sqlite3.SQLITE_IOERR
        return found

    def execute(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = (), /) -> Any:
        """Run a statement for SQLite."""
        if sql == "COMMIT":
            return self.commit()
        statement = translated(sql)
        named = [parameters[name] for name in statement.names] if isinstance(parameters, Mapping) else parameters
        values = [stored_value(value) for value in named]
        if not sql.startswith(("BEGIN", "ROLLBACK")) or " TO " in sql:
            return self._run(lambda raw: raw.cursor(binary=True).execute(statement.text, values))
        if sql == "ROLLBACK":
            self.in_transaction = False
            return None if self.raw.closed else self._run(lambda raw: raw.execute(b"ROLLBACK"))
        begun = self._run(lambda raw: raw.execute(statement.text))
        self.in_transaction = True
        self.number = begun.fetchone()[0] if begun.nextset() else ""
        return begun

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Any:
        """Run a statement with each of some parameters; the cursor counts the rows of all."""
        rows = [[stored_value(value) for value in values] for values in parameters]
        text = translated(sql).text

        def run(raw: "psycopg.Connection[Any]") -> Any:
            cursor = raw.cursor()
            cursor.executemany(text, rows)
            return cursor

        return self._run(run)

    def _run(self, work: Callable[["psycopg.Connection[Any]"], Any]) -> Any:
        self.reach()
        try:
            return work(self.raw)
        except psycopg.Error as error:
            raise self.in_words(error) from None

    def send_commit(self) -> str:
        try:
            return self.raw.execute("COMMIT", prepare=False).statusmessage or ""
        except psycopg.Error as error:
            raise self.in_words(error) from None

    def fate(self, number: str) -> str | None:
        return self._run(lambda raw: raw.execute(_FATE, [number])).fetchone()[0]

    def time(self) -> float:
        return self._run(lambda raw: raw.execute(_TIME)).fetchone()[0]

    def listen(self) -> "PgConnection":
        """Have the session notified when another process leaves something for the gateway."""
        self.execute("LISTEN trunkline")
        return self

    def read_notifications(self) -> bool:
        """Read the notifications that have come; whether one is about this store."""
        try:
            return self.address.schema in [notice.payload for notice in self.raw.notifies(timeout=0)]
        except psycopg.Error as error:
            raise self.in_words(error) from None

    def try_lock(self) -> bool:
        return self.execute(f"SELECT pg_try_advisory_lock{_KEY}").fetchone()[0]

    def unlock(self) -> None:
        self.execute(f"SELECT pg_advisory_unlock{_KEY}")

    def end_holder(self, now: float) -> bool:
        return bool(self.execute(_END_HOLDER, (now, _IDLE)).fetchall())

    def create_function(self, name: str, narg: int, func: Callable[[str], bool], /) -> None:
        """Define ``own_place`` or ``own_lane`` in the database, by the answers for everything stored."""
        assert narg == 1
        # The answers may take longer than a transaction may be idle.
        # An erasure before it in the transaction has left its own.
        table = f"SET LOCAL idle_in_transaction_session_timeout = 0; DROP TABLE IF EXISTS pg_temp.{name};"
        table += f" CREATE TEMP TABLE {name} (value text) ON COMMIT DROP"
        self._run(lambda raw: raw.execute(table.encode()))
        asked = self._run(lambda raw: raw.execute("SELECT * FROM own_candidates($1)", [name])).fetchall()
        true = [[value] for (value,) in asked if value is not None and func(value)]
        self.executemany(f"INSERT INTO pg_temp.{name} VALUES (?)", true)  # noqa: S608 -- a name in the code

    def close(self) -> None:
        self.raw.close()


def stored_value(value: Any) -> Any:
    """A parameter: PostgreSQL has no NUL in texts, and its numbers are no booleans."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd") if "\0" in value else value
    return int(value) if isinstance(value, bool) else value
