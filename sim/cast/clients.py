"""Requests of clients and operators to a gateway process; the world records the answers."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress

from trunkline.core import errors
from trunkline.core.bindings.bind_request import BindRequest
from trunkline.core.events import EventSink
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import TargetKind
from trunkline.core.records.delegations import DelegationRow, HandResult
from trunkline.core.sends.api import SendMessage, SendOutcome, Target
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store import delegations
from trunkline.core.store.queue_admin import QueueFilter, QueueRow, QueueVerdict
from trunkline.core.values import Address, DelegationId
from trunkline.sim.events.script import ClientAnswered, ClientRequested
from trunkline.sim.scenario.model.steps import BindStep, HandsStep, QueueStep, UnbindStep
from trunkline.sim.scenario.text_pattern import text_matches
from trunkline.sim.store.outside import OutsideStore

#: rows per page
_PAGE = 500
#: part of every session key of delegated work
_SUBAGENT = ":subagent:"


async def send(gateway: Gateway, message: SendMessage, targets: Sequence[Target], world: EventSink) -> None:
    """Send as a client, to one target or to several, and record the outcome of each."""
    if not targets:
        await _send(gateway, message, world)
        return
    keys = [f"{message.key}/{target.name}" for target in targets]
    aims = [target.to for target in targets]
    # A request that names a place twice is wrong as a whole, so no place has a right to it (invariant E4).
    aims = aims if len(set(aims)) == len(aims) else [""] * len(aims)
    asked = [world.record(_asked(message, key, aim)) for key, aim in zip(keys, aims, strict=True)]
    try:
        results = await gateway.broadcast(message, targets, asked[0])
    except errors.UsageError as error:
        for key, cause in zip(keys, asked, strict=True):
            world.record(ClientAnswered(key=key, status="refused", detail=error.facts), cause)
        return
    for key, cause, result in zip(keys, asked, results, strict=True):
        if result.outcome is None:
            world.record(ClientAnswered(key=key, status="failed", detail=result.error), cause)
        else:
            _record_answer(key, result.outcome, world, cause)


async def _send(gateway: Gateway, message: SendMessage, world: EventSink) -> None:
    asked = world.record(_asked(message, message.key, message.to))
    try:
        _record_answer(message.key, await gateway.send(message, asked), world, asked)
    except errors.UsageError as error:
        world.record(ClientAnswered(key=message.key, status="refused", detail=error.facts), asked)
    except errors.SendFailed as error:
        world.record(ClientAnswered(key=message.key, status="failed", detail=error.facts), asked)


def _asked(message: SendMessage, key: str, to: str | Address) -> ClientRequested:
    plain = SendMessage(to=message.to, text=message.text, key=message.key, dry_run=message.dry_run)
    return ClientRequested(
        key=key,
        dry_run=message.dry_run,
        text=message.text or ("" if message.poll is None else message.poll.question),
        aim=to if isinstance(to, Address) else None,
        more=message != plain,
    )


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
    rows = [row for row in await _read_queue(gateway, QueueFilter(states=states)) if _meant(row, step, is_at)]
    if not rows:
        raise errors.UnknownName("no queued message matches")
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
    with suppress(errors.BindingError):
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
    with suppress(errors.BindingError):
        await gateway.bindings.unbind(
            target_session_key=key, conversation=place, reason=Reason.UNBOUND if step.reason is None else step.reason
        )


async def _read_queue(gateway: Gateway, which: QueueFilter) -> list[QueueRow]:
    found: list[QueueRow] = []
    while page := await gateway.queue.intents(which, after=found[-1].n if found else 0, limit=_PAGE):
        found += page
    return found


def _meant(row: QueueRow, step: QueueStep, is_at: Callable[[str, Address], bool]) -> bool:
    if step.place is not None and (row.address is None or not is_at(step.place, row.address)):
        return False
    return step.text is None or text_matches(step.text, row.text)


# Operators and programs that act on delegations: in the gateway's process, or from another one through the store.

#: who asks, in events
OPERATOR = "operator"


async def operate_inside(
    gateway: Gateway, step: HandsStep, answering: Callable[[DelegationRow, HandResult], object]
) -> None:
    """Act on every delegation that is meant. Raises `UnknownName` if there is none. `answering`: records an answer.

    The gateway records what it refuses, so that is no failure of the step.
    """
    rows = [row async for row in _rows_of(gateway, step) if is_meant(row, step)]
    if not rows:
        raise errors.UnknownName("no delegation matches")
    for row in rows:
        with suppress(errors.AnswerRefused, errors.IllegalTransition):
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
        raise errors.UnknownName("no delegation matches")
    result = _result(step) if step.do == "answer" else None
    for row in rows:
        post = delegations.HandPost(
            delegation=row.id,
            verb=delegations.PostVerb(step.do),
            outcome=None if result is None else result.outcome,
            text="" if result is None else result.text,
            by=OPERATOR,
            at=now,
        )
        try:
            store.write(delegations.PostToGateway(post=post))
        except (errors.AnswerRefused, errors.IllegalTransition, errors.StoreError) as error:
            raise errors.UnknownName(str(error)) from error


async def _rows_of(gateway: Gateway, step: HandsStep) -> AsyncIterator[DelegationRow]:
    which, before = delegations.DelegationFilter(hand=step.hand or ""), None
    while True:
        found = await gateway.hands.list(which, before=before, limit=_PAGE)
        for row in found.rows:
            yield row
        if not found.rows:
            return
        before = found.rows[-1].id


def _rows(store: OutsideStore, step: HandsStep) -> Iterator[DelegationRow]:
    which, before = delegations.DelegationFilter(hand=step.hand or ""), None
    while True:
        found = store.read(delegations.ListDelegations(which=which, before=before, limit=_PAGE))
        yield from found.rows
        if not found.rows:
            return
        before = found.rows[-1].id


def is_meant(row: DelegationRow, step: HandsStep) -> bool:
    """Whether a step of an operator is about this delegation."""
    if (step.hand is not None and step.hand != row.hand) or (step.label is not None and step.label != row.label):
        return False
    return step.task is None or text_matches(step.task, row.task)
