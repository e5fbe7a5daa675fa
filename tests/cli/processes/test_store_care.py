"""``trunkline serve`` as a real process on a store file that is damaged, deleted or replaced, and the way back."""

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.serve.processes import PATIENCE, ask, say, serve, token_of

PAGE = 4096

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="open files can be deleted on POSIX only")


def trunkline(*arguments: object) -> str:
    command = [sys.executable, "-m", "trunkline", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def used_store(folder: Path) -> Path:
    """A store in which two messages were answered."""
    with serve(folder, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        for n in range(2):
            assert say(url, token_of(folder), f"text {n}", f"id-{n}")[0] == 200
        server.signal(signal.SIGTERM)
        assert server.ended() == 0
    return folder / "state" / "gateway.db"


def test_a_damaged_store_ends_the_start_in_a_sentence_and_without_a_report(tmp_path: Path) -> None:
    store, reports = used_store(tmp_path), tmp_path / "reports"
    reports.mkdir()
    with store.open("r+b") as file:
        file.seek(5 * 4096)
        file.write(os.urandom(3 * 4096))
    with serve(tmp_path, "--port", "0", "--state", "state", environ={"TMPDIR": str(reports)}) as server:
        assert server.ended() == 2
        assert server.output == ""
        last = server.log.splitlines()[-1]
        assert last.startswith("trunkline: The store is damaged, or is no store: state/gateway.db: ")
        assert last.endswith("Move the file away and restore a backup: trunkline store restore BACKUP state/gateway.db")
        assert "Traceback" not in server.log
    assert list(reports.iterdir()) == []


def overwrite(store: Path, content: bytes) -> None:
    """Overwrite all pages but the first, in place."""
    with store.open("r+b") as file:
        file.seek(PAGE)
        file.write(content)


#: what happens to the content of the open file
DAMAGES = {
    "random pages": lambda store: overwrite(store, os.urandom(store.stat().st_size - PAGE)),
    "zeroed pages": lambda store: overwrite(store, bytes(store.stat().st_size - PAGE)),
    "a foreign file in its place": lambda store: store.write_bytes(b"no store at all" * 1000),
    "truncated": lambda store: os.truncate(store, 2 * PAGE),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_damage_that_a_server_meets_ends_it_in_a_sentence_and_a_backup_goes_on(tmp_path: Path, how: str) -> None:
    store, reports, backup = used_store(tmp_path), tmp_path / "reports", tmp_path / "backup.db"
    reports.mkdir()
    with serve(tmp_path, "--port", "0", "--state", "state", environ={"TMPDIR": str(reports)}) as server:
        url = server.ready().url
        trunkline("store", "backup", store, backup)
        with contextlib.closing(sqlite3.connect(store)) as raw:
            raw.execute("SELECT until FROM lease").fetchall()
            DAMAGES[how](store)
            # Another process commits: what the server has in its memory may be old, and it reads the file again.
            raw.execute("UPDATE lease SET until = until + 0.001")
            raw.commit()
        assert say(url, token_of(tmp_path), "text 2", "id-2")[0] in (0, 503), "nothing is confirmed"
        assert server.ended() == 2
        last = server.log.splitlines()[-1]
        assert "The store is damaged, or is no store: " in last
        assert last.endswith(f"restore a backup: trunkline store restore BACKUP {store}")
        assert "Traceback" not in server.log
    assert list(reports.iterdir()) == []
    for path in store.parent.glob("gateway.db*"):
        path.unlink()
    trunkline("store", "restore", backup, store)
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        answers = [say(url, token_of(tmp_path), f"text {n}", f"id-{n}")[1] for n in range(3)]
    assert [one["duplicate"] for one in answers] == [True, True, False]


def test_a_second_name_of_the_store_is_said_while_it_works(tmp_path: Path) -> None:
    store = used_store(tmp_path)
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        os.link(store, tmp_path / "second.db")
        server.logged("several names (hard links)")
        assert say(url, token_of(tmp_path), "text 2", "id-2")[0] == 200


@pytest.mark.parametrize("how", ["deleted", "replaced", "its -wal deleted", "all of it deleted"])
def test_a_store_that_vanishes_ends_the_server_and_its_rescue_copy_goes_on(tmp_path: Path, how: str) -> None:
    store = used_store(tmp_path)
    older = tmp_path / "older.db"
    shutil.copy(store, older)
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        assert say(url, token_of(tmp_path), "text 2", "id-2")[0] == 200
        wal = store.with_name("gateway.db-wal")
        if how == "replaced":
            older.replace(store)
        else:
            {"deleted": store, "its -wal deleted": wal, "all of it deleted": store}[how].unlink()
        if how == "all of it deleted":
            for suffix in ("-wal", "-shm"):
                store.with_name(f"gateway.db{suffix}").unlink()
        assert server.ended() == 2
        [copy] = store.parent.glob("gateway.db.rescued-*")
        last = server.log.splitlines()[-1]
        lost = wal if how == "its -wal deleted" else store
        assert f"{lost} was {'replaced' if how == 'replaced' else 'deleted'}" in last
        assert f"trunkline store restore {copy} {store}" in last
        assert "Traceback" not in server.log
        # Who asks from then on finds nobody, or is told to ask again.
        assert say(url, token_of(tmp_path), "text 3", "id-3")[0] in (0, 503)
    store.unlink(missing_ok=True)
    assert trunkline("store", "restore", copy, store).startswith(f"restored: {store}, ")
    copy.unlink()
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        for n in range(3):
            assert say(url, token_of(tmp_path), f"text {n}", f"id-{n}")[1]["duplicate"]


def test_a_backup_is_taken_from_a_server_that_works_and_another_one_goes_on_with_it(tmp_path: Path) -> None:
    used_store(tmp_path)
    store, copy = tmp_path / "state" / "gateway.db", tmp_path / "copy.db"
    with serve(tmp_path, "--port", "0", "--state", "state") as server:
        url = server.ready().url
        assert say(url, token_of(tmp_path), "text 2", "id-2")[0] == 200
        assert trunkline("store", "backup", store, copy).startswith(f"backed up: {copy}, ")
        assert trunkline("store", "check", store).startswith(f"sound: {store}, ")
        assert ask(f"{url}/v1/health/ready")[0] == 200
        server.kill()
    (tmp_path / "other").mkdir()
    trunkline("store", "restore", copy, tmp_path / "other" / "gateway.db")
    with serve(tmp_path, "--port", "0", "--state", "other") as server:
        url = server.ready().url
        token = (tmp_path / "other" / "token").read_text().strip()
        answers = [say(url, token, f"text {n}", f"id-{n}")[1] for n in range(3)]
    assert [one["duplicate"] for one in answers] == [True] * 3
