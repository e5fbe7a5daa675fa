"""Clients of the API: what a token allows, whether a client has disconnected, and a request once it has ended."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import msgspec

#: the route of requests that none matches
NO_ROUTE = "none"


class Scope(StrEnum):
    """The scopes of tokens. Each is separate: `operate` does not contain the others."""

    READ = "read"
    SEND = "send"
    OPERATE = "operate"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """The client that a token identifies."""

    name: str
    scopes: frozenset[Scope]


#: a client without a token, where none is needed
ANYBODY = Caller(name="", scopes=frozenset())


class Disconnect:
    """Whether the client of a connection has disconnected: its answers are no longer read."""

    __slots__ = ("_callbacks", "happened")

    def __init__(self) -> None:
        self.happened = False
        self._callbacks = set[Callable[[], None]]()

    @contextmanager
    def notifying(self, act: Callable[[], None]) -> Generator[None]:
        """Call `act` when the client disconnects; at once if that has happened."""
        if self.happened:
            act()
        self._callbacks.add(act)
        try:
            yield
        finally:
            self._callbacks.discard(act)

    def notify(self) -> None:
        """Call all callbacks: the client has disconnected."""
        self.happened = True
        for act in tuple(self._callbacks):
            act()


class RequestSeen(msgspec.Struct, frozen=True, kw_only=True):
    """A request that has ended. Its fields contain no untrusted text."""

    method: str
    #: path of the route, with its parameters in braces
    route: str
    #: 0 if nothing was answered
    status: int
    seconds: float
    request_id: str
    caller: str
    #: a stream of events, whose time says how long a client stayed
    stream: bool = False

    @classmethod
    def from_scope(cls, scope: Mapping[str, Any], status: int, seconds: float, *, stream: bool) -> RequestSeen:
        """The request of an ASGI scope."""
        state = scope["state"]
        route = getattr(scope.get("route"), "path", None) or NO_ROUTE
        return cls(
            method=scope["method"],
            route=route,
            status=status,
            seconds=seconds,
            request_id=state["request_id"],
            caller=state.get("caller", ""),
            stream=stream,
        )
