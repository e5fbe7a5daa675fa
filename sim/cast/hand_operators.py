"""Operators and programs that act on delegations: in the gateway's process, or from another one through the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress

from trunkline.core.errors import AnswerRefused, IllegalTransition, StoreError, UnknownName
from trunkline.core.gateway import Gateway
from trunkline.core.records.delegations import DelegationRow, HandResult
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store.delegations import (
    DelegationFilter,
    HandPost,
    ListDelegations,
    ListedDelegations,
    PostToGateway,
    PostVerb,
)
from trunkline.core.values import DelegationId
from trunkline.sim.scenario.model.steps import HandsStep
from trunkline.sim.scenario.text_pattern import text_matches
from trunkline.sim.store.outside import OutsideStore

#: who asks, in events
OPERATOR = "operator"
#: delegations per page
_PAGE = 500


async def operate_inside(
    gateway: Gateway, step: HandsStep, answering: Callable[[DelegationRow, HandResult], object]
) -> None:
    """Act on every delegation that is meant. Raises `UnknownName` if there is none. `answering`: records an answer.

    The gateway records what it refuses, so that is no failure of the step.
    """
    rows = [row async for row in _rows_of(gateway, step) if is_meant(row, step)]
    if not rows:
        raise UnknownName("no delegation matches")
    for row in rows:
        with suppress(AnswerRefused, IllegalTransition):
            if step.do == "answer":
                answering(row, _result(step))
            await _act(gateway, step, row.id)


async def _act(gateway: Gateway, step: HandsStep, delegation: DelegationId) -> None:
    if step.do == "cancel":
        await gateway.hands.cancel(delegation, by=OPERATOR)
    elif step.do == "retry-callback":
        await gateway.hands.retry_callback(delegation, by=OPERATOR)
    elif step.do == "discard":
        await gateway.hands.discard(delegation, by=OPERATOR)
    else:
        await gateway.inject_callback(delegation, _result(step), by=OPERATOR)


def _result(step: HandsStep) -> HandResult:
    """The result that a step of `answer` gives."""
    if step.fails is not None:
        return HandResult(outcome=HandOutcome.ERROR, text=step.fails)
    return HandResult(outcome=HandOutcome.OK, text=step.result or "done")


def operate_outside(store: OutsideStore, step: HandsStep, now: float) -> None:
    """Leave a request for every delegation that is meant. Raises `UnknownName` if there is none, or it is refused."""
    rows = [row for row in _rows(store, step) if is_meant(row, step)]
    if not rows:
        raise UnknownName("no delegation matches")
    result = _result(step) if step.do == "answer" else None
    for row in rows:
        post = HandPost(
            delegation=row.id,
            verb=PostVerb(step.do),
            outcome=None if result is None else result.outcome,
            text="" if result is None else result.text,
            by=OPERATOR,
            at=now,
        )
        try:
            store.write(PostToGateway(post=post))
        except (AnswerRefused, IllegalTransition, StoreError) as error:
            raise UnknownName(str(error)) from error


async def _rows_of(gateway: Gateway, step: HandsStep) -> AsyncIterator[DelegationRow]:
    which, before = DelegationFilter(hand=step.hand or ""), None
    while True:
        found = await gateway.hands.list(which, before=before, limit=_PAGE)
        for row in found.rows:
            yield row
        if not found.rows:
            return
        before = found.rows[-1].id


def _rows(store: OutsideStore, step: HandsStep) -> Iterator[DelegationRow]:
    which, before = DelegationFilter(hand=step.hand or ""), None
    while True:
        found: ListedDelegations = store.read(ListDelegations(which=which, before=before, limit=_PAGE))
        yield from found.rows
        if not found.rows:
            return
        before = found.rows[-1].id


def is_meant(row: DelegationRow, step: HandsStep) -> bool:
    """Whether a step of an operator is about this delegation."""
    if (step.hand is not None and step.hand != row.hand) or (step.label is not None and step.label != row.label):
        return False
    return step.task is None or text_matches(step.task, row.task)
