"""SQLite's statements in PostgreSQL's words. What they mean there is tested on a server, in tests/contract."""

from pathlib import Path

import pytest

from tests.support.for_each import for_each
from trunkline.core.errors import UsageError
from trunkline.core.store.postgres import dialect
from trunkline.core.store.postgres.address import is_address, server_address
from trunkline.core.store.postgres.dialect import translated
from trunkline.core.store.sqlite.migrate import newest


@for_each(
    ("sql", "text", "names"),
    [
        ("SELECT ? , '?', ':no' FROM t WHERE a = ?", "SELECT $1 , '?', ':no' FROM t WHERE a = $2", ()),
        ("SELECT :b, :a, :b", "SELECT $1, $2, $1", ("b", "a")),
        ("SELECT 1 FROM t WHERE 1 AND 1 LIMIT ?", "SELECT 1 FROM t WHERE true AND true LIMIT nullif($1, -1)", ()),
        ("INSERT OR IGNORE INTO t (a) VALUES (?)", "INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING", ()),
        (
            "INSERT OR REPLACE INTO session_moves (old_key, new_key) VALUES (?, ?)",
            "INSERT INTO session_moves (old_key, new_key) VALUES ($1, $2)"
            " ON CONFLICT (old_key) DO UPDATE SET new_key = excluded.new_key",
            (),
        ),
        ("SELECT CAST(a AS BLOB), CAST(b AS TEXT)", "SELECT sl_cast(a, ''::bytea), sl_cast(b, ''::text)", ()),
        ("SELECT * FROM (SELECT a FROM t) WHERE b = ?", "SELECT * FROM (SELECT a FROM t) AS found WHERE b = $1", ()),
    ],
)
def test_a_statement_is_spelled_otherwise(sql: str, text: str, names: tuple[str, ...]) -> None:
    found = translated(sql)
    assert (found.text.decode(), found.names) == (text, names)


def test_the_newest_migration_has_the_number_of_sqlites() -> None:
    found = Path(dialect.__file__).with_name("migrations").glob("*.sql")
    assert max(int(path.name.partition("_")[0]) for path in found) == newest()


def test_an_address_is_shown_without_what_is_secret() -> None:
    address = server_address("postgresql://me:hush@h1:1,h2/db?schema=chat&password=hush&sslmode=require")
    assert address.url == "postgresql://me:hush@h1:1,h2/db?password=hush&sslmode=require"
    assert address.shown == "postgresql://me@h1:1,h2/db?schema=chat"
    assert address.has_password
    assert not server_address("postgres://me@h/db").has_password
    assert server_address("postgres://h/db").schema == "trunkline"
    assert not is_address("gateway.db")


@for_each(("url",), [("postgresql://[",), ("gateway.db",), ("postgresql://h/db?schema=A;hush",)])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError) as error:
        server_address(url)
    assert "expected" in str(error.value) or "USER@HOST" in str(error.value)
