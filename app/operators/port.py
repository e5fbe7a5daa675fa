"""The port of operators' commands: verbs, answered from a store file or over HTTP, and long lists page by page."""

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from trunkline.core.errors import UsageError
from trunkline.core.http.endpoint import Verb

if TYPE_CHECKING:
    from trunkline.core.http.routes.hands import HandsQuery
    from trunkline.core.http.routes.queue import QueueQuery
    from trunkline.core.store.operators.hands import HandsOverview
    from trunkline.core.store.operators.queue import QueueOverview
    from trunkline.core.store.operators.sessions import SessionsPage, TranscriptPage

A = TypeVar("A")


class Unavailable(UsageError):
    """The gateway cannot be reached now, or is not ready; it may be there again soon."""


class NotPossible(Exception):
    """The command is not possible, and changed nothing."""


class Operator(Protocol):
    @property
    def option(self) -> str:
        """The option that names this gateway on the command line, as it can be typed again."""
        ...

    @property
    def acts_at_once(self) -> bool:
        """Whether a change is carried out when its verb returns. Else the gateway finds it in its store."""
        ...

    def ask(self, verb: Verb[A], given: msgspec.Struct | None = None, **path: str) -> A:
        """The answer to a verb. `given`: its query or body; `path`: the parameters of its path.

        Raises `UsageError` for what cannot be asked, such as a file that is no store; `UnknownName` for an id that is
        not there; and `NotPossible` for a change that is refused.
        """
        ...


# Lists of a gateway that are longer than one answer: they are asked for page by page.

#: rows of a page
_PAGE = 500


def intents(operator: Operator, query: "QueueQuery", *, limit: int) -> "QueueOverview":
    """The first `limit` matching intents in the order of their creation, and the totals."""
    from trunkline.core.http.routes import queue

    found = list(_pages(operator, queue.list_intents, query, "cursor", limit, lambda page: len(page.rows)))
    return replace(found[-1], rows=tuple(row for page in found for row in page.rows))


def delegations(operator: Operator, query: "HandsQuery", *, limit: int) -> "HandsOverview":
    """The newest `limit` matching delegations, and the totals."""
    from trunkline.core.http.routes import hands

    found = list(
        _pages(
            operator,
            hands.list_delegations,
            query,
            "before",
            limit,
            lambda page: len(page.page.rows) + len(page.page.broken),
        )
    )
    parts = [page.page for page in found]
    whole = replace(
        parts[-1],
        rows=tuple(row for part in parts for row in part.rows),
        broken=tuple(row for part in parts for row in part.broken),
    )
    return replace(found[-1], page=whole)


def session_pages(operator: Operator) -> Iterator["SessionsPage"]:
    """Every session, ordered by key and generation."""
    from trunkline.core.http.routes import sessions

    return _pages(operator, sessions.list_sessions, sessions.SessionsQuery(), "cursor", sys.maxsize, lambda _: 0)


def transcript_pages(operator: Operator, name: str) -> Iterator["TranscriptPage"]:
    """The transcript of a session, at least one page; lines that are added during the walk are left out."""
    from trunkline.core.http.routes import sessions

    query = sessions.TranscriptQuery(limit=_PAGE)
    while True:
        page = operator.ask(sessions.read_transcript, query, session=name)
        yield page
        if not page.more or page.newer is None:
            return
        # The session of this key may be another one by now.
        name, query = page.session.session_id, replace(query, cursor=page.newer)


def _pages(
    operator: Operator, verb: Verb[A], query: Any, behind: str, limit: int, rows: Callable[[A], int]
) -> Iterator[A]:
    """Pages until they have `limit` rows. `behind`: the field of the query that takes the `next` of a page."""
    while True:
        page: Any = operator.ask(verb, replace(query, limit=min(limit, _PAGE)))
        yield page
        limit -= rows(page)
        if page.next is None or limit <= 0:
            return
        query = replace(query, **{behind: page.next})
