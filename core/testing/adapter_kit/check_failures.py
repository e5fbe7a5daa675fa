"""Checks of failing sends. The first line of each docstring is its sentence in the report."""

from collections.abc import AsyncIterator
from functools import partial

import anyio

from trunkline.core.errors import Ambiguous, NotSent, PlatformError, RateLimited, Refused
from trunkline.core.testing.adapter_kit.check_run import NO_ANSWER, CheckFailed, CheckRun, describe
from trunkline.core.testing.adapter_kit.platform_double import Bench, NotTried
from trunkline.core.values import DeliveryMode, Idempotency, Receipt, SendRequest, Transport

#: seconds that the platform asks to wait
_WAIT = 7.0


async def look_up(trial: CheckRun) -> None:
    """A look-up returns the receipt of an accepted send, and None for one that was never accepted."""
    trial.need_idempotency(Idempotency.LOOKUP)
    request = trial.request()
    first = await trial.send_accepted(request)
    await trial.settle()
    adapter = trial.adapter
    found = await trial.outcome(adapter.find(request.address, request.key))
    if found != first:
        raise CheckFailed(f"it was accepted as {describe(first)}, and the look-up says {describe(found)}")
    never = trial.request()
    found = await trial.outcome(adapter.find(never.address, never.key))
    if found is not None:
        raise CheckFailed(f"it was never sent, and the look-up says {describe(found)}")


async def look_up_fails(trial: CheckRun) -> None:
    """A failed look-up raises an error; it never returns None."""
    trial.need_idempotency(Idempotency.LOOKUP)
    request = trial.request()
    await trial.send_accepted(request)
    await trial.bench.fail_look_up()
    found = await trial.outcome(trial.adapter.find(request.address, request.key))
    if not isinstance(found, PlatformError):
        raise CheckFailed(f"the look-up failed, and it says {describe(found)}")


async def lost_response(trial: CheckRun) -> None:
    """A send whose response is lost raises `Ambiguous`, or waits; it returns no receipt and raises no `NotSent`."""
    await trial.bench.lose_response()
    request = trial.request()
    _check_open(await trial.send(request), "its response was lost")
    await trial.check_accepted(request)


async def found_after_loss(trial: CheckRun) -> None:
    """A send whose response was lost can be looked up."""
    trial.need_idempotency(Idempotency.LOOKUP)
    await trial.bench.lose_response()
    request = trial.request()
    await trial.send(request)
    await trial.settle()
    found = await trial.outcome(trial.adapter.find(request.address, request.key))
    if not isinstance(found, Receipt):
        raise CheckFailed(f"it was accepted, and the look-up says {describe(found)}")
    await trial.check_only_message(request, found)


async def resent_after_loss(trial: CheckRun) -> None:
    """A send whose response was lost can be resent with its key, and stays one message."""
    if trial.adapter.capabilities.idempotency is not Idempotency.KEY:
        raise NotTried("it has no idempotency keys")
    await trial.bench.lose_response()
    request = trial.request()
    await trial.send(request)
    await trial.check_only_message(request, await trial.send_accepted(request))


async def reset(trial: CheckRun) -> None:
    """A connection that breaks during a send raises `Ambiguous`, or waits: it may have been accepted."""
    await trial.bench.reset_connection()
    request = trial.request()
    _check_open(await trial.send(request), "the connection broke under way")
    await trial.settle()
    if len(await trial.find_messages(request)) > 1:
        raise CheckFailed("it was accepted more than once")


def _check_open(outcome: object, what: str) -> None:
    if outcome is not NO_ANSWER and not isinstance(outcome, Ambiguous):
        raise CheckFailed(f"{what}: expected Ambiguous, got {describe(outcome)}")


async def not_sent(trial: CheckRun) -> None:
    """A platform that cannot be reached raises `NotSent`, and the message never appears later."""
    await trial.bench.refuse_connection()
    await trial.send_refused(trial.request(), NotSent, "the platform could not be reached")


async def no_fallback(trial: CheckRun) -> None:
    """A hybrid adapter never changes the transport by itself: the gateway decides and records that."""
    if trial.adapter.capabilities.mode is not DeliveryMode.HYBRID:
        raise NotTried("it has one transport")
    await trial.bench.refuse_connection()
    request = trial.request(transport=Transport.DIRECT)
    await trial.send_refused(request, NotSent, "the direct transport could not be reached")
    by_gateway = trial.request(transport=Transport.GATEWAY)
    await trial.check_only_message(by_gateway, await trial.send_accepted(by_gateway))


async def rate_limited(trial: CheckRun) -> None:
    """A rate limit raises `RateLimited` with the time that the platform asks to wait."""
    await trial.bench.rate_limit(_WAIT)
    error = await trial.send_refused(trial.request(), RateLimited, "the platform asked to wait")
    if error.retry_after is None or error.retry_after < _WAIT:
        raise CheckFailed(f"the platform asked to wait {_WAIT} s, the error says {error.retry_after}")


async def refusal(trial: CheckRun) -> None:
    """A refusal raises `Refused`, and nothing is visible."""
    await trial.bench.refuse()
    await trial.send_refused(trial.request(), Refused, "the platform refused it")


async def nowhere(trial: CheckRun) -> None:
    """A send to a missing place is not visible anywhere, and the error says that it was not accepted."""
    if not trial.bench.nowhere:
        raise NotTried("the bench has no `nowhere`")
    for place in trial.bench.nowhere:
        request = trial.request(place)
        outcome = await trial.send(request)
        if not isinstance(outcome, PlatformError) or outcome.ambiguous:
            raise CheckFailed(f"{place} is not there: expected a refusal, got {describe(outcome)}")
        await trial.check_accepted(request, 0)


async def goes_on(trial: CheckRun) -> None:
    """After a failure, the next send works normally."""
    async for _ in _provoke_each(trial.bench):
        await trial.send(trial.request())
        after = trial.request()
        await trial.check_only_message(after, await trial.send_accepted(after))


async def no_retry(trial: CheckRun) -> None:
    """A call is a single request, whatever the outcome: the adapter never retries by itself."""
    before = await trial.bench.requests()
    async for _ in _provoke_each(trial.bench):
        await trial.send(trial.request())
        await trial.settle()
        now = await trial.bench.requests()
        if now - before > 1:
            raise CheckFailed(f"one call made {now - before} requests")
        before = now


async def _provoke_each(bench: Bench) -> AsyncIterator[None]:
    """Make the next send fail, in each way of the bench. Raises `NotTried` if there is none."""
    rate_limit = partial(bench.rate_limit, _WAIT)
    tried = 0
    for provoke in (bench.refuse, rate_limit, bench.refuse_connection, bench.reset_connection, bench.lose_response):
        try:
            await provoke()
        except NotTried:
            continue
        tried += 1
        yield
    if not tried:
        raise NotTried("the bench cannot make a send fail")


async def cancelled(trial: CheckRun) -> None:
    """A cancelled send leaves nothing behind: the next one gets its own response."""
    await trial.bench.delay_response(trial.late * 2)
    first, second = trial.request(), trial.request()
    outcomes: list[object] = []

    async def run() -> None:
        outcomes.append(await trial.send(first))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await trial.settle()
        group.cancel_scope.cancel()
    if outcomes:
        raise NotTried("the send was over before it could be cancelled")
    # Until its answer has come, which the next send must not take for its own.
    await anyio.sleep(trial.late * 3)
    await trial.check_only_message(second, await trial.send_accepted(second))
    if len(await trial.find_messages(first)) > 1:
        raise CheckFailed("the cancelled send was accepted more than once")


async def side_by_side(trial: CheckRun) -> None:
    """Concurrent sends to two conversations do not mix: each is in its place and has its own receipt."""
    requests = [trial.request(place) for place in tuple(trial.bench.places[:2]) * 3]
    outcomes: dict[str, object] = {}

    async def run(request: SendRequest) -> None:
        outcomes[request.key] = await trial.send(request)

    async with anyio.create_task_group() as group:
        for request in requests:
            group.start_soon(run, request)
    for request in requests:
        receipt = outcomes[request.key]
        if not isinstance(receipt, Receipt):
            raise CheckFailed(f"a send to {request.address} was not accepted: {describe(receipt)}")
        await trial.check_only_message(request, receipt)
