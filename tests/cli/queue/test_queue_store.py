"""The store that `trunkline queue` opens, beside a gateway or alone."""

import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from tests.support.cli.queues import everything, queue_lines, refused, writing
from tests.support.contract.version_1 import write_version_1
from tests.support.sending import Platform, message, serving, texts
from trunkline.app.report.queue import WATCH
from trunkline.core.config import DeliveryConfig
from trunkline.core.errors import Ambiguous, SendFailed
from trunkline.core.events.delivery import IntentReopened, IntentSettled
from trunkline.core.store.sqlite.migrate import migrate
from trunkline.core.store.sqlite.offline import opening
from trunkline.core.values import Capabilities, Idempotency

# ---------------------------------------------------------------- files


def write_foreign(path: Path) -> None:
    with writing(path) as raw:
        raw.execute("CREATE TABLE songs (name TEXT)")


def write_newer(path: Path) -> None:
    with writing(path) as raw:
        migrate(raw)
        raw.execute("PRAGMA user_version = 99")


COMMANDS: list[tuple[str, ...]] = [
    ("list",),
    ("show", "x"),
    ("retry", "x"),
    ("retry", "--state", "dead"),
    ("resolve", "x", "--sent"),
    ("purge", "--state", "dead", "--yes"),
]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "a folder, and no store"),
        (lambda path: path.write_text("dear diary, " * 1000), "file is not a database"),
        (lambda path: path.write_bytes(b""), "an empty database"),
        (write_foreign, "a SQLite database of another program"),
        (write_newer, "upgrade Trunkline"),
        (write_version_1, "it has version 1, and today's is"),
    ],
    ids=["none", "folder", "text", "empty", "foreign", "newer", "older"],
)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_what_is_no_store_of_today_is_refused_and_stays_as_it_is(trunkline, tmp_path, make, says, arguments):
    path = tmp_path / "x.db"
    make(path)
    before = path.read_bytes() if path.is_file() else path.exists()
    complaint = refused(trunkline, *arguments, "--store", path, code=2)
    assert says in complaint and str(path) in complaint
    assert (path.read_bytes() if path.is_file() else path.exists()) == before
    # SQLite may need files of its own beside it to look at it.
    found = {one.name for one in tmp_path.iterdir()} - {"x.db-wal", "x.db-shm"}
    assert found == (set() if before is False else {"x.db"})


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_store_must_be_named(trunkline, arguments):
    assert "--store" in refused(trunkline, *arguments, code=2)


def test_looking_changes_nothing(trunkline, store):
    before = store.read_bytes()
    queue_lines(trunkline, "list", "--store", store)
    queue_lines(trunkline, "show", "dead.reply", "--store", store)
    assert store.read_bytes() == before


def test_a_store_that_somebody_else_keeps_for_too_long_is_reported(trunkline, store, monkeypatch):
    monkeypatch.setattr(opening, "_TIMEOUT", 0.01)
    before = everything(store)
    with writing(store) as raw:
        raw.execute("BEGIN IMMEDIATE")
        complaint = refused(trunkline, "retry", "dead.reply", "--store", store)
        assert "database is locked; nothing was changed" in complaint
        # Looking needs no turn.
        assert len(queue_lines(trunkline, "list", "--store", store)) > 2
        raw.execute("ROLLBACK")
    assert everything(store) == before


# ---------------------------------------------------------------- beside a gateway


def test_what_is_done_beside_a_gateway_is_taken_up_by_it(trunkline, tmp_path, monkeypatch):
    monkeypatch.undo()
    path = tmp_path / "store.db"

    async def main() -> None:
        platform = Platform()
        platform.capabilities = Capabilities(idempotency=Idempotency.NONE)
        platform.errors = [Ambiguous("no answer")]
        async with serving(path, platform, delivery={"watch": "1ms"}) as running:
            with pytest.raises(SendFailed):
                await running.gateway.send(message())
            lines = await anyio.to_thread.run_sync(queue_lines, run, "resolve", "send:k", "--unsent", "--store", path)
            await running.until(IntentReopened)
            await running.until(IntentSettled, 2)
            assert texts(platform) == ["hi"]
        assert lines[0] == "send:k: was unknown, is prepared, from chunk 1 of 1"
        assert lines[1].endswith("holds this store, and picks it up within its delivery.watch (20s by default)")
        platform.close()

    def run(*arguments):
        return trunkline(*arguments)

    anyio.run(main)
    assert DeliveryConfig().watch == WATCH


def test_the_command_needs_little_to_start(tmp_path):
    """Nothing of the app's screens, and nothing of the simulator."""
    code = (
        "import sys\nfrom trunkline.app.cli.commands import dispatch\n"
        f"try:\n    dispatch(['queue', 'list', '--store', {str(tmp_path / 'no.db')!r}])\nexcept Exception: pass\n"
        "print(*(name for name in ('textual', 'trunkline.sim', 'faker') if name in sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
