"""Delegations: list, show, cancel and the like for operators; take, progress and answer for workers."""

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.declared import filled
from trunkline.core.hands.port import ClientTask, Delegated
from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint, Limit, Name, Verb, VerbCall
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.store.delegations import DelegationFilter, HandPost, PostVerb
from trunkline.core.store.operators.hands import (
    HandInspection,
    HandPosted,
    HandsOverview,
    InspectDelegation,
    ReadHandsOverview,
    TakenTask,
)
from trunkline.core.values import Address, DelegationId, Peer

#: longer texts are refused by the gateway, with their reason
Text = Annotated[str, Meta(max_length=20_000_000)]


class HandsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which delegations, and which page of them: those older than `before`."""

    state: tuple[WorkState, ...] = ()
    callback: tuple[CallbackState, ...] = ()
    hand: str = ""
    agent: str = ""
    before: Annotated[str, Meta(max_length=2000)] = ""
    limit: Limit = 100


class TakeBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whose task is taken, and by whom."""

    hand: Name
    #: as operators see it; none: the name of the token
    worker: Name | None = None


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """The task that was taken; none: there is no task."""

    task: TakenTask | None


class AnswerBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a worker's task, or with the outcome ``error`` why there is none."""

    text: Text = ""
    outcome: HandOutcome = HandOutcome.OK
    #: that of the task; none: an operator answers
    ticket: Name | None = None
    worker: Name | None = None


class ProgressBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a task has come."""

    text: Text
    ticket: Name | None = None
    worker: Name | None = None


class DelegateBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task for a hand. The agent answers its result at `to`, in the session of that conversation."""

    #: idempotency key: the same task under the same key is one delegation
    key: Annotated[str, Meta(min_length=1, max_length=500)]
    hand: Name
    task: Text
    #: a target as text, e.g. ``user:U1``, or an exact place
    to: str | Address
    #: of a target; none: the only one that is served
    channel: str | None = None
    #: none: the default agent
    agent: str | None = None
    label: str = ""
    #: seconds that the run may take; none: as the hand is configured
    timeout: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    #: for whom it is done
    asked_by: Peer | None = None


@Endpoint("POST", "/v1/hands", Scope.OPERATE, body=DelegateBody, answer=Delegated, status=202, problems=(404, 409))
async def delegate(call: Call) -> Delegated:
    """Give a task to a hand, once per key.

    Give a task to a hand, once per key. It is durable when this answers; its result comes later.
    """
    body: DelegateBody = call.body
    asked = ClientTask(**msgspec.structs.asdict(body))
    return await call.served.gateway.delegate(asked, by=call.caller.name)


@Verb("GET", "/v1/hands", Scope.READ, query=HandsQuery, answer=HandsOverview, problems=(410,))
async def list_delegations(call: VerbCall) -> HandsOverview:
    """List delegations, newest first, with the totals by the state of the work and of the report."""
    asked: HandsQuery = call.query
    which = DelegationFilter(states=asked.state, callbacks=asked.callback, hand=asked.hand, agent=asked.agent)
    before = DelegationId(asked.before) if asked.before else None
    query = ReadHandsOverview(which=which, before=before, limit=asked.limit, now=call.operated.now())
    return await call.operated.read(query)


@Verb("GET", "/v1/hands/{delegation}", Scope.READ, answer=HandInspection, problems=(404,))
async def show_delegation(call: VerbCall) -> HandInspection:
    """Show one delegation: its work, its report, its results and messages, and what can be done to it."""
    return await call.operated.read(InspectDelegation(delegation=call.path["delegation"], now=call.operated.now()))


@Verb("POST", "/v1/hands/take", Scope.OPERATE, body=TakeBody, answer=Taken, problems=(409,))
async def take(call: VerbCall) -> Taken:
    """Take the next task of a hand that is a worker. Its answer needs the ticket."""
    body: TakeBody = call.body
    task = await call.operated.take(body.hand, body.worker or call.caller.name)
    if task is None or task.ticket is None:
        return Taken(task=None)
    return Taken(task=filled(TakenTask, task))


@Verb("POST", "/v1/hands/{delegation}/answer", Scope.OPERATE, body=AnswerBody, answer=HandPosted, problems=(404, 409))
async def answer(call: VerbCall) -> HandPosted:
    """Answer a worker's task. A second answer is kept, and not reported.

    End a task of a worker with its result, which is then reported.
    """
    body: AnswerBody = call.body
    return await _post(call, PostVerb.ANSWER, body, outcome=body.outcome)


@Verb(
    "POST", "/v1/hands/{delegation}/progress", Scope.OPERATE, body=ProgressBody, answer=HandPosted, problems=(404, 409)
)
async def progress(call: VerbCall) -> HandPosted:
    """Say how far a worker's task has come."""
    return await _post(call, PostVerb.PROGRESS, call.body)


@Verb("POST", "/v1/hands/{delegation}/cancel", Scope.OPERATE, answer=HandPosted, problems=(404, 409))
async def cancel(call: VerbCall) -> HandPosted:
    """End the work of a delegation; what its hand returns later is not reported."""
    return await _post(call, PostVerb.CANCEL)


@Verb("POST", "/v1/hands/{delegation}/retry-callback", Scope.OPERATE, answer=HandPosted, problems=(404, 409))
async def retry_callback(call: VerbCall) -> HandPosted:
    """Report a result again that could not be delivered."""
    return await _post(call, PostVerb.RETRY_CALLBACK)


@Verb("POST", "/v1/hands/{delegation}/discard", Scope.OPERATE, answer=HandPosted, problems=(404, 409))
async def discard(call: VerbCall) -> HandPosted:
    """Give the report of a delegation up."""
    return await _post(call, PostVerb.DISCARD)


async def _post(
    call: VerbCall, verb: PostVerb, body: AnswerBody | ProgressBody | None = None, *, outcome: HandOutcome | None = None
) -> HandPosted:
    post = HandPost(
        delegation=DelegationId(call.path["delegation"]),
        verb=verb,
        outcome=outcome,
        text="" if body is None else body.text,
        ticket=None if body is None else body.ticket,
        by=(body and body.worker) or call.caller.name,
        at=call.operated.now(),
    )
    return await call.operated.post(post)
