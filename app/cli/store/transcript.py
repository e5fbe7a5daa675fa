"""``trunkline transcript``: what a session remembers, as JSON lines; or the sessions of a store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from trunkline.app.view.text.cells import clean
from trunkline.core.errors import StoreError, UnknownName, UsageError
from trunkline.core.store.sqlite.offline.transcript_export import (
    SessionHeader,
    find_session,
    near,
    reading,
    sessions,
    transcript_lines,
)


def print_transcript(name: str | None, store: Path) -> int:
    """Print the transcript of a session, or which sessions there are. Raises `UsageError`."""
    try:
        with reading(store) as connection:
            for line in _sessions(connection) if name is None else _transcript(connection, name, store):
                print(line)
    except StoreError as error:
        raise UsageError(error.facts) from error
    return 0


def _sessions(connection: sqlite3.Connection) -> Iterator[str]:
    for header, count in sessions(connection):
        yield f"{clean(header.session_key)}  {clean(header.session_id)}  {_facts(header, count)}"


def _facts(header: SessionHeader, count: int) -> str:
    lines = f"generation {header.generation}, {count} line{'' if count == 1 else 's'}"
    return lines if header.ended is None else f"{lines}, ended ({header.ended})"


def _transcript(connection: sqlite3.Connection, name: str, store: Path) -> Iterator[str]:
    header = find_session(connection, name.strip())
    if header is None:
        close = ", ".join(near(connection, name.strip()))
        hint = f"did you mean: {close}?" if close else "without a name all sessions are listed"
        raise UnknownName(f"{store} has no session {name!r}; {hint}")
    return transcript_lines(connection, header)
