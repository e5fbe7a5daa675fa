"""Delegations: list, show, cancel and the like for operators; take, progress and answer for workers."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from trunkline.core.errors import AnswerRefused, IllegalTransition
from trunkline.core.hands.port import ClientTask, Delegated
from trunkline.core.http.endpoint import Call, Endpoint, Scope
from trunkline.core.http.routes.pages import Limit, Name
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandResult
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
from trunkline.core.store.operators.holder import FindHolder
from trunkline.core.values import Address, DelegationId, Peer

TAG = "Hands"
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


async def delegate(call: Call) -> Delegated:
    """Give a task to a hand, once per key. It is durable when this answers; its result comes later."""
    body: DelegateBody = call.body
    asked = ClientTask(**{name: getattr(body, name) for name in body.__struct_fields__})
    return await call.served.gateway.delegate(asked, by=call.caller.name)


async def list_delegations(call: Call) -> HandsOverview:
    """A page of the delegations, newest first, and the totals."""
    asked: HandsQuery = call.query
    which = DelegationFilter(states=asked.state, callbacks=asked.callback, hand=asked.hand, agent=asked.agent)
    before = DelegationId(asked.before) if asked.before else None
    query = ReadHandsOverview(which=which, before=before, limit=asked.limit, now=call.served.env.now())
    return await call.served.store.read(query)


async def show_delegation(call: Call) -> HandInspection:
    """One delegation with everything stored about it, and what can be done to it."""
    query = InspectDelegation(delegation=call.path["delegation"], now=call.served.env.now())
    return await call.served.store.read(query)


async def take(call: Call) -> Taken:
    """Take the next task of a hand that is a worker."""
    body: TakeBody = call.body
    task = await call.served.gateway.hands.take(body.hand, body.worker or call.caller.name)
    if task is None or task.ticket is None:
        return Taken(task=None)
    return Taken(
        task=TakenTask(
            delegation=task.delegation,
            ticket=task.ticket,
            hand=task.hand,
            task=task.task,
            label=task.label,
            asked_by=task.asked_by,
            timeout=task.timeout,
        )
    )


async def answer(call: Call) -> HandPosted:
    """End a task of a worker with its result, which is then reported."""
    found, body = await show_delegation(call), call.body
    if body.outcome not in (HandOutcome.OK, HandOutcome.ERROR):
        raise AnswerRefused(f"{found.id}: the outcome of an answer is ok or error", Reason.BAD_RESULT)
    result, by = HandResult(outcome=body.outcome, text=body.text), body.worker or call.caller.name
    first = await call.served.gateway.inject_callback(found.id, result, ticket=body.ticket, by=by)
    return await _posted(call, found, PostVerb.ANSWER, by, first=first, outcome=body.outcome, text=body.text)


async def progress(call: Call) -> HandPosted:
    """Say how far a task has come."""
    found, body = await show_delegation(call), call.body
    by = body.worker or call.caller.name
    open_still = await call.served.gateway.hands.progress(found.id, body.text, ticket=body.ticket, by=by)
    if not open_still:
        raise _ended(found)
    return await _posted(call, found, PostVerb.PROGRESS, by, first=True, text=body.text)


async def cancel(call: Call) -> HandPosted:
    """End the work of a delegation."""
    found, by = await show_delegation(call), call.caller.name
    if not await call.served.gateway.hands.cancel(found.id, by=by):
        raise _ended(await show_delegation(call))
    return await _posted(call, found, PostVerb.CANCEL, by)


async def retry_callback(call: Call) -> HandPosted:
    """Report a result again that could not be delivered."""
    found, by = await show_delegation(call), call.caller.name
    _check_report(found, PostVerb.RETRY_CALLBACK)
    await call.served.gateway.hands.retry_callback(found.id, by=by)
    return await _posted(call, found, PostVerb.RETRY_CALLBACK, by)


async def discard(call: Call) -> HandPosted:
    """Give the report of a delegation up."""
    found, by = await show_delegation(call), call.caller.name
    _check_report(found, PostVerb.DISCARD)
    await call.served.gateway.hands.discard(found.id, by=by)
    return await _posted(call, found, PostVerb.DISCARD, by)


def _ended(found: HandInspection) -> AnswerRefused:
    state = "" if found.details is None else f": it is {found.details.row.state.value}"
    return AnswerRefused(f"{found.id} has ended{state}", Reason.ALREADY_FINISHED)


def _check_report(found: HandInspection, verb: PostVerb) -> None:
    if found.details is not None and verb not in found.can:
        state = found.details.row.callback.value
        raise IllegalTransition(f"{found.id}: {verb.value} is not possible, its report is {state}")


async def _posted(
    call: Call,
    found: HandInspection,
    verb: PostVerb,
    by: str,
    *,
    first: bool = True,
    outcome: HandOutcome | None = None,
    text: str = "",
) -> HandPosted:
    now = call.served.env.now()
    post = HandPost(delegation=DelegationId(found.id), verb=verb, outcome=outcome, text=text, by=by, at=now)
    return HandPosted(post=post, first=first, holder=await call.served.store.read(FindHolder(now=now)))


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/v1/hands",
        scope=Scope.READ,
        summary="List delegations, newest first, with the totals by the state of the work and of the report.",
        run=list_delegations,
        query=HandsQuery,
        answer=HandsOverview,
        problems=(410,),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/hands",
        scope=Scope.OPERATE,
        summary="Give a task to a hand, once per key.",
        run=delegate,
        body=DelegateBody,
        answer=Delegated,
        status=202,
        problems=(404, 409),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/hands/take",
        scope=Scope.OPERATE,
        summary="Take the next task of a hand that is a worker. Its answer needs the ticket.",
        run=take,
        body=TakeBody,
        answer=Taken,
        problems=(409,),
        tag=TAG,
    ),
    Endpoint(
        method="GET",
        path="/v1/hands/{delegation}",
        scope=Scope.READ,
        summary="Show one delegation: its work, its report, its results and messages, and what can be done to it.",
        run=show_delegation,
        answer=HandInspection,
        problems=(404,),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/hands/{delegation}/answer",
        scope=Scope.OPERATE,
        summary="Answer a worker's task. A second answer is kept, and not reported.",
        run=answer,
        body=AnswerBody,
        answer=HandPosted,
        problems=(404, 409),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/hands/{delegation}/progress",
        scope=Scope.OPERATE,
        summary="Say how far a worker's task has come.",
        run=progress,
        body=ProgressBody,
        answer=HandPosted,
        problems=(404, 409),
        tag=TAG,
    ),
    *(
        Endpoint(
            method="POST",
            path=f"/v1/hands/{{delegation}}/{verb.value}",
            scope=Scope.OPERATE,
            summary=summary,
            run=run,
            answer=HandPosted,
            problems=(404, 409),
            tag=TAG,
        )
        for verb, run, summary in (
            (PostVerb.CANCEL, cancel, "End the work of a delegation; what its hand returns later is not reported."),
            (PostVerb.RETRY_CALLBACK, retry_callback, "Report a result again that could not be delivered."),
            (PostVerb.DISCARD, discard, "Give the report of a delegation up."),
        )
    ),
)
