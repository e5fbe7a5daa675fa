"""``trunkline transcript``: what a session remembers, as JSON lines; or the sessions of a store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from trunkline.app.cli.io.output import print_json, print_lines
from trunkline.app.cli.store.files import StoreFile
from trunkline.app.view.text.cells import count
from trunkline.core.errors import StoreError, UnknownName, UsageError
from trunkline.core.store.sqlite.offline.transcript_export import (
    find_session,
    near,
    reading,
    sessions,
    transcript_lines,
)


def print_transcript(session: str | None = None, /, *, store: StoreFile) -> int:
    """Print the transcript of a session as JSON lines; without a session, list the sessions of the store.

    The store is only read; a gateway may be running on it.

    Parameters
    ----------
    session:
        Key of a session, or its id, which also finds a session that has ended.
    """
    try:
        with reading(store) as connection:
            if session is None:
                print_lines(*_sessions(connection))
            else:
                for line in _transcript(connection, session, store):
                    print_json(line)
    except StoreError as error:
        raise UsageError(error.facts) from error
    return 0


def _sessions(connection: sqlite3.Connection) -> Iterator[str]:
    for header, lines in sessions(connection):
        facts = f"generation {header.generation}, {count(lines, 'line')}"
        ended = "" if header.ended is None else f", ended ({header.ended})"
        yield f"{header.session_key}  {header.session_id}  {facts}{ended}"


def _transcript(connection: sqlite3.Connection, name: str, store: Path) -> Iterator[str]:
    header = find_session(connection, name.strip())
    if header is None:
        close = ", ".join(near(connection, name.strip()))
        hint = f"did you mean: {close}?" if close else "without a name all sessions are listed"
        raise UnknownName(f"{store} has no session {name!r}; {hint}")
    return transcript_lines(connection, header)
