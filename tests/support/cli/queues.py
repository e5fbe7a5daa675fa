"""What the tests of queue share."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.support.factories import changed, intent, receipt, room
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk, EndIntent, Enqueue, MarkSending, Misplace
from trunkline.core.store.sqlite.handlers import execute
from trunkline.core.values import IntentState

S = IntentState
BORN, NOW = 1_700_000_000.0, 1_700_000_000.0 + 3 * 3600 + 5 * 60
#: an event that leads to each end
ENDS = {
    S.PARTIAL: DeliveryEvent.REFUSE,
    S.FAILED: DeliveryEvent.REFUSE,
    S.DEAD: DeliveryEvent.EXHAUST,
    S.EXPIRED: DeliveryEvent.EXPIRE,
    S.UNKNOWN: DeliveryEvent.PARK,
    S.CANCELLED: DeliveryEvent.CANCEL,
}


@contextlib.contextmanager
def writing(path: Path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as raw:
        yield raw


def bring(raw: sqlite3.Connection, row: IntentRow, state: IntentState, *, acked: int = 0, at: float = BORN) -> None:
    """Store an intent that has come to a state, after so many chunks."""
    execute(raw, Enqueue(intent=row, now=BORN))
    for n in range(acked):
        execute(
            raw,
            AckChunk(
                intent=changed(row, acked=n),
                receipt=receipt(f"90{n}", row.address),
                mirror=None,
                now=at,
                mirror_due=False,
            ),
        )
    row = changed(row, acked=acked)
    if state is S.SENDING:
        execute(raw, MarkSending(intent=changed(row, attempts=1), now=at))
    elif state is S.MISPLACED:
        execute(
            raw,
            Misplace(
                intent=row,
                receipt=receipt("666", room("501")),
                mirror=None,
                now=at,
                note=None,
                wake=None,
                mirror_due=False,
            ),
        )
    elif state is not S.PREPARED and acked < len(row.content.chunks):
        reason = {S.UNKNOWN: Reason.PARKED, S.EXPIRED: Reason.TOO_OLD}.get(state, Reason.PLACE_GONE)
        execute(
            raw,
            EndIntent(
                intent=changed(row, attempts=2),
                event=ENDS[state],
                reason=reason,
                mirror=None,
                now=at,
                note=None,
                wake=None,
                mirror_due=False,
                notice=None,
            ),
        )


def made(name: str, *chunks: str, **fields: Any) -> IntentRow:
    return intent(name, *(chunks or ("one", "two", "three")), **{"created_at": BORN, **fields})


def queue_lines(trunkline, *arguments) -> list[str]:
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
