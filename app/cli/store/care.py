"""``trunkline store``: checks, backs up and restores the store file of a gateway, or copies it to a server."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from trunkline.app.cli.store.files import Json, operators_app, or_exit, print_answer
from trunkline.app.operators.port import NotPossible
from trunkline.app.report.explain import fields_json
from trunkline.app.terminal.output import print_error
from trunkline.app.text.cells import count
from trunkline.core.errors import StoreError, UsageError
from trunkline.core.store.postgres.address import is_address, server_address
from trunkline.core.store.sqlite.copies import NotOverwritten, StoreFacts, back_up, check_store, restore
from trunkline.core.store.sqlite.damage import damaged
from trunkline.core.store.sqlite.migrate import contract, migrate
from trunkline.core.store.sqlite.offline.opening import open_to_change

T = TypeVar("T")
app = operators_app("store", "Check, back up and restore the store file of a gateway, or copy it to a server.")


@app.command
def check(store: Path, /, *, json: Json = False) -> int:
    """Check all pages, rows and indexes of a store file. A gateway may be running on it.

    :param store: The store file.
    """
    found = _asked(lambda: check_store(store), store)
    lines = [*found.findings, _line("damaged" if found.findings else "sound", found)]
    print_answer("store", {"verb": "check", **fields_json(found)}, lines, json=json)
    if found.findings:
        print_error(f"trunkline: {damaged(store, found.findings[0])}")
        return 2
    return 0


@app.command
@or_exit
def backup(store: Path, copy: Path, /, *, json: Json = False) -> int:
    """Copy a store file, and check the copy. A gateway may be running on it, and goes on.

    :param store: The store file.
    :param copy: The file to make. One that is there is never overwritten.
    """
    made = _asked(lambda: back_up(store, copy), store, copy)
    return print_answer("store", {"verb": "backup", **fields_json(made)}, [_line("backed up", made)], json=json)


@app.command(name="restore")
@or_exit
def restore_(backup: Path, store: Path, /, *, json: Json = False) -> int:
    """Copy a backup to where there is no store. The gateway that starts on it goes on with what was unfinished in it.

    Backups of earlier versions are taken, too.

    :param backup: The backup, which stays as it is.
    :param store: The store file to make. One that is there is never overwritten: move it away.
    """
    made = _asked(lambda: restore(backup, store), backup, store)
    return print_answer("store", {"verb": "restore", **fields_json(made)}, [_line("restored", made)], json=json)


@app.command
@or_exit
def copy(store: Path, server: str, /, *, json: Json = False) -> int:
    """Copy a store file to a PostgreSQL server, and compare every row. Stop the gateway before; the file stays.

    It is all or nothing: a copy that was cut off is repeated, and one that is there already is compared.

    :param store: The store file.
    :param server: `postgresql://USER@HOST/DATABASE?schema=NAME`, with the password in `PGPASSWORD` or `~/.pgpass`. The
        schema is made if it is not there.
    """
    from trunkline.core.store.postgres.copy import copy_to_server

    made = _in_words(lambda: copy_to_server(store, server))
    done = "is there already, row by row" if made.before else "copied"
    line = f"{done}: {made.path} -> {made.server}, {count(sum(made.rows.values()), 'row')}"
    return print_answer("store", {"verb": "copy", **fields_json(made)}, [line], json=json)


@app.command(name="migrate")
@or_exit
def migrate_(store: str, /, *, json: Json = False) -> int:
    """Bring a store to this version, and remove what only earlier versions needed.

    A start does the first part alone, so that gateways of the version before go on working. Run this when none of them
    is left, and none will come back: they refuse the store from then on. A gateway of this version may be running.

    :param store: The store file, or `postgresql://USER@HOST/DATABASE?schema=NAME`.
    """
    ran = _in_words(lambda: _migrate_store(store))
    shown = server_address(store).shown if is_address(store) else store
    line = f"migrated: {shown}, {count(ran, 'migration')}" if ran else f"nothing to migrate: {shown}"
    return print_answer("store", {"verb": "migrate", "store": shown, "ran": ran}, [line], json=json)


def _migrate_store(store: str) -> int:
    if not is_address(store):
        with open_to_change(Path(store), today=False) as connection:
            return migrate(connection) + contract(connection)
    from trunkline.core.store.postgres.migrate import migrate_server

    return migrate_server(store)


def _asked(work: Callable[[], StoreFacts], *files: Path) -> StoreFacts:
    # A path has one slash of the two.
    if any(str(file).startswith(("postgresql:/", "postgres:/")) for file in files):
        raise UsageError(
            "a store on a server is cared for there: pg_amcheck checks it, pg_dump and pg_restore copy its schema"
        )
    return _in_words(work)


def _in_words(work: Callable[[], T]) -> T:
    try:
        return work()
    except NotOverwritten as error:
        raise NotPossible(error.facts) from error
    except StoreError as error:
        raise UsageError(error.facts) if type(error) is StoreError else error from error


def _line(done: str, facts: StoreFacts) -> str:
    due = facts.newest - facts.version
    today = f"; the next start migrates it to {facts.newest} ({count(due, 'migration')})" if due > 0 else ""
    return f"{done}: {facts.path}, {count(facts.bytes, 'byte')}, version {facts.version}{today}"
