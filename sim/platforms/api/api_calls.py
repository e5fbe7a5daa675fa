"""A fake platform as the requests to it use it."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol

from trunkline.core.errors import PlatformError, Refused
from trunkline.core.values import Address, SendRequest
from trunkline.sim.events.world import ThreadRequestAbandoned
from trunkline.sim.platforms.actions.server import ActionHost
from trunkline.sim.platforms.api.request_checks import PartLimits
from trunkline.sim.platforms.rooms import MessageNames, Room, WorldPort, resolve
from trunkline.sim.platforms.tokens import AccountTokens
from trunkline.sim.platforms.webhooks import Webhooks


class EchoedMessages(MessageNames, Protocol):
    """The messages of the gateway's webhooks, which come back to it."""

    def echo(self, request: SendRequest, room: Room, message_id: str, cause: int) -> None: ...


class ApiHost(ActionHost, Protocol):
    """A platform as sends, changes, questions, API calls and pushes use it."""

    tokens: AccountTokens
    webhooks: Webhooks
    part_limits: PartLimits
    misplaces: bool
    shows_names: bool

    @property
    def people(self) -> EchoedMessages: ...
    @property
    def calls(self) -> "Calls": ...
    def latency(self, *what: str) -> float: ...
    def open_room(self, address: Address) -> Room: ...
    def rooms_under(self, room: Room) -> list[Room]: ...
    def posted_id(self, room: Room, *what: str) -> str: ...
    def poll_id(self, message_id: str, room: Room) -> str: ...


# API calls other than sends: threads, their states, webhooks. They take time, need a token, and can fail.

_TOKEN = "token-"
#: the call that opens a thread of its own
_CHILD = "child"
#: key of the thread being opened; passed here because it is not part of the platform's API
_KEY: ContextVar[str | None] = ContextVar("key", default=None)


@contextmanager
def opening(key: str) -> Generator[None]:
    """Name threads opened inside the block after a key, so that scenario files can name them."""
    _KEY.set(key)
    try:
        yield
    finally:
        # Not reset by token: the generator of a killed process may be closed in another context.
        _KEY.set(None)


def asked_key(otherwise: str) -> str:
    """The name of a thread being opened."""
    return _KEY.get() or otherwise


def token_text(number: int) -> str:
    return f"{_TOKEN}{number}"


def number_of(token: str) -> int:
    """The number of a token; 0 for an invalid token."""
    tail = token.removeprefix(_TOKEN)
    return int(tail) if tail.isdecimal() else 0


class Calls:
    def __init__(self, platform: ApiHost, world: WorldPort) -> None:
        self._platform = platform
        self._world = world

    def call(
        self,
        what: tuple[str, ...],
        place: Address,
        token: int,
        do: Callable[[], Any],
        *,
        opens: bool = False,
        there_and_back: bool = True,
    ) -> asyncio.Future[Any]:
        """Make a call and return its future answer. `what` is the key of its latency.

        Faults on `thread` strike calls that open one (`opens`). Without `there_and_back`
        the response has no latency.
        """
        kind, extra = (self._world.thread_fault(place) if opens else None) or ("", 0.0)
        answer = self._world.future()
        if kind == "drop":
            return answer
        if what[0] == _CHILD and kind != "lose-response":
            answer.add_done_callback(partial(self._given_up, place, what[-1]))
        back = self._platform.latency("answer", *what) if there_and_back else 0.0
        when = self._world.now() + self._platform.latency(*what) + (extra if kind == "slow" else 0.0)
        self._world.call_at(when, self._arrive, place.account, token, kind, do, answer, back)
        return answer

    def _given_up(self, place: Address, key: str, answer: asyncio.Future[Any]) -> None:
        """Record that nobody waits for a thread any more; it is opened anyway when the request arrives."""
        if answer.cancelled():
            self._platform.events.record(ThreadRequestAbandoned(address=place, key=key))

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
            self._world.call_at(self._world.now() + back, resolve, answer, found)
        else:
            resolve(answer, found)
