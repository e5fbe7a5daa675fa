"""What a platform is asked beside sends: threads, their states, webhooks. Such calls take time, need a token, and fail.

A call that left a process arrives even when the process has died or stopped waiting, as sends do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

from trunkline.core.errors import PlatformError, Refused
from trunkline.core.values import Address
from trunkline.sim.platforms.rooms import WorldPort, resolve
from trunkline.sim.platforms.tokens import AccountTokens

_TOKEN = "token-"
#: what the thread is for that is being opened; platforms are not told
_KEY: ContextVar[str | None] = ContextVar("key", default=None)


@contextmanager
def opening(key: str) -> Generator[None]:
    """While it lasts, a thread that is opened is called by this key, so that scenario files can name it."""
    _KEY.set(key)
    try:
        yield
    finally:
        # Not by its token: what a process that was killed left behind may be closed in another context.
        _KEY.set(None)


def asked_key(otherwise: str) -> str:
    """What people call a thread that is opened now."""
    return _KEY.get() or otherwise


def token_text(number: int) -> str:
    """A token as code holds it."""
    return f"{_TOKEN}{number}"


def number_of(token: str) -> int:
    """The number of a token; 0 for what is none."""
    tail = token.removeprefix(_TOKEN)
    return int(tail) if tail.isdecimal() else 0


class CallHost(Protocol):
    """What calls need of the platform that they go to."""

    tokens: AccountTokens

    def latency(self, *what: str) -> float: ...


class Calls:
    """Takes calls for one platform."""

    def __init__(self, platform: CallHost, world: WorldPort) -> None:
        self._platform = platform
        self._world = world

    def call(
        self,
        what: tuple[str, ...],
        place: Address,
        token: int,
        do: Callable[[], Any],
        answer: asyncio.Future[Any],
        *,
        opens: bool = False,
        there_and_back: bool = True,
    ) -> None:
        """A call leaves a process; `what` names it, for its latency. Faults of `thread` strike what `opens` one.

        Without `there_and_back` its answer takes no time of its own.
        """
        kind, extra = (self._world.thread_fault(place) if opens else None) or ("", 0.0)
        if kind == "drop":
            return
        back = self._platform.latency("answer", *what) if there_and_back else 0.0
        when = self._world.now() + self._platform.latency(*what) + (extra if kind == "slow" else 0.0)
        self._world.at(when, self._arrive, place.account, token, kind, do, answer, back)

    def _arrive(
        self, account: str, token: int, kind: str, do: Callable[[], Any], answer: asyncio.Future[Any], back: float
    ) -> None:
        found: Any
        try:
            if kind == "refuse":
                raise Refused("the platform refused it")
            if kind == "error":
                raise PlatformError("the platform had an internal error")
            self._platform.tokens.check(account, token)
            found = do()
        except PlatformError as error:
            found = error
        if kind == "lose-response":
            return
        if back:
            self._world.at(self._world.now() + back, resolve, answer, found)
        else:
            resolve(answer, found)
