"""A backup that is taken while the gateway works is one state of its store, and a gateway that starts on it goes on."""

import contextlib
import sqlite3
import sys

import anyio

from tests.misbehaving.test_power_cut import digest
from tests.support.misbehaving import LoopAdapter, envelope, place, serve
from trunkline.core.store.sqlite import connection as connection_module
from trunkline.core.store.sqlite.copies import check_store, restore

MESSAGES = 120


def test_a_backup_under_load_is_one_state_and_its_unfinished_work_goes_on(tmp_path, monkeypatch):
    store, backup, again = (tmp_path / name for name in ("store.db", "backup.db", "again.db"))
    states, transact = set(), connection_module._transact

    def noted(connection, writes, token):
        answers = transact(connection, writes, token)
        states.add(digest(connection))
        return answers

    first = LoopAdapter(messages=[envelope(f"text {n}", str(n), address=place(f"c{n % 7}")) for n in range(MESSAGES)])

    async def slow(turn):
        await anyio.sleep(0.3)
        return f"re {turn.text}"

    async def script(_gateway):
        # Everybody has been promised an answer, and few have one.
        while first.unacked or not first.accepted:  # noqa: ASYNC110 -- a list tells nobody
            await anyio.sleep(0.001)
        command = [sys.executable, "-m", "trunkline", "store", "backup", str(store), str(backup)]
        done = await anyio.run_process(command, check=False)
        assert done.returncode == 0, done.stderr

    with monkeypatch.context() as patched:
        patched.setattr(connection_module, "_transact", noted)
        run = anyio.run(lambda: serve(store, first, agent=slow, script=script, until=lambda _: backup.exists()))
    assert run.error is None

    # The same rows as the store had at one moment, in one file of its own that no process holds.
    with contextlib.closing(sqlite3.connect(backup)) as raw:
        assert digest(raw) in states
        assert raw.execute("SELECT owner FROM lease").fetchone() == ("",)
        (pending,) = raw.execute("SELECT count(*) FROM inbox WHERE state = 'pending'").fetchone()
        (unsent,) = raw.execute("SELECT count(*) FROM intents WHERE state = 'prepared'").fetchone()
    assert 0 < pending + unsent < MESSAGES
    assert sorted(path.name for path in tmp_path.iterdir() if "backup" in path.name) == ["backup.db"]

    # What people see in the end, of both gateways: every answer, once.
    assert restore(backup, again).findings == ()
    second, answers = LoopAdapter(before=first), sorted(f"re text {n}" for n in range(MESSAGES))
    missing = MESSAGES - len(first.accepted)

    def done(run):
        return run.error is not None or (len(second.accepted) >= missing and len(run.of("intent.settled")) >= unsent)

    run = anyio.run(lambda: serve(again, second, until=done))
    assert run.error is None
    assert run.of("process.recovered")[0].inbounds == pending
    assert sorted(first.texts + second.texts) == answers
    assert check_store(again).findings == ()
