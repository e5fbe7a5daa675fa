"""State folders of OpenClaw: of real gateways, from the dumps in `tests/fixtures/openclaw`, and made by hand."""

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[2] / "fixtures" / "openclaw"


def real_state(name: str, folder: Path) -> Path:
    """The state folder of a gateway that ran: the tables that are read, as they were."""
    for database, path in (("state", "state/openclaw.sqlite"), ("agent", "agents/main/agent/openclaw-agent.sqlite")):
        target = folder / path
        target.parent.mkdir(parents=True)
        with closing(sqlite3.connect(target)) as connection:
            connection.execute("PRAGMA journal_mode = wal")
            connection.executescript((FIXTURES / name / f"{database}.sql").read_text(encoding="utf-8"))
    return folder


def change(folder: Path, sql: str, *values: object, database: str = "state/openclaw.sqlite") -> None:
    with closing(sqlite3.connect(folder / database)) as connection, connection:
        connection.execute(sql, values)


def queue_row(folder: Path, name: str, entry: object, *, status: str = "pending", **columns: Any) -> None:
    """Add a row to the delivery queue. A text is stored as it is, anything else as JSON."""
    stored = entry if isinstance(entry, str) else json.dumps(entry)
    given = {
        "queue_name": "outbound-prepared-v1",
        "id": name,
        "status": status,
        "entry_json": stored,
        "enqueued_at": 1_795_000_000_000,
        "updated_at": 1_795_000_000_000,
        **columns,
    }
    marks = ", ".join("?" for _ in given)
    change(folder, f"INSERT INTO delivery_queue_entries ({', '.join(given)}) VALUES ({marks})", *given.values())


def old_entry(**changes: Any) -> dict[str, Any]:
    """An entry as versions before the database kept it in a file."""
    return {
        "id": "e1",
        "enqueuedAt": 1_770_000_000_000,
        "channel": "telegram",
        "to": "123",
        "accountId": "default",
        "payloads": [{"text": "it is deployed"}],
        "retryCount": 0,
        **changes,
    }


def write_json(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def footprint(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file and folder -> its time of change, and the hash of what is in it."""
    found: dict[str, tuple[int, str]] = {}
    for path in sorted([folder, *folder.rglob("*")]):
        content = path.read_bytes() if path.is_file() else b""
        found[path.relative_to(folder).as_posix()] = (path.lstat().st_mtime_ns, hashlib.sha256(content).hexdigest())
    return found
