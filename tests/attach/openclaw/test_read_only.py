"""Nothing in the folder changes, whoever else works with it."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.attach.openclaw.states import footprint, old_entry, real_state, write_json
from trunkline.app.imports.openclaw import reading
from trunkline.app.imports.openclaw.reading import read_state

DATABASE = "state/openclaw.sqlite"


def test_no_file_changes_and_none_appears(tmp_path: Path) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    write_json(folder / "delivery-queue" / "e1.json", old_entry())
    before = footprint(folder)

    read_state(folder)

    assert footprint(folder) == before


def test_rows_that_are_only_in_the_log_are_read_and_the_log_stays(tmp_path: Path) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    with closing(sqlite3.connect(folder / DATABASE)) as running:
        running.execute("PRAGMA wal_autocheckpoint = 0")
        with running:
            running.execute("UPDATE delivery_queue_entries SET id = 'newer'")
        assert (folder / f"{DATABASE}-wal").stat().st_size > 0
        before = footprint(folder)

        state = read_state(folder)

        assert [one.id for one in state.queue] == ["newer"]
        assert footprint(folder) == before


def test_a_locked_database_is_read(tmp_path: Path) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as running:
        running.execute("PRAGMA locking_mode = exclusive")
        running.execute("BEGIN EXCLUSIVE")
        before = footprint(folder)

        state = read_state(folder)

        assert len(state.queue) == 1 and not state.unreadable
        assert footprint(folder) == before


def test_a_database_that_never_rests_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    times = iter(range(1, 1000))
    monkeypatch.setattr(reading, "_PAUSE", 0.0)
    original = reading.shutil.copyfile

    def copy_while_written(source: Path, target: Path) -> None:
        original(source, target)
        os.utime(source, (next(times), next(times)))

    monkeypatch.setattr(reading.shutil, "copyfile", copy_while_written)

    state = read_state(folder)

    assert [one.where for one in state.unreadable] == [DATABASE, "agents/main/agent/openclaw-agent.sqlite"]
    assert all("stop the gateway" in one.why for one in state.unreadable)


def test_a_folder_that_may_only_be_read_will_do(tmp_path: Path) -> None:
    folder = real_state("killed-when-accepted", tmp_path)
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        state = read_state(folder)
    finally:
        for path in sorted(folder.rglob("*")):
            path.chmod(0o700)
    assert len(state.queue) == 1 and not state.unreadable
