"""`trunkline store copy`: what it prints, and what it refuses."""

import contextlib
import shutil
import sqlite3
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.contract.stores.test_copy_to_server import old_store
from tests.support.postgres import Server, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Generator[Server]:
    with running() as started:
        yield started


def test_the_command_says_what_it_did(server: Server, trunkline, tmp_path: Path, monkeypatch) -> None:
    store, url = old_store(9, tmp_path / "store.db"), server.url()
    code, out, err = trunkline("store", "copy", store, url)
    assert (code, err) == (0, "")
    assert out.startswith(f"copied: {store} -> postgresql://trunkline@127.0.0.1:") and "pass" not in out
    code, out, err = trunkline("store", "copy", store, url)
    assert code == 0 and out.startswith("is there already, row by row: ")
    shutil.copy(store, other := tmp_path / "other.db")
    with contextlib.closing(sqlite3.connect(other)) as raw, raw:
        raw.execute("UPDATE transcript SET text = 'x' WHERE n = 1")
    code, out, err = trunkline("store", "copy", other, url)
    assert (code, out) == (1, "") and "transcript differs at row 1: choose another schema; nothing was changed" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.db", "postgresql://127.0.0.1/x"], "none.db: no such file"),
        (["README.md", "postgresql://127.0.0.1/x"], "README.md"),
        (["none.db", "gateway.db"], "the address of a store on a server is postgresql://USER@HOST/DATABASE"),
    ],
)
def test_wrong_input_is_named(trunkline, words: list[str], said: str) -> None:
    code, out, err = trunkline("store", "copy", *words)
    assert (code, out) == (2, "") and said in err and "Traceback" not in err
