"""Requests of clients and operators to a gateway process; the world records the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from trunkline.core.bindings.bind_request import BindRequest
from trunkline.core.errors import BindingError, SendFailed, UnknownName, UsageError
from trunkline.core.events import EventSink
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import TargetKind
from trunkline.core.sends.api import SendMessage, SendOutcome, Target
from trunkline.core.store.queue_admin import QueueFilter, QueueRow, QueueVerdict
from trunkline.core.values import Address
from trunkline.sim.events.script import ClientAnswered, ClientRequested
from trunkline.sim.scenario.model.steps import BindStep, QueueStep, UnbindStep
from trunkline.sim.scenario.text_pattern import text_matches

#: queue rows per page
_PAGE = 500
#: part of every session key of delegated work
_SUBAGENT = ":subagent:"


async def send(gateway: Gateway, message: SendMessage, targets: Sequence[Target], world: EventSink) -> None:
    """Send as a client, to one target or to several, and record the outcome of each."""
    if not targets:
        await _send(gateway, message, world)
        return
    keys = [f"{message.key}/{target.name}" for target in targets]
    asked = [world.record(ClientRequested(key=key, dry_run=message.dry_run)) for key in keys]
    try:
        results = await gateway.broadcast(message, targets, asked[0])
    except UsageError as error:
        for key, cause in zip(keys, asked, strict=True):
            world.record(ClientAnswered(key=key, status="refused", detail=error.facts), cause)
        return
    for key, cause, result in zip(keys, asked, results, strict=True):
        if result.outcome is None:
            world.record(ClientAnswered(key=key, status="failed", detail=result.error), cause)
        else:
            _record_answer(key, result.outcome, world, cause)


async def _send(gateway: Gateway, message: SendMessage, world: EventSink) -> None:
    asked = world.record(ClientRequested(key=message.key, dry_run=message.dry_run))
    try:
        _record_answer(message.key, await gateway.send(message, asked), world, asked)
    except UsageError as error:
        world.record(ClientAnswered(key=message.key, status="refused", detail=error.facts), asked)
    except SendFailed as error:
        world.record(ClientAnswered(key=message.key, status="failed", detail=error.facts), asked)


def _record_answer(key: str, outcome: SendOutcome, world: EventSink, cause: int) -> None:
    body = ClientAnswered(
        key=key,
        status=outcome.status.value,
        provider_id=outcome.message_id,
        detail=outcome.detail,
        cached=outcome.cached,
    )
    world.record(body, cause)


async def operate(gateway: Gateway, step: QueueStep, is_at: Callable[[str, Address], bool]) -> None:
    """Act on queued messages as an operator. Raises `UnknownName` if none matches."""
    states = () if step.state is None else (step.state,)
    rows = [row for row in await _rows(gateway, QueueFilter(states=states)) if _meant(row, step, is_at)]
    if not rows:
        raise UnknownName("no queued message matches")
    if step.do == "purge":
        await gateway.queue.purge(QueueFilter(ids=tuple(row.id for row in rows), states=states))
        return
    for row in rows:
        if step.verdict is None:
            await gateway.queue.retry(row.id)
        else:
            await gateway.queue.resolve(row.id, QueueVerdict(step.verdict))


async def bind(gateway: Gateway, step: BindStep, key: str, place: Address) -> None:
    """Bind a conversation to a session as an operator. The gateway records failures itself."""
    kind = TargetKind.SUBAGENT if _SUBAGENT in key else TargetKind.SESSION
    with suppress(BindingError):
        await gateway.bindings.bind(
            BindRequest(
                target_session_key=key,
                target_kind=kind,
                conversation=place,
                idle_timeout=step.idle,
                max_age=step.max_age,
                label=step.label,
            )
        )


async def unbind(gateway: Gateway, step: UnbindStep, key: str | None, place: Address | None) -> None:
    """Unbind a conversation, or all bindings of a session, as an operator."""
    with suppress(BindingError):
        await gateway.bindings.unbind(
            target_session_key=key, conversation=place, reason=Reason.UNBOUND if step.reason is None else step.reason
        )


async def _rows(gateway: Gateway, which: QueueFilter) -> list[QueueRow]:
    found: list[QueueRow] = []
    while page := await gateway.queue.intents(which, after=found[-1].n if found else 0, limit=_PAGE):
        found += page
    return found


def _meant(row: QueueRow, step: QueueStep, is_at: Callable[[str, Address], bool]) -> bool:
    if step.place is not None and (row.address is None or not is_at(step.place, row.address)):
        return False
    return step.text is None or text_matches(step.text, row.text)
