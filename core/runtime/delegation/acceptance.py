"""Accepts a delegation: it is stored, and then its hand begins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.delegation.completions import ids_of_delegation
from trunkline.core.runtime.delegation.delegations import DelegationRunner
from trunkline.core.runtime.delegation.open_delegations import OpenDelegation
from trunkline.core.store.delegations import AcceptDelegation


async def accept_delegation(
    ctx: Context,
    runner: DelegationRunner,
    row: DelegationRow,
    cause: int,
    complete: Callable[[DelegationRow], Awaitable[DelegationRow]],
) -> None:
    """Store a task and have its hand begin. It counts from now on, so that no other call takes its place.

    `complete`: what is done between the two, and the row after it.
    """
    one = OpenDelegation(row=row, cause=cause)
    runner.open.add(one)
    try:
        one.row = await complete(row)
        command = AcceptDelegation(row=one.row)
    except BaseException:
        runner.open.remove(one)
        raise

    def then(accepted: int | None) -> None:
        # Also for a caller that was cancelled meanwhile: the task is stored.
        if accepted is None:
            runner.open.remove(one)
            return
        one.stored, one.cause = True, accepted
        runner.begin(one)

    try:
        await ctx.store.write(command, _story(ctx, runner, one, cause), then=then)
    except Exception:
        runner.open.remove(one)
        raise


def _story(ctx: Context, runner: DelegationRunner, one: OpenDelegation, cause: int) -> Callable[[bool], int | None]:
    """Records that a task is durable."""
    row = one.row
    origin = row.origin
    body = DelegationAccepted(
        hand=row.hand,
        task=row.task,
        origin=row.reply_to,
        session_key=row.session_key,
        deadline=runner.limits_of(row).of_run(row.accepted_at),
        label=row.label,
        hand_kind=row.kind.value,
        asked_by=None if origin is None else origin.asked_by,
        message_id="" if origin is None else origin.message_id,
        parent=row.parent,
        depth=row.depth,
    )

    def story(new: bool) -> int | None:
        return ctx.events.record(body, cause, **ids_of_delegation(row)) if new else None

    return story
