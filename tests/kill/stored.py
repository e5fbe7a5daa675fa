"""What a store file says, read by hand and without the gateway's own code."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec

from trunkline.core.store.postgres.address import is_address, server_address
from trunkline.core.store.postgres.connection import PgConnection


class StoredIntent(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the queue."""

    n: int
    id: str
    kind: str
    state: str
    conversation: str
    chunks: tuple[str, ...]
    #: message ids that the platform gave, one a chunk
    receipts: tuple[str, ...]


class StoredLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a transcript."""

    role: str
    text: str
    ref: str
    partial: bool


class StoredTask(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the delegations."""

    id: str
    #: the message that it is about
    task: str
    state: str
    callback: str


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """All that matters, in the order in which it was stored."""

    intents: tuple[StoredIntent, ...]
    lines: tuple[StoredLine, ...]
    tasks: tuple[StoredTask, ...] = ()
    #: what SQLite says of the file
    sound: str

    @property
    def open(self) -> list[str]:
        """Intents that have not ended."""
        found = [f"{one.id} is {one.state}" for one in self.intents if one.state in ("prepared", "sending")]
        return found + [f"{one.id} is {one.state}" for one in self.tasks if one.state in ("accepted", "running")]


@contextlib.contextmanager
def reading(store: str | Path) -> Iterator[sqlite3.Connection]:
    """A connection to a store that a gateway may be working on: a file, or an address."""
    if is_address(str(store)):
        with contextlib.closing(PgConnection(server_address(str(store)))) as other:
            yield cast("sqlite3.Connection", other)
        return
    path = Path(store)
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        yield connection


def at_rest(path: str | Path) -> bool:
    """Whether nothing is open in a store that a gateway may be working on."""
    # One statement: between two of them a task may time out, whose report would then be in neither count.
    with reading(path) as c:
        (is_open,) = c.execute(
            "SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'pending')"
            " OR EXISTS (SELECT 1 FROM intents WHERE state IN ('prepared', 'sending'))"
            " OR EXISTS (SELECT 1 FROM delegations WHERE state IN ('accepted', 'running'))"
            " OR EXISTS (SELECT 1 FROM hand_posts)"
        ).fetchone()
    return not is_open


def dump(path: str | Path) -> str:
    """All that a store holds, as SQL."""
    with reading(path) as c:
        return "\n".join(c.iterdump())


def read_store(path: str | Path) -> Stored:
    """Read a store."""
    with reading(path) as c:
        intents = c.execute("SELECT n, id, kind, state, address, chunks, receipts FROM intents ORDER BY n")
        tasks = c.execute("SELECT id, task, state, callback FROM delegations ORDER BY n")
        lines = c.execute("SELECT role, text, ref, partial FROM transcript ORDER BY n")
        return Stored(
            intents=tuple(
                StoredIntent(
                    n=n,
                    id=intent,
                    kind=kind,
                    state=state,
                    conversation=json.loads(address)["conversation"],
                    chunks=tuple(json.loads(chunks)),
                    receipts=tuple(one["provider_id"] for one in json.loads(receipts)),
                )
                for n, intent, kind, state, address, chunks, receipts in intents
            ),
            lines=tuple(
                StoredLine(role=role, text=text, ref=ref, partial=bool(partial)) for role, text, ref, partial in lines
            ),
            tasks=tuple(StoredTask(id=id_, task=task, state=state, callback=end) for id_, task, state, end in tasks),
            sound="ok" if is_address(str(path)) else c.execute("PRAGMA integrity_check").fetchone()[0],
        )
