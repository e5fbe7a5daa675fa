"""``trunkline store``: check, backup and restore, and what all commands say of a damaged file."""

import contextlib
import json
import os
import sqlite3
import stat

import anyio
import pytest

from tests.contract.stores.test_every_version import old_store
from trunkline import EventLog, SqliteStore, connect_file
from trunkline.core.store.sqlite.migrate import newest
from trunkline.core.store.sqlite.process_lock import FileLock


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "gateway.db"

    async def make():
        made = SqliteStore(lambda: connect_file(path), EventLog(lambda: 0.0).recorder("gateway"))
        await made.open()
        await made.close()

    anyio.run(make)
    return path


def spoil(path):
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 40960)


def names(folder):
    """The files in a folder, without those that SQLite makes to read one."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(("-wal", "-shm")))


def content(path):
    with contextlib.closing(sqlite3.connect(path)) as raw:
        return list(raw.iterdump())


def test_a_sound_store_is_called_sound(trunkline, store):
    code, out, err = trunkline("store", "check", store)
    assert (code, err) == (0, "")
    assert out == f"sound: {store}, {store.stat().st_size} bytes, version {newest()}\n"
    code, out, _ = trunkline("store", "check", store, "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["verb"], found["path"], found["version"], found["findings"]) == ("check", str(store), newest(), [])


def test_a_damaged_store_is_called_damaged_by_every_command_in_the_same_words(trunkline, store, tmp_path):
    whole = store.read_bytes()
    spoil(store)
    sentence = f"trunkline: The store is damaged, or is no store: {store}: database disk image is malformed."
    remedy = f"Move the file away and restore a backup: trunkline store restore BACKUP {store}\n"
    code, out, err = trunkline("store", "check", store)
    assert (code, err) == (2, f"{sentence} {remedy}")
    assert f"damaged: {store}" in out
    code, out, _ = trunkline("store", "check", store, "--json")
    assert (code, json.loads(out)["findings"]) == (2, ["database disk image is malformed"])
    code, _, err = trunkline("store", "backup", store, tmp_path / "copy.db")
    assert (code, "damaged" in err, (tmp_path / "copy.db").exists()) == (2, True, False)
    # The schema is what all of them read.
    store.write_bytes(whole[:100] + b"\xa5" * 3996 + whole[4096:])
    for command in (("queue", "list"), ("bindings", "list"), ("hands", "list"), ("transcript",)):
        code, out, err = trunkline(*command, "--store", store)
        assert (code, out, err) == (2, "", f"{sentence} {remedy}"), command


@pytest.mark.parametrize("content", [b"hello world, no database " * 400, b"\0" * 40960])
def test_a_file_that_is_no_store_is_called_so(trunkline, tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    for command in (("store", "check", path), ("queue", "list", "--store", path), ("store", "backup", path, "x.db")):
        code, out, err = trunkline(*command)
        assert (code, out) == (2, "")
        assert err.startswith(f"trunkline: The store is damaged, or is no store: {path}: file is not a database.")
    assert path.read_bytes() == content


def test_a_backup_has_the_same_rows_and_belongs_to_its_owner(trunkline, store, tmp_path):
    copy = tmp_path / "it's a copy.db"
    code, out, err = trunkline("store", "backup", store, copy)
    assert (code, err) == (0, "")
    assert out.startswith(f"backed up: {copy}, ")
    assert content(copy) == content(store)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert {path.name for path in tmp_path.iterdir()} <= {"gateway.db", "gateway.db-wal", "gateway.db-shm", copy.name}


def test_nothing_is_ever_overwritten(trunkline, store, tmp_path):
    copy, before = tmp_path / "copy.db", store.read_bytes()
    copy.write_text("precious")
    code, out, err = trunkline("store", "backup", store, copy)
    assert (code, out) == (1, "")
    assert err == f"trunkline: {copy} is there: choose another name; nothing was changed\n"
    assert copy.read_text() == "precious"
    copy.unlink()
    trunkline("store", "backup", store, copy)
    code, _, err = trunkline("store", "restore", copy, store)
    assert (code, f"{store} is there" in err) == (1, True)
    assert store.read_bytes() == before


def test_a_restore_is_refused_beside_what_would_change_it(trunkline, store, tmp_path):
    copy, away = tmp_path / "copy.db", tmp_path / "away.db"
    trunkline("store", "backup", store, copy)
    store.rename(away)
    wal = tmp_path / "gateway.db-wal"
    wal.write_bytes(b"of another file")
    code, _, err = trunkline("store", "restore", copy, store)
    assert (code, f"{wal} is there" in err) == (1, True)
    wal.unlink()
    held = FileLock(store)
    assert held.take()
    code, _, err = trunkline("store", "restore", copy, store)
    assert (code, "a gateway still works with a deleted file of this name" in err) == (1, True)
    held.drop()
    assert not store.exists()
    code, out, _ = trunkline("store", "restore", copy, store)
    assert (code, out.startswith(f"restored: {store}, ")) == (0, True)
    assert content(store) == content(away)


def test_what_root_restores_belongs_to_the_owner_of_its_folder(trunkline, store, tmp_path, monkeypatch):
    """A service with a user of its own could not write it."""
    assert trunkline("store", "backup", store, tmp_path / "copy.db")[0] == 0
    state, given = tmp_path / "state", []
    state.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, *owner, **how: given.append((path, owner, how)))
    assert trunkline("store", "restore", tmp_path / "copy.db", state / "gateway.db")[0] == 0
    owner = (state.stat().st_uid, state.stat().st_gid)
    assert given == [(state / "gateway.db", owner, {"follow_symlinks": False})]


def test_a_backup_of_an_earlier_version_is_taken_and_it_is_said_what_migrates(trunkline, tmp_path):
    backup = old_store(3, tmp_path / "old.db")
    code, out, err = trunkline("store", "restore", backup, tmp_path / "gateway.db")
    assert (code, err) == (0, "")
    due = newest() - 3
    assert out.endswith(f"version 3; the next start migrates it to {newest()} ({due} migrations)\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "{folder}/none.db"), "none.db: no such file"),
        (("backup", "{folder}/none.db", "{folder}/copy.db"), "none.db: no such file"),
        (("backup", "{folder}/gateway.db", "{folder}/none/copy.db"), "copy.db: No such file or directory"),
        (("restore", "{folder}", "{folder}/new.db"), "a folder, and no store"),
        (("restore", "{folder}/newer.db", "{folder}/new.db"), "upgrade Trunkline"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(trunkline, store, tmp_path, arguments, said):
    newer = tmp_path / "newer.db"
    newer.write_bytes(store.read_bytes())
    with contextlib.closing(sqlite3.connect(newer)) as raw:
        raw.execute("PRAGMA user_version = 9999")
    before = names(tmp_path)
    code, out, err = trunkline("store", *(text.format(folder=tmp_path) for text in arguments))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
    assert names(tmp_path) == before
