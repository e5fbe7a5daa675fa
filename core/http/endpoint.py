"""Endpoints as values, of which the table of paths, the OpenAPI document and the commands of operators are made."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, Generic, Self, TypeVar

import msgspec
from msgspec import Meta

from trunkline.core.http.clients import Caller, Disconnect, Reach, Scope

if TYPE_CHECKING:
    from trunkline.core.http.served import OperatedGateway, Served

A = TypeVar("A")
JSON = "application/json"
# Types of parameters that several endpoints have.
Limit = Annotated[int, Meta(ge=1, le=500, description="How many rows the page has at most.")]
Cursor = Annotated[str, Meta(max_length=2000, description="The `next` of the page before; empty: the beginning.")]
#: a text that names something
Name = Annotated[str, Meta(min_length=1, max_length=2000)]
Seconds = Annotated[float, Meta(ge=0, le=1e10)]


class VerbCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a verb, with parameters, query and body decoded: over HTTP, or by a command on a store file."""

    operated: "OperatedGateway"
    caller: Caller
    #: parameters of the path, percent-decoded
    path: dict[str, str]
    #: an instance of `Endpoint.query`, or none; with `Endpoint.raw` names and values in their order
    query: Any = None
    #: an instance of `Endpoint.body`, or none; with `Endpoint.raw` bytes
    body: Any = None


class Call(VerbCall, frozen=True, kw_only=True):
    served: "Served"
    #: id of the request, in its log line and in the response
    request_id: str
    method: str = "GET"
    #: names in lower case
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    #: ends early what the client no longer waits for
    disconnect: Disconnect = msgspec.field(default_factory=Disconnect)


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with another status than the endpoint's own, or with headers. The status must be in `Endpoint.also`."""

    answer: Any
    status: int | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    #: instead of the endpoint's own
    media_type: str | None = None


async def _undeclared(_: object) -> Any:
    raise NotImplementedError


class Endpoint(msgspec.Struct, frozen=True):
    """An endpoint: a method of a path, declared above its handler:

    @Endpoint("GET", "/v1/notes/{note}", Scope.READ, answer=Note)
    async def show_note(call: Call) -> Note:

    From then on the name `show_note` is the endpoint. The first line of the docstring is its summary, the rest its
    description; without a rest the line is both. `query`, `body` and `answer` are types that msgspec decodes, encodes
    and describes.
    """

    method: str
    #: with parameters in braces, e.g. ``/v1/queue/{intent}``
    path: str
    #: none: open to everybody
    scope: Scope | None
    #: what a bound token gets
    reach: Reach = Reach.GATEWAY
    #: a line for the OpenAPI document
    summary: str = ""
    description: str = ""
    #: answers a value of `answer`, or a `Reply`; raises a `TrunklineError`, or `Problem` for what only HTTP knows
    run: Callable[[Call], Awaitable[Any]] = _undeclared
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
    #: heading in the OpenAPI document; by default the first segment of the path behind the version
    tag: str = ""

    @property
    def heading(self) -> str:
        return self.tag or self.path.split("/")[2].capitalize()

    def __call__(self, run: Callable[[Call], Awaitable[Any]]) -> Self:
        """The endpoint with its handler. A summary that is declared leaves the whole docstring to the description."""
        first, _, rest = (run.__doc__ or "").partition("\n\n")
        summary, description = (self.summary, run.__doc__ or "") if self.summary else (first, rest)
        return msgspec.structs.replace(self, run=run, summary=summary, description=description)


class Verb(Endpoint, Generic[A], frozen=True, kw_only=True):
    """An endpoint that is also a command: its handler answers for a running gateway and for a store file alike.

    The HTTP client of the commands encodes a call of it, and decodes its answer, by the same declaration.
    """

    run: Callable[[VerbCall], Coroutine[Any, Any, A]] = _undeclared
    answer: type[A]  # pyright: ignore[reportGeneralTypeIssues] -- a verb always has an answer

    def __call__(  # pyright: ignore[reportIncompatibleMethodOverride] -- a handler of a verb takes less
        self, run: Callable[[VerbCall], Coroutine[Any, Any, A]]
    ) -> Self:
        return super().__call__(run)
