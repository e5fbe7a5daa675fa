"""What the commands on a store file share: options, opening the file, and the exit code for what is not possible."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, ParamSpec

from cyclopts import Group, Parameter

from trunkline.app.cli.io.output import print_error
from trunkline.app.cli.options import Flag
from trunkline.core.errors import IllegalTransition, StoreError, UsageError
from trunkline.core.store.sqlite.offline import queue_file

P = ParamSpec("P")
OUTPUT = Group("Output", sort_key=2)
#: ids may begin with a dash
Id = Annotated[str, Parameter(allow_leading_hyphen=True)]
Json = Annotated[Flag, Parameter(group=OUTPUT, help="Print JSON.")]
StoreFile = Annotated[Path, Parameter(help="The store file of a gateway.")]


class NotPossible(Exception):
    """The command is not possible, and changed nothing."""


def or_exit(command: Callable[P, int]) -> Callable[P, int]:
    """Report `NotPossible`, with exit code 1."""

    @wraps(command)
    def run(*args: P.args, **named: P.kwargs) -> int:
        try:
            return command(*args, **named)
        except NotPossible as error:
            print_error(f"trunkline: {error}; nothing was changed")
            return 1

    return run


@contextmanager
def open_to_read(store: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a store file to read. Raises `UsageError` for what is no store."""
    try:
        with queue_file.open_to_read(store) as connection:
            yield connection
    except StoreError as error:
        raise UsageError(error.facts) from error


@contextmanager
def open_to_change(store: Path) -> Generator[sqlite3.Connection, None, None]:
    """Open a store file for changes. Raises `UsageError` for what is no store, `NotPossible` for a refused change."""
    opened = False
    try:
        with queue_file.open_to_change(store) as connection:
            opened = True
            yield connection
    except IllegalTransition as error:
        raise NotPossible(error.facts) from error
    except StoreError as error:
        raise NotPossible(error.facts) if opened else UsageError(error.facts) from error
