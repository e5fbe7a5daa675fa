"""The power fails at any moment, also on a disk whose syncs lie: the store opens whole, or is called damaged.

A cut is an image of the files, taken in the middle of a call; the gateway goes on, so one run gives hundreds of cuts. A
lying disk loses whole pages here. One that also tears them can leave an old sector inside of a row's text (about 1 of
1,600 cuts), which no check of SQLite sees.
"""

import hashlib
from collections import Counter
from random import Random

import anyio
import msgspec
import pytest

from tests.support.disk.power import PowerDisk
from tests.support.disk.vfs import DiskFile, installed
from tests.support.misbehaving import LoopAdapter, envelope, place, serve
from tests.support.scale import run_nightly, scaled
from trunkline import EventLog, SqliteStore, connect_file
from trunkline.core.errors import StoreDamaged
from trunkline.core.store.sqlite import connection as connection_module
from trunkline.core.store.sqlite import damage

MESSAGES = scaled(60, 24)
CUTS = scaled(120, 30)
SEEDS = range(20 if run_nightly() else scaled(2, 1))
TABLES = ("inbox", "intents", "session_map", "session_people", "session_places", "transcript", "delegations")
#: of what is not synced, how much of it survives
KEPT = (0.0, 0.3, 0.6, 0.9, 1.0)


class History:
    """Every state that a transaction left; taken in the thread that commits."""

    def __init__(self, settings):
        #: for the connection, before its first transaction
        self._settings = settings
        self.states = set()

    def begin(self, connection):
        if not self.states:
            for setting in self._settings:
                connection.execute(f"PRAGMA {setting}")

    def note(self, connection):
        self.states.add(digest(connection))


def digest(connection):
    found = hashlib.sha256()
    for table in TABLES:
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2"):
            found.update(repr(row).encode())
    return found.digest()


class Cut(msgspec.Struct):
    store: object
    #: messages that were acknowledged before it
    acknowledged: int


class CuttingDisk(PowerDisk):
    """A disk whose power is cut at random calls."""

    def __init__(self, folder, adapter, dice, *, liar):
        super().__init__()
        self.cuts = []
        self._folder, self._adapter, self._dice, self._liar = folder, adapter, dice, liar

    def write(self, file: DiskFile, offset: int, data: bytes) -> None:
        super().write(file, offset, data)
        self._perhaps_cut()

    def truncate(self, file: DiskFile, size: int) -> None:
        super().truncate(file, size)
        self._perhaps_cut()

    def sync(self, file: DiskFile) -> None:
        # Before it has returned, it may have done nothing yet.
        self._perhaps_cut()
        super().sync(file)
        # It lies for a time, and then it does not.
        self.lies = self._liar and self._dice.random() < 0.9

    def _perhaps_cut(self):
        # There is more to lose than the migrations.
        chance = 0.3 if self._adapter.accepted else 0.02
        if len(self.cuts) < CUTS and self.waiting and self._dice.random() < chance:
            made, acknowledged = self._folder / f"cut{len(self.cuts)}", MESSAGES - len(self._adapter.unacked)
            self.cut(made, self._dice, kept=self._dice.choice(KEPT), torn=0.0 if self._liar else 0.2)
            self.cuts.append(Cut(store=made / "store.db", acknowledged=acknowledged))


class Outcomes(msgspec.Struct, frozen=True):
    """What the cuts of a run left behind."""

    #: a state that was there once; two states mixed into one; refused as damaged
    kinds: Counter[str]
    #: stores that miss what was acknowledged
    missing: int


def cut_often(folder, monkeypatch, *settings, seed=0, liar=False):
    """Work on a disk whose power is cut at random calls, and open what is left."""
    folder.mkdir(exist_ok=True)
    # So that the file itself changes all the time, and not only after a thousand pages.
    history = History(("wal_autocheckpoint=12", *settings))
    transact = connection_module._transact

    def noted(connection, writes, token):
        history.begin(connection)
        answers = transact(connection, writes, token)
        history.note(connection)
        return answers

    messages = [envelope(f"{n} {'x' * 300}", str(n), address=place(f"c{n % 4}")) for n in range(MESSAGES)]
    adapter = LoopAdapter(messages=messages)
    disk = CuttingDisk(folder, adapter, Random(f"cuts {seed}"), liar=liar)
    with monkeypatch.context() as patched, installed(disk):
        patched.setattr(connection_module, "_transact", noted)
        done = lambda run: run.error or len(run.of("intent.settled")) >= MESSAGES  # noqa: E731 -- a condition
        run = anyio.run(lambda: serve(folder / "store.db", adapter, until=done))
    assert run.error is None
    assert len(disk.cuts) >= CUTS / 2
    kinds, missing = Counter[str](), 0
    for cut in disk.cuts:
        kind, messages = outcome(cut.store, history)
        kinds[kind] += 1
        missing += messages < cut.acknowledged
    return Outcomes(kinds, missing)


async def look_into(path):
    """Open a store as a gateway does; its digest, and its number of messages."""
    db = connect_file(path)
    store = SqliteStore(lambda: db, EventLog(lambda: 0.0).recorder("gateway"))
    await store.open()
    try:
        return await db.run(lambda c: (digest(c), c.execute("SELECT count(*) FROM inbox").fetchone()[0]))
    finally:
        await store.close()


def outcome(path, history):
    try:
        found, messages = anyio.run(look_into, path)
    except StoreDamaged:
        return "damaged", 0
    return ("whole" if messages == 0 or found in history.states else "mixed"), messages


@pytest.mark.parametrize("seed", SEEDS)
def test_a_power_cut_takes_nothing_that_was_confirmed(tmp_path, monkeypatch, seed):
    found = cut_often(tmp_path, monkeypatch, seed=seed)
    assert set(found.kinds) == {"whole"}
    assert found.missing == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_disk_whose_syncs_lie_leaves_an_earlier_state_or_one_that_is_called_damaged(tmp_path, monkeypatch, seed):
    found = cut_often(tmp_path, monkeypatch, seed=seed, liar=True)
    assert found.kinds["mixed"] == 0, found
    assert min(found.kinds["whole"], found.kinds["damaged"]) > 0, found


# ---------------------------------------------------------------- what is wrong is found


def test_a_store_that_does_not_wait_for_its_disk_loses_what_was_confirmed(tmp_path, monkeypatch):
    assert cut_often(tmp_path, monkeypatch, "synchronous=OFF").missing > 0


def test_a_start_that_does_not_look_takes_mixed_states_for_whole_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(damage, "findings", lambda *_: ())
    # Which cuts there are depends on how fast the machine is, too.
    runs = (cut_often(tmp_path / str(seed), monkeypatch, seed=seed, liar=True) for seed in range(6))
    assert any(found.kinds["mixed"] > 0 for found in runs)
