"""Clients of the API: what a token allows, whether a client has disconnected, and a request once it has ended."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

import msgspec

from trunkline.core.values import Address, ChatKind

#: the route of requests that none matches
NO_ROUTE = "none"


class Scope(StrEnum):
    """The scopes of tokens. Each is separate: `operate` does not contain the others."""

    READ = "read"
    SEND = "send"
    OPERATE = "operate"


class Reach(StrEnum):
    """The reach of an endpoint: whether a bound token gets anything there."""

    #: the whole gateway: a bound token is refused. Also what nobody has thought about
    GATEWAY = "gateway"
    #: what is said in one place: the handler asks `check_place`
    PLACE = "place"


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """The places that a token is bound to. Compared byte for byte: what another spelling means is never guessed."""

    #: as channel, kind and id; that of a person is direct
    conversations: frozenset[tuple[str, ChatKind, str]] = frozenset()
    #: as channel and id; with everything that is said there
    accounts: frozenset[tuple[str, str]] = frozenset()

    def holds(self, place: Address) -> bool:
        """Whether a place is one of them, or in one of them."""
        conversation = (place.channel, place.kind, place.conversation)
        return (place.channel, place.account) in self.accounts or conversation in self.conversations

    def __str__(self) -> str:
        """The places as the configuration names them."""
        named = (
            f"{channel}:{id_}" if kind is ChatKind.DIRECT else f"{channel}:{kind.value}:{id_}"
            for channel, kind, id_ in self.conversations
        )
        return ", ".join([*sorted(named), *sorted(f"the account {':'.join(account)}" for account in self.accounts)])


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    scopes: frozenset[Scope]
    #: the only places in which it speaks and reads; none: it is not bound
    bound: Bound | None = None

    def proves(self, channel: str, person: str) -> bool:
        """Whether the token is bound to a person, or may operate: a message with it is certainly theirs."""
        if self.bound is None:
            return Scope.OPERATE in self.scopes
        return (channel, ChatKind.DIRECT, person) in self.bound.conversations


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
    def from_scope(cls, scope: Mapping[str, Any], status: int, seconds: float, *, stream: bool) -> "RequestSeen":
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
