"""An endpoint as a value: what the router, the OpenAPI document and the authorisation matrix are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from trunkline.core.http.served import Served

JSON = "application/json"


class Scope(StrEnum):
    """What a token allows. Each is separate: `operate` does not contain the others."""

    READ = "read"
    SEND = "send"
    OPERATE = "operate"


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, according to the token."""

    name: str
    scopes: frozenset[Scope]


#: who asks without a token, where none is needed
ANYBODY = Caller(name="", scopes=frozenset())


class Departure:
    """Whether the client of a connection has gone, so that nobody reads what is answered."""

    __slots__ = ("_told", "gone")

    def __init__(self) -> None:
        self.gone = False
        self._told = set[Callable[[], None]]()

    @contextmanager
    def notifying(self, act: Callable[[], None]) -> Generator[None]:
        """Call `act` when the client goes; at once if it has gone."""
        if self.gone:
            act()
        self._told.add(act)
        try:
            yield
        finally:
            self._told.discard(act)

    def tell(self) -> None:
        """The client has gone."""
        self.gone = True
        for act in tuple(self._told):
            act()


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, with its parameters, query and body decoded and checked."""

    served: Served
    caller: Caller
    #: id of the request, in its log line and in the response
    request_id: str
    method: str = "GET"
    #: parameters of the path, percent-decoded
    path: dict[str, str]
    #: an instance of `Endpoint.query`, or none; with `Endpoint.raw` names and values in their order
    query: Any = None
    #: an instance of `Endpoint.body`, or none; with `Endpoint.raw` bytes
    body: Any = None
    #: names in lower case
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    #: what ends early when nobody waits for it any more
    departure: Departure = msgspec.field(default_factory=Departure)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with another status than the endpoint's own, or with headers. The status must be in `Endpoint.also`."""

    answer: Any
    status: int | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    #: instead of the endpoint's own
    media_type: str | None = None


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path. `query`, `body` and `answer` are types that msgspec decodes, encodes and describes."""

    method: str
    #: with parameters in braces, e.g. ``/v1/queue/{intent}``
    path: str
    #: none: open to everybody
    scope: Scope | None
    #: a line for the OpenAPI document
    summary: str
    #: answers a value of `answer`, or a `Reply`; raises a `TrunklineError`, or `Problem` for what only HTTP knows
    run: Callable[[Call], Awaitable[Any]]
    #: a struct that forbids unknown fields
    query: Any = None
    #: a struct that forbids unknown fields
    body: Any = None
    answer: Any = None
    status: int = 200
    #: further statuses with the same answer
    also: tuple[int, ...] = ()
    #: statuses of the problems that are the endpoint's own, for the OpenAPI document
    problems: tuple[int, ...] = ()
    #: of the answer; one that is not JSON is text
    media_type: str = JSON
    #: query and body are anything, and go to the handler as they came; an answer is bytes
    raw: bool = False
    #: answered also while the gateway waits for its store, or stops
    always: bool = False
    #: heading in the OpenAPI document
    tag: str = ""
