"""What the commands of ``trunkline queue`` do."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import msgspec

from trunkline.app.report.queue import (
    as_json,
    changed_json,
    changed_text,
    conservation,
    list_json,
    purged_json,
    shown_json,
    shown_text,
    table,
)
from trunkline.app.view.text.cells import clean, count
from trunkline.core.config import parse_duration
from trunkline.core.errors import IllegalTransition, StoreError, UsageError
from trunkline.core.store.queries import CountPurgeable
from trunkline.core.store.queue_admin import QueueFilter, QueueVerdict
from trunkline.core.store.sqlite.handlers import ask
from trunkline.core.store.sqlite.offline import queue_file
from trunkline.core.store.sqlite.offline.queue_file import NOTICEABLE, RETRYABLE, QueueChanges

P = ParamSpec("P")


class _Refused(Exception):
    """It is not possible, and nothing was changed."""


def or_nothing(command: Callable[P, int]) -> Callable[P, int]:
    """Tell what is not possible, with its exit code."""

    @wraps(command)
    def run(*args: P.args, **named: P.kwargs) -> int:
        try:
            return command(*args, **named)
        except _Refused as error:
            print(f"trunkline: {clean(str(error))}; nothing was changed", file=sys.stderr)
            return 1

    return run


def print_list(store: Path, which: QueueFilter, *, everything: bool, limit: int, json: bool) -> int:
    """Print a part of the queue."""
    if limit < 1:
        raise UsageError("--limit must be at least 1")
    if everything and which.states:
        raise UsageError("--all goes without --state")
    if not everything and not which.states:
        which = msgspec.structs.replace(which, states=NOTICEABLE)
    now = time.time()
    with looking(store) as connection:
        found = queue_file.overview(connection, which, limit=limit, now=now)
    if json:
        print(as_json(list_json(found, now)))
        return 0
    for line in table(found, now):
        print(line)
    return 0


def print_one(store: Path, intent: str, *, json: bool) -> int:
    """Print one intent. Raises `UnknownName`."""
    now = time.time()
    with looking(store) as connection:
        found = queue_file.inspect(connection, intent, now=now)
    print(as_json(shown_json(found, now, store)) if json else shown_text(found, now, store))
    return 0


@or_nothing
def retry_named(store: Path, intents: Sequence[str], *, json: bool) -> int:
    """Have intents tried again, all or none."""
    with changing(store) as connection:
        done = queue_file.retry(connection, intents, now=time.time())
    return _told("retry", done, json=json)


@or_nothing
def retry_all(store: Path, which: QueueFilter, *, json: bool) -> int:
    """Have all of some states tried again."""
    never = [state.value for state in which.states if state not in RETRYABLE]
    if never:
        can = ", ".join(state.value for state in RETRYABLE)
        raise _Refused(f"what is {', '.join(never)} cannot be tried again; what is {can} can")
    with changing(store) as connection:
        done = queue_file.retry_all(connection, which, now=time.time())
    return _told("retry", done, json=json)


@or_nothing
def resolve_one(store: Path, intent: str, verdict: QueueVerdict, *, message_id: str, json: bool) -> int:
    """Say what became of a chunk in doubt."""
    with changing(store) as connection:
        done = queue_file.resolve(connection, intent, verdict, now=time.time(), provider_id=message_id)
    return _told(verdict.value, done, json=json)


@or_nothing
def purge_some(store: Path, which: QueueFilter, *, older_than: str, yes: bool, json: bool) -> int:
    """Remove intents that have ended, asking first."""
    if older_than:
        which = msgspec.structs.replace(which, before=time.time() - _age(older_than))
    try:
        queue_file.check_purge(which)
    except IllegalTransition as error:
        raise _Refused(error.facts) from error
    with looking(store) as connection:
        counts = ask(connection, CountPurgeable(which=which))
    if counts and not (yes or _agreed(conservation(counts))):
        raise _Refused("not agreed to")
    removed = 0
    if counts:
        with changing(store) as connection:
            removed = queue_file.purge(connection, which)
    print(as_json(purged_json(counts, removed)) if json else f"{count(removed, 'intent')} removed")
    return 0


def _age(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--older-than: {error}") from error


def _agreed(what: str) -> bool:
    """Ask whoever sits at the terminal. Raises `UsageError` where nobody does."""
    if not sys.stdin.isatty():
        raise UsageError(f"there is nobody to be asked whether to remove {what}: add --yes")
    print(f"Remove {what}? What was said stays in the transcripts. [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _told(verb: str, done: QueueChanges, *, json: bool) -> int:
    if json:
        print(as_json(changed_json(verb, done)))
        return 0
    for line in changed_text(done):
        print(line)
    return 0


@contextmanager
def looking(store: Path) -> Generator[sqlite3.Connection, None, None]:
    """A store to look into. Raises `UsageError` for what is none."""
    try:
        with queue_file.open_to_read(store) as connection:
            yield connection
    except StoreError as error:
        raise UsageError(error.facts) from error


@contextmanager
def changing(store: Path) -> Generator[sqlite3.Connection, None, None]:
    """A store to be changed. Raises `UsageError` for what is none, and `_Refused` for what cannot be done to it."""
    opened = False
    try:
        with queue_file.open_to_change(store) as connection:
            opened = True
            yield connection
    except IllegalTransition as error:
        raise _Refused(error.facts) from error
    except StoreError as error:
        raise _Refused(error.facts) if opened else UsageError(error.facts) from error
