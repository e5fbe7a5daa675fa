"""``trunkline serve`` that is held up in one phase of its start: ``python -m tests.support.serve.held PHASE ...``.

It is held for ten minutes, or for the seconds in the variable `HELD`, as in life by a thread that does not come back (a
disk), or by an answer that does not come (a network). What the program does then is its own code.
"""

import os
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import anyio

HELD = float(os.environ.get("HELD", "600"))


def _say(phase: str) -> None:
    sys.stderr.write(f"held: {phase}\n")
    sys.stderr.flush()


def _before_the_store() -> None:
    from trunkline.app.serve import server

    agents_of = server.agents_of

    def hold(*given: Any) -> Any:
        _say("before the store")
        # Python calls handlers of signals in here, but the loop does not turn.
        time.sleep(HELD)
        return agents_of(*given)

    server.agents_of = hold  # pyright: ignore[reportAttributeAccessIssue]


def _migrating() -> None:
    from trunkline.core.store.sqlite import store

    migrate = store._migrate_unless_held  # pyright: ignore[reportPrivateUsage]

    def hold(*given: Any) -> Any:
        _say("migrating")
        time.sleep(HELD)
        return migrate(*given)

    store._migrate_unless_held = hold  # pyright: ignore[reportPrivateUsage]


def _connecting() -> None:
    from trunkline.app.serve import server

    running, calls = server.running, count(1)

    @asynccontextmanager
    async def hold(parts: Any) -> AsyncGenerator[None]:
        async with running(parts):
            # The agents are first, then the accounts.
            if next(calls) == 2:
                _say("connecting accounts")
                await anyio.sleep_forever()
            yield

    server.running = hold


def _stopping() -> None:
    from trunkline.core.store.sqlite.store import SqliteStore

    async def hold(self: SqliteStore) -> None:
        del self
        _say("stopping")
        await anyio.sleep_forever()

    SqliteStore.close = hold


PHASES: dict[str, Callable[[], None]] = {
    "before the store": _before_the_store,
    "migrating": _migrating,
    "connecting accounts": _connecting,
    "stopping": _stopping,
}

if __name__ == "__main__":
    PHASES[sys.argv[1]]()
    from trunkline.app.cli import main

    sys.argv = ["trunkline", "serve", *sys.argv[2:]]
    raise SystemExit(main())
