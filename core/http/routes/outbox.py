"""The mailbox of an account over HTTP, for bridges: what the gateway says to people, by a cursor."""

from typing import Annotated

import anyio
import msgspec
from starlette.requests import ClientDisconnect

from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.http.auth import elsewhere
from trunkline.core.http.chat.bodies import Name, PlatformId, Seconds, mailbox_of
from trunkline.core.http.clients import Caller, Reach, Scope
from trunkline.core.http.endpoint import Call, Endpoint
from trunkline.core.http.problems import Problem
from trunkline.core.store.mailbox import MailboxMessage, MailboxPage
from trunkline.core.values import ChatKind

#: no number of a message is larger
_LARGEST = 2**53


class OutboxQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which messages of which account."""

    channel: Name
    account: Name = "default"
    #: of this conversation only
    conversation: PlatformId | None = None
    #: the cursor: `next` of the answer before; 0: from the oldest that is kept
    after: Annotated[int, msgspec.Meta(ge=0, le=_LARGEST)] = 0
    #: so many at most
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100
    #: seconds to wait for a message if there is none
    wait: Seconds = 0


class OutboxAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Messages in their order."""

    messages: tuple[MailboxMessage, ...]
    #: the cursor to ask with for what comes later
    next: int


@Endpoint(
    "GET", "/v1/chat/outbox", Scope.READ, Reach.PLACE, query=OutboxQuery, answer=OutboxAnswer, problems=(404, 410, 422)
)
async def read_outbox(call: Call) -> OutboxAnswer:
    """Read what the gateway says to the people of a mailbox account.

    The messages behind the cursor; with `wait`, as soon as there is one.
    """
    query: OutboxQuery = call.query
    mailbox = mailbox_of(call.served.gateway, query.channel, query.account)
    kind = _readable_kind(call.caller, query)
    page = await mailbox.read(after=query.after, conversation=query.conversation, kind=kind, limit=query.limit)
    _check_cursor(query.after, page)
    if not page.messages and query.wait:
        page = await _wait_for_messages(call, mailbox, query, kind) or page
    if len(page.messages) == query.limit:
        return OutboxAnswer(messages=page.messages, next=page.messages[-1].n)
    return OutboxAnswer(messages=page.messages, next=page.newest)


def _readable_kind(caller: Caller, query: OutboxQuery) -> ChatKind | None:
    """The kind of conversation that a caller may read; none: every kind. A room may have the id of a person.

    Raises `Problem` 403 for a conversation that its token is not bound to.
    """
    bound = caller.bound
    if bound is None or (query.channel, query.account) in bound.accounts:
        return None
    for kind in ChatKind:
        if (query.channel, kind, query.conversation) in bound.conversations:
            return kind
    raise elsewhere(caller)


async def _wait_for_messages(
    call: Call, mailbox: MailboxAdapter, query: OutboxQuery, kind: ChatKind | None
) -> MailboxPage | None:
    """The next messages; none: the time has passed, or the server stops. Raises `ClientDisconnect`."""
    found: MailboxPage | None = None
    with anyio.move_on_after(query.wait):
        async with anyio.create_task_group() as group:

            async def stop() -> None:
                await call.served.stopping.wait()
                group.cancel_scope.cancel()

            group.start_soon(stop)
            with call.disconnect.notifying(group.cancel_scope.cancel):
                found = await mailbox.next(
                    after=query.after, conversation=query.conversation, kind=kind, limit=query.limit
                )
            group.cancel_scope.cancel()
    if call.disconnect.happened:
        raise ClientDisconnect
    return found


def _check_cursor(after: int, page: MailboxPage) -> None:
    """Raise `Problem` 410 for a cursor behind which messages may be missing, or that was never given out."""
    if after and after < page.pruned:
        detail = (
            f"Messages behind {after} are no longer kept: those up to {page.pruned} have been removed. Some may be"
            " missing. Go on with `after=0`, which begins with the oldest that is kept."
        )
        raise Problem(410, "expired-cursor", detail, field="$.after")
    if after > page.newest:
        detail = f"No message has the number {after} yet; the newest is {page.newest}. Go on with `after=0`."
        raise Problem(410, "expired-cursor", detail, field="$.after")
