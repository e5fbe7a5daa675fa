"""A real process on a real file, killed while it edits, reacts, kicks and deletes: nothing doubled, nothing lost."""

import itertools
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import msgspec

from tests.kill.changing import EDITS, MESSAGES, Life, Seen, seen
from tests.support.paths import ROOT
from tests.support.scale import scaled

SEED = 5
KILLS = scaled(30, 4)
#: events in whose moment a process dies, and the highest count of each
_FUSES = {"attempt.started": 4, "chunk.acked": 4, "intent.prepared": 4, "transcript.changed": 2, "intent.settled": 3}


def run(life: Life) -> int:
    """A life of the process; its exit code, negative for a signal."""
    command = [sys.executable, "-m", "tests.kill.changing", msgspec.json.encode(life).decode()]
    return subprocess.run(command, cwd=ROOT, timeout=120, check=False).returncode


def test_changes_survive_the_death_of_their_process(tmp_path: Path) -> None:
    dice, deaths = Random(SEED), 0
    store, platform = tmp_path / "trunkline.db", tmp_path / "platform.jsonl"
    for _ in range(KILLS):
        kind = dice.choice(tuple(_FUSES))
        life = Life(store=str(store), platform=str(platform), kind=kind, count=dice.randint(1, _FUSES[kind]))
        code = run(life)
        assert code in (0, -signal.SIGKILL)
        deaths += code != 0
        if code == 0:
            break
    assert run(Life(store=str(store), platform=str(platform))) == 0
    assert deaths >= min(KILLS, 4)
    arrived = seen(platform)
    for n in range(MESSAGES):
        _judge(n, arrived, store)


def _judge(n: int, arrived: list[Seen], store: Path) -> None:
    sent = {line.text: line.message for line in arrived if line.what == "send"}
    edits = [line.text for line in arrived if line.what == "edit" and line.message == sent[f"draft {n}"]]
    # A repeat has no further effect, and none comes after the next change.
    wanted = [f"edit {n}.{k}" for k in range(1, EDITS + 1)]
    assert [text for text, _ in itertools.groupby(edits)] == wanted
    assert {line.text for line in arrived if line.what == "react" and line.message == f"m{n}"} == {"👍"}
    deleted = {line.message for line in arrived if line.what == "delete"}
    assert sent[f"wrong {n}"] in deleted
    assert not deleted & {sent[f"draft {n}"], sent[f"done {n}"]}
    kicks = [line for line in arrived if line.what == "kick" and f"u{n}" in line.message]
    parked = [row for row in _rows(store, "SELECT extra FROM intents WHERE state = 'unknown'") if f"u{n}" in row[0]]
    assert len(kicks) <= 1
    assert kicks or parked
    lines = _rows(store, "SELECT text, was, deleted FROM transcript WHERE role = 'assistant'")
    [line] = [row for row in lines if row[0] == wanted[-1]]
    assert msgspec.json.decode(line[1]) == [f"draft {n}", *wanted[:-1]]
    assert [row[2] for row in lines if row[0] == f"wrong {n}"] == [1]


def _rows(store: Path, sql: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(store)) as db:
        return db.execute(sql).fetchall()
