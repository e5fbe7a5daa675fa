"""What the tests of queue share."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from tests.support.factories import intent, receipt, room
from trunkline.core.reasons import Reason
from trunkline.core.store import IntentRow
from trunkline.core.store.sqlite.sql import writes as ops
from trunkline.core.values import IntentState

S = IntentState
BORN, NOW = 1_700_000_000.0, 1_700_000_000.0 + 3 * 3600 + 5 * 60
replace = msgspec.structs.replace


@contextlib.contextmanager
def writing(path: Path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


def bring(raw: sqlite3.Connection, row: IntentRow, state: IntentState, *, acked: int = 0, at: float = BORN) -> None:
    """Store an intent that has come to a state, after so many chunks."""
    ops.enqueue(raw, row, BORN)
    for n in range(acked):
        ops.ack_chunk(raw, replace(row, acked=n), receipt(f"90{n}", row.address), None, at)
    row = replace(row, acked=acked)
    if state is S.SENDING:
        ops.mark_sending(raw, replace(row, attempts=1), at)
    elif state is S.MISPLACED:
        ops.misplace(raw, row, receipt("666", room("501")), None, at)
    elif state is not S.PREPARED and acked < len(row.chunks):
        reason = {S.UNKNOWN: Reason.PARKED, S.EXPIRED: Reason.TOO_OLD}.get(state, Reason.PLACE_GONE)
        ops.end_intent(raw, replace(row, attempts=2), state, reason, None, at)


def made(name: str, *chunks: str, **fields: Any) -> IntentRow:
    return intent(name, *(chunks or ("one", "two", "three")), **{"created_at": BORN, **fields})


def told(trunkline, *arguments) -> list[str]:
    code, out, err = trunkline("queue", *arguments)
    assert (code, err) == (0, "")
    return out.splitlines()


def document(trunkline, *arguments) -> dict[str, Any]:
    code, out, err = trunkline("queue", *arguments, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found.pop("trunkline_queue") == 1
    return found


def refused(trunkline, *arguments, code: int = 1) -> str:
    """The complaint about a command."""
    given, out, err = trunkline("queue", *arguments)
    assert (given, out) == (code, "")
    return err


def everything(path: Path) -> list[Any]:
    with writing(path) as raw:
        return [raw.execute(f"SELECT * FROM {table}").fetchall() for table in ("intents", "sends", "nudges")]


def state_of(path: Path, name: str) -> str:
    with writing(path) as raw:
        return raw.execute("SELECT state FROM intents WHERE id = ?", (name,)).fetchone()[0]
