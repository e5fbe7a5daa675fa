"""Reads a state folder of OpenClaw, and writes nothing there."""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import msgspec

from trunkline.app.imports.openclaw import session_entries
from trunkline.app.imports.openclaw.session_entries import Json, number, objects, parsed, part, place_of, time_of, word
from trunkline.app.imports.openclaw.values import (
    ForeignPlace,
    ForeignSession,
    OpenClawState,
    QueuedDelivery,
    QueueStatus,
    UnreadableEntry,
    WaitingMessage,
)
from trunkline.core.errors import UsageError

#: attempts after which OpenClaw gives up, unless the entry says otherwise
MAX_ATTEMPTS = 5
QUEUE_TABLE = "delivery_queue_entries"
_QUEUE_COLUMNS = frozenset({"queue_name", "id", "status", "entry_json"})
#: folders of older versions -> the name of their queue
_FOLDERS: Mapping[str, str] = {"delivery-queue": "outbound", "session-delivery-queue": "session"}
#: entries and files that are longer are not read
_LONGEST = 8_000_000


class QueueReading(msgspec.Struct, frozen=True):
    """The contents of a queue; `completed` counts the receipts of finished deliveries."""

    entries: tuple[QueuedDelivery, ...] = ()
    completed: int = 0
    unreadable: tuple[UnreadableEntry, ...] = ()


def queue_rows(connection: sqlite3.Connection, columns: frozenset[str]) -> QueueReading:
    """The queue of a database. A row that cannot be read does not hide the others. Raises `sqlite3.Error`."""
    if not columns >= _QUEUE_COLUMNS:
        return QueueReading() if not columns else QueueReading(unreadable=(_without(columns),))
    entries, unreadable, completed = list[QueuedDelivery](), list[UnreadableEntry](), 0
    for row in connection.execute(f"SELECT * FROM {QUEUE_TABLE} ORDER BY rowid"):  # noqa: S608 -- a constant
        values = dict(row)
        if values["status"] == QueueStatus.COMPLETED.value:
            completed += 1
            continue
        try:
            entries.append(_of_row(values))
        except ValueError as error:
            unreadable.append(UnreadableEntry(where=f"{QUEUE_TABLE} {values['id']}", why=str(error)))
    return QueueReading(tuple(entries), completed, tuple(unreadable))


def _without(columns: frozenset[str]) -> UnreadableEntry:
    missing = ", ".join(sorted(_QUEUE_COLUMNS - columns))
    return UnreadableEntry(where=QUEUE_TABLE, why=f"the table has no {missing}: another version of OpenClaw")


def _of_row(values: Mapping[str, Any]) -> QueuedDelivery:
    text = values["entry_json"]
    if len(text or "") > _LONGEST:
        raise ValueError("too long to be an entry")
    entry = parsed(text or "")
    found = _entry(entry, word(values["id"]), word(values["queue_name"]), _status(word(values["status"])), QUEUE_TABLE)
    own = place_of(
        {"channel": values.get("channel"), "to": values.get("target"), "accountId": values.get("account_id")}
    )
    place = found.place
    if place is None or (own is not None and (own.channel, own.target) != (place.channel, place.target)):
        place = own
    return msgspec.structs.replace(
        found,
        place=place,
        session_key=word(values.get("session_key")) or found.session_key,
        last_error=word(values.get("last_error")) or found.last_error,
        recovery=word(values.get("recovery_state")) or found.recovery,
        enqueued=time_of(values.get("enqueued_at")) or found.enqueued,
        last_attempt=time_of(values.get("last_attempt_at")) or found.last_attempt,
        failed=time_of(values.get("failed_at")) or found.failed,
    )


def _status(text: str) -> QueueStatus:
    try:
        return QueueStatus(text)
    except ValueError:
        raise ValueError(f"unknown status {text!r}") from None


def queue_files(folder: Path) -> QueueReading:
    """The queues that versions before the database kept as files, below a state folder."""
    entries, unreadable, completed = list[QueuedDelivery](), list[UnreadableEntry](), 0
    for name, queue in _FOLDERS.items():
        for sub, status in (("", QueueStatus.PENDING), ("failed", QueueStatus.FAILED)):
            for path in _files(folder / name / sub):
                if path.suffix == ".delivered":
                    completed += 1
                    continue
                where = path.relative_to(folder).as_posix()
                try:
                    entries.append(_of_file(path, queue, status, where))
                except (OSError, ValueError) as error:
                    unreadable.append(UnreadableEntry(where=where, why=getattr(error, "strerror", None) or str(error)))
    return QueueReading(tuple(entries), completed, tuple(unreadable))


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.suffix in (".json", ".delivered") and path.is_file())


def _of_file(path: Path, queue: str, status: QueueStatus, where: str) -> QueuedDelivery:
    if path.stat().st_size > _LONGEST:
        raise ValueError("too long to be an entry")
    return _entry(parsed(path.read_bytes()), path.stem, queue, status, where)


def _entry(entry: Json, name: str, queue: str, status: QueueStatus, where: str) -> QueuedDelivery:
    return QueuedDelivery(
        id=name or word(entry.get("id")),
        queue=queue,
        status=status,
        where=where,
        place=_place(entry),
        session_key=word(part(entry, "session").get("key")) or word(entry.get("sessionKey")),
        texts=_texts(entry),
        attempts=max(number(entry.get("retryCount")), number(entry.get("attemptCount"))),
        max_attempts=number(entry.get("maxRetries")) or MAX_ATTEMPTS,
        last_error=word(entry.get("lastError")),
        recovery=word(entry.get("recoveryState")),
        enqueued=time_of(entry.get("enqueuedAt")),
        last_attempt=time_of(entry.get("lastAttemptAt")) or time_of(entry.get("platformSendStartedAt")),
        failed=time_of(entry.get("failedAt")),
        available=time_of(entry.get("availableAt")),
    )


def _place(entry: Json) -> ForeignPlace | None:
    return place_of(entry) or place_of(part(entry, "deliveryContext")) or place_of(part(entry, "route"))


def _texts(entry: Json) -> tuple[str, ...]:
    """The visible texts, by the newest form first: prepared batch, rendered plan, payloads; a wake-up's message."""
    prepared = objects(part(entry, "preparedBatch"), "entries")
    accepted = [part(payload, "payload") for payload in prepared if payload.get("status") in (None, "accepted")]
    for payloads in (accepted, objects(part(entry, "renderedBatchPlan"), "items"), objects(entry, "payloads")):
        texts = tuple(text for payload in payloads if (text := word(payload.get("text"))))
        if texts:
            return texts
    alone = word(entry.get("text")) or word(entry.get("message"))
    return (alone,) if alone else ()


# Messages of people that OpenClaw has taken from a platform and not dealt with: a restart takes them up again.

INGRESS_TABLE = "channel_ingress_events"
_INGRESS_COLUMNS = frozenset({"event_id", "channel_id", "account_id", "status", "payload_json"})
_DEEPEST = 12


def waiting_rows(
    connection: sqlite3.Connection, columns: frozenset[str]
) -> tuple[tuple[WaitingMessage, ...], tuple[UnreadableEntry, ...]]:
    """Everything that is neither completed nor deleted. Raises `sqlite3.Error`."""
    if not columns >= _INGRESS_COLUMNS:
        return (), ()
    found, unreadable = list[WaitingMessage](), list[UnreadableEntry]()
    for row in connection.execute(f"SELECT * FROM {INGRESS_TABLE} WHERE status != 'completed' ORDER BY rowid"):  # noqa: S608
        values = dict(row)
        text = ""
        try:
            payload = word(values["payload_json"])
            text = "" if payload in ("", "null") else text_in(parsed(payload))
        except ValueError as error:
            unreadable.append(UnreadableEntry(where=f"{INGRESS_TABLE} {values['event_id']}", why=str(error)))
        found.append(
            WaitingMessage(
                id=word(values["event_id"]),
                channel=word(values["channel_id"]),
                account=word(values["account_id"]),
                lane=word(values.get("lane_key")),
                status=word(values["status"]),
                attempts=values.get("attempts") or 0,
                text=text,
                last_error=word(values.get("last_error")) or word(values.get("failed_reason")),
                received=time_of(values.get("received_at")),
            )
        )
    return tuple(found), tuple(unreadable)


def text_in(tree: object, depth: int = 0) -> str:
    """The text of a platform's message: the first `text`, `content`, `body` or `caption`, outermost first."""
    if depth > _DEEPEST:
        return ""
    if isinstance(tree, dict):
        mapping = cast("dict[str, Any]", tree)
        for name in ("text", "content", "body", "caption"):
            if isinstance(mapping.get(name), str) and mapping[name]:
                return str(mapping[name])
        inner = list(mapping.values())
    elif isinstance(tree, list):
        inner = cast("list[Any]", tree)
    else:
        return ""
    return next((text for value in inner if (text := text_in(value, depth + 1))), "")


# Databases that another process may be writing: they are copied, and the copy is read.
#
# SQLite, even opened to read, may write beside a database whose write-ahead log is in use, and cannot read a locked
# one. A copy of the file and its log leaves the folder as it is. It is taken again if the files changed meanwhile.

_TRIES = 8
_PAUSE = 0.1


class NotReadable(UsageError):
    """A database could not be read; says why."""


@contextmanager
def copied(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a copy of a database. Raises `NotReadable`."""
    with tempfile.TemporaryDirectory(prefix="trunkline-import-") as folder:
        copy = Path(folder) / "copy.sqlite"
        try:
            _copy(path, copy)
        except OSError as error:
            raise NotReadable(error.strerror or str(error)) from error
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.row_factory = sqlite3.Row
                # One row with bytes that are no text must not hide the others.
                connection.text_factory = _text
                connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
                yield connection
        except sqlite3.Error as error:
            raise NotReadable(str(error)) from error


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _copy(path: Path, to: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    for _ in range(_TRIES):
        before = _state(path), _state(log)
        shutil.copyfile(path, to)
        copied_log = to.with_name(f"{to.name}-wal")
        copied_log.unlink(missing_ok=True)
        if before[1] is not None:
            try:
                shutil.copyfile(log, copied_log)
            except FileNotFoundError:
                continue
        if (_state(path), _state(log)) == before:
            return
        time.sleep(_PAUSE)
    raise NotReadable("it is being written all the time; stop the gateway, or copy the folder while it is stopped")


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_size, found.st_mtime_ns


def columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    """The columns of a table; none if it is not there."""
    return frozenset(str(row["name"]) for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)))


def user_version(connection: sqlite3.Connection) -> int:
    """The version of the schema, as OpenClaw counts it."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


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
        self._database(_DATABASE, NEWEST_STATE, self._state_database)
        self._queue(queue_files(self._folder))
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
        self._queue(queue_rows(connection, columns_of(connection, QUEUE_TABLE)))
        waiting, unreadable = waiting_rows(connection, columns_of(connection, INGRESS_TABLE))
        self.waiting += waiting
        self.unreadable += unreadable

    def _queue(self, found: QueueReading) -> None:
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
