"""Operators of delegations: inside the gateway's process, or from another one through the store."""

from __future__ import annotations

from collections.abc import Iterator

from trunkline.core.errors import AnswerRefused, IllegalTransition, StoreError, UnknownName
from trunkline.core.hands.delegation import DelegationRow
from trunkline.core.store.delegations import (
    DelegationFilter,
    HandPost,
    ListDelegations,
    ListedDelegations,
    PostToGateway,
    PostVerb,
)
from trunkline.sim.run.fault_board import text_matches
from trunkline.sim.scenario.model.steps import HandsStep
from trunkline.sim.store.outside import OutsideStore

#: who asks, in events
OPERATOR = "operator"
#: delegations per page
_PAGE = 500


def operate_outside(store: OutsideStore, step: HandsStep, now: float) -> None:
    """Leave a request for every delegation that is meant. Raises `UnknownName` if there is none, or it is refused."""
    rows = [row for row in _rows(store, step) if is_meant(row, step)]
    if not rows:
        raise UnknownName("no delegation matches")
    for row in rows:
        post = HandPost(delegation=row.id, verb=PostVerb(step.do), by=OPERATOR, at=now)
        try:
            store.write(PostToGateway(post=post))
        except (AnswerRefused, IllegalTransition, StoreError) as error:
            raise UnknownName(str(error)) from error


def _rows(store: OutsideStore, step: HandsStep) -> Iterator[DelegationRow]:
    which, before = DelegationFilter(hand=step.hand or ""), None
    while True:
        found: ListedDelegations = store.read(ListDelegations(which=which, before=before, limit=_PAGE))
        yield from found.rows
        if len(found.rows) + len(found.broken) < _PAGE:
            return
        before = found.rows[-1].id


def is_meant(row: DelegationRow, step: HandsStep) -> bool:
    """Whether a step of an operator is about this delegation."""
    if (step.hand is not None and step.hand != row.hand) or (step.label is not None and step.label != row.label):
        return False
    return step.task is None or text_matches(step.task, row.task)
