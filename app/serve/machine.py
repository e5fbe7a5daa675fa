"""Limits of the machine for the process: files that it may write, and descriptors, from which connections follow."""

import asyncio
import errno
import os
import sys
import time
from pathlib import Path
from typing import Any

from trunkline.app.serve.logs import LOGGER
from trunkline.core.agents.log import Ration
from trunkline.core.errors import ConfigError

#: connections at most where nothing is configured, and descriptors that are wanted for them
_MOST, _WANTED = 10_000, 16_384
#: descriptors that connections leave to the rest (store, agents, accounts): a quarter, and at least so many
_REST = 64
#: files that SQLite and the lease keep beside a store
_BESIDE = ("", "-wal", "-shm", ".lock")
#: seconds between two lines about descriptors
_PAUSE = 10.0
#: the remedy for too few descriptors
MORE_FILES = "raise it, by LimitNOFILE= in the unit or by `ulimit -n`"


def check_writable(store: Path) -> None:
    """Raise `ConfigError` if the store cannot be written.

    SQLite would open it for reading, and never again: it would refuse every write for as long as the process lives.
    Nothing is opened, as closing a second descriptor of the store would drop SQLite's locks.
    """
    real = store.resolve()
    files = [real.with_name(real.name + suffix) for suffix in _BESIDE]
    # Of a folder that is named instead of a file the store itself says what is wrong.
    refused = [file for file in files if file.is_file() and not os.access(file, os.R_OK | os.W_OK)]
    if not os.access(real.parent, os.W_OK | os.X_OK):
        refused.append(real.parent)
    if refused:
        raise ConfigError(
            f"the store {store} cannot be written: {refused[0]} is read-only for this user, or its file system is;"
            " make it writable, and start again"
        )


def raise_descriptor_limit() -> int:
    """Raise the soft limit of open files as far as allowed, and return it: shells and systemd begin with 1,024."""
    if sys.platform == "win32":
        return _WANTED
    import resource

    soft, hard = (_WANTED if n == resource.RLIM_INFINITY else n for n in resource.getrlimit(resource.RLIMIT_NOFILE))
    wanted = min(hard, _WANTED)
    if soft >= wanted:
        return soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    except (OSError, ValueError) as error:
        LOGGER.warning("the limit of open files stays at %d, it cannot be raised to %d: %s", soft, wanted, error)
        return soft
    return wanted


def connection_limit(configured: int | None, descriptors: int) -> int:
    """How many connections may be open at once: what is configured, as far as the descriptors allow it."""
    allowed = max(16, descriptors - max(_REST, descriptors // 4))
    found = min(allowed, configured or _MOST)
    if configured is not None and found < configured:
        said = "http.max_connections is %d, but with %d open files only %d connections are possible: %s"
        LOGGER.warning(said, configured, descriptors, found, MORE_FILES)
    elif configured is None and found < _MOST:
        LOGGER.info("at most %d connections, with %d open files", found, descriptors)
    return found


class LoopErrors:
    """The exception handler of the loop. Says once in a while that descriptors are used up; the rest is passed on.

    The loop reports each connection that it cannot accept, thousands in a second, and a traceback needs a descriptor.
    """

    def __init__(self) -> None:
        self._ration = Ration(1 / _PAUSE, 1, time.monotonic())

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error that nobody awaits."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
        elif self._ration.spend(1, time.monotonic()):
            LOGGER.error(
                "out of file descriptors: connections wait to be accepted. The limit is too low: %s", MORE_FILES
            )
