"""Reads a state folder of OpenClaw, and writes nothing there."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from trunkline.app.imports.openclaw import ingress, queue_entries, session_entries
from trunkline.app.imports.openclaw.copies import NotReadable, columns_of, copied, user_version
from trunkline.app.imports.openclaw.values import (
    ForeignSession,
    OpenClawState,
    QueuedDelivery,
    UnreadableEntry,
    WaitingMessage,
)
from trunkline.core.errors import UsageError

#: the newest schemas that this was tried with: those of OpenClaw 2026.9.6
NEWEST_STATE, NEWEST_AGENT = 18, 23
_DATABASE = Path("state") / "openclaw.sqlite"
_AGENT_DATABASE = Path("agent") / "openclaw-agent.sqlite"
_SESSION_TABLES = ("session_nodes", "conversations", "session_conversations", "session_windows", "session_participants")


def find_state_folder(given: Path) -> Path:
    """The state folder: the given one, or one right below it. Raises `UsageError` if there is none."""
    try:
        if not given.exists():
            raise UsageError(f"{given}: no such folder")
        if not given.is_dir():
            raise UsageError(f"{given}: a file; name the state folder of OpenClaw, such as ~/.openclaw")
        for folder in (given, given / ".openclaw", given / "state"):
            if _is_state(folder):
                return folder
    except OSError as error:
        raise UsageError(f"{given}: {error.strerror or error}") from error
    raise UsageError(
        f"{given}: no state folder of OpenClaw; one has state/openclaw.sqlite, delivery-queue or agents, "
        "and is ~/.openclaw unless OPENCLAW_STATE_DIR names another"
    )


def _is_state(folder: Path) -> bool:
    if (folder / _DATABASE).is_file() or (folder / "delivery-queue").is_dir():
        return True
    return any(_agent_folders(folder)) or (folder / "sessions" / "sessions.json").is_file()


def _agent_folders(folder: Path) -> Iterator[Path]:
    agents = folder / "agents"
    if agents.is_dir():
        for agent in sorted(agents.iterdir()):
            if (agent / _AGENT_DATABASE).is_file() or (agent / "sessions" / "sessions.json").is_file():
                yield agent


def read_state(given: Path) -> OpenClawState:
    """Everything that is known of a state folder. Raises `UsageError` if it is none."""
    folder = find_state_folder(given)
    reader = _Reader(folder)
    reader.read()
    return OpenClawState(
        folder=str(given),
        version=reader.version,
        sessions=tuple(reader.sessions),
        queue=tuple(sorted(reader.queue, key=lambda entry: (entry.enqueued or 0.0, entry.id))),
        completed=reader.completed,
        waiting=tuple(reader.waiting),
        unreadable=tuple(reader.unreadable),
        notes=tuple(reader.notes),
    )


class _Reader:
    """Collects what the parts of a folder have. A part that cannot be read is noted, and the others are read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.version = ""
        self.sessions: list[ForeignSession] = []
        self.queue: list[QueuedDelivery] = []
        self.completed = 0
        self.waiting: list[WaitingMessage] = []
        self.unreadable: list[UnreadableEntry] = []
        self.notes: list[str] = []

    def read(self) -> None:
        """Read all parts."""
        self._database(_DATABASE, NEWEST_STATE, self._state_database)
        self._queue(queue_entries.queue_files(self._folder))
        for agent in _agent_folders(self._folder):
            self._agent(agent)
        oldest = self._folder / "sessions" / "sessions.json"
        if oldest.is_file():
            self._session_file(oldest, "main")

    def _agent(self, folder: Path) -> None:
        database = folder.relative_to(self._folder) / _AGENT_DATABASE

        def read(connection: sqlite3.Connection) -> None:
            columns = {table: columns_of(connection, table) for table in _SESSION_TABLES}
            found, unreadable = session_entries.session_rows(connection, folder.name, columns)
            self.sessions += found
            self.unreadable += unreadable

        in_database = self._database(database, NEWEST_AGENT, read)
        # Later versions leave the file behind when they have moved its sessions into the database.
        file = folder / "sessions" / "sessions.json"
        if file.is_file() and not in_database:
            self._session_file(file, folder.name)

    def _session_file(self, path: Path, agent: str) -> None:
        found, unreadable = session_entries.session_file(path, agent, path.relative_to(self._folder).as_posix())
        self.sessions += found
        self.unreadable += unreadable

    def _state_database(self, connection: sqlite3.Connection) -> None:
        self.version = self.version or _version(connection)
        self._queue(queue_entries.queue_rows(connection, columns_of(connection, queue_entries.TABLE)))
        waiting, unreadable = ingress.waiting_rows(connection, columns_of(connection, ingress.TABLE))
        self.waiting += waiting
        self.unreadable += unreadable

    def _queue(self, found: queue_entries.QueueReading) -> None:
        self.queue += found.entries
        self.completed += found.completed
        self.unreadable += found.unreadable

    def _database(self, name: Path, newest: int, read: Callable[[sqlite3.Connection], None]) -> bool:
        """Read a database, if it is there. False if it is not, or cannot be read."""
        path = self._folder / name
        if not path.is_file():
            return False
        try:
            with copied(path) as connection:
                if (version := user_version(connection)) > newest:
                    self.notes.append(
                        f"{name.as_posix()} has the schema {version}; this was tried up to {newest}, "
                        "so what a newer OpenClaw has added is not shown"
                    )
                read(connection)
        except NotReadable as error:
            self.unreadable.append(UnreadableEntry(where=name.as_posix(), why=str(error)))
            return False
        return True


def _version(connection: sqlite3.Connection) -> str:
    """The version of OpenClaw that wrote the database last, if it says so."""
    if "app_version" not in columns_of(connection, "schema_meta"):
        return ""
    row = connection.execute(
        "SELECT app_version FROM schema_meta WHERE role = 'global' OR meta_key = 'primary' LIMIT 1"
    )
    found = row.fetchone()
    return str(found[0] or "").splitlines()[0] if found and found[0] else ""
