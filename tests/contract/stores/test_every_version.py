"""Stores that gateways of every earlier version wrote until they were killed: they open, and their work goes on.

`tests/fixtures/stores/version_N.sql.gz` are dumps of stores as the last commit of each version left them: 1 and 2 after
a few questions, the others in the middle of a storm of `tests.kill`. A new migration
adds the dump of the version before.
"""

import contextlib
import gzip
import json
import sqlite3
from pathlib import Path

import anyio
import pytest

from tests.support.misbehaving import LoopAdapter, serve
from tests.support.paths import ROOT
from trunkline.core.store.sqlite.copies import check_store, restore
from trunkline.core.store.sqlite.migrate import newest

STORES = ROOT / "tests" / "fixtures" / "stores"
#: the stores age, and what is old expires
CONFIG = {"delivery": {"max_age": 1e9, "backoff": [0.02], "request_timeout": 0.3}}


class Loopback(LoopAdapter):
    channel = "loopback"


async def answer(turn):
    return f"today's answer to {turn.text}"


def old_store(version: int, path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.executescript(gzip.decompress((STORES / f"version_{version}.sql.gz").read_bytes()).decode())
    return path


def left_open(path: Path) -> tuple[list[str], list[str]]:
    """Chunks without a receipt of intents that have not ended, and texts of messages without an answer."""
    with contextlib.closing(sqlite3.connect(path)) as raw:
        intents = raw.execute("SELECT chunks, receipts FROM intents WHERE state IN ('prepared', 'sending')").fetchall()
        works = raw.execute("SELECT work FROM inbox WHERE state = 'pending'").fetchall()
    chunks = [text for texts, receipts in intents for text in json.loads(texts)[len(json.loads(receipts)) :]]
    return chunks, [json.loads(work)["text"] for (work,) in works]


def at_rest(path: Path) -> bool:
    return left_open(path) == ([], [])


def test_there_is_a_store_of_every_earlier_version() -> None:
    assert sorted(path.name for path in STORES.iterdir()) == [f"version_{n}.sql.gz" for n in range(1, newest())]


@pytest.mark.parametrize("version", range(1, newest()))
def test_a_store_of_an_earlier_version_goes_on_with_its_unfinished_work(version: int, tmp_path: Path) -> None:
    backup = old_store(version, tmp_path / "backup.db")
    before = backup.read_bytes()
    chunks, asked = left_open(backup)
    assert len(chunks) > 10
    assert len(asked) >= 2
    store = tmp_path / "store.db"
    facts = restore(backup, store)
    assert (facts.version, facts.newest, facts.findings) == (version, newest(), ())
    adapter = Loopback()

    def done(run: object) -> bool:
        return len(adapter.accepted) >= len(chunks) + len(asked) and at_rest(store)

    run = anyio.run(lambda: serve(store, adapter, agent=answer, until=done, config=CONFIG))
    assert run.error is None
    assert sorted(adapter.texts) == sorted([*chunks, *(f"today's answer to {text}" for text in asked)])
    assert {body.state.value for body in run.of("intent.settled")} == {"delivered"}
    facts = check_store(store)
    assert (facts.version, facts.findings) == (newest(), ())
    assert backup.read_bytes() == before
