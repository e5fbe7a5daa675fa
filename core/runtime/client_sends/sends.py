"""Client sends: one idempotency key is one send, however often it is requested (see `trunkline.core.sends.api`)."""

from collections.abc import Awaitable, Callable, Sequence

import anyio
import msgspec

from trunkline.core.errors import InvalidSend, SendFailed, StoreError, UsageError
from trunkline.core.events import EventSink
from trunkline.core.events.delivery import SendJoined, SendPreviewed, SendRequested
from trunkline.core.reasons import Reason
from trunkline.core.runtime.client_sends.planner import SendPlanner, SendPorts, SendResult, StoredSend, refused
from trunkline.core.sends import api
from trunkline.core.sends.check_message import check_message
from trunkline.core.text.mirror_text import media_name
from trunkline.core.well_formed import well_formed


class _Flight:
    """A running send, for which further calls with the key wait."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.outcome: api.SendOutcome | None = None
        self.failure: SendFailed | None = None


class Sends:
    """Executes client sends while the gateway is up; earlier ones wait for it."""

    def __init__(self, ports: SendPorts, events: EventSink, up: anyio.Event) -> None:
        self._ports = ports
        self._events = events
        self._up = up
        self._stopped = False
        #: ordered, so that calls are cancelled in order
        self._scopes: dict[anyio.CancelScope, None] = {}
        self._flights: dict[str, _Flight] = {}
        self._planner = SendPlanner(ports, events)

    def forget_places(self) -> None:
        self._planner.forget_places()

    def stop(self) -> None:
        self._stopped = True
        for scope in tuple(self._scopes):
            scope.cancel()

    async def send(self, message: api.SendMessage, cause: int | None = None) -> api.SendOutcome:
        """Send a message once per key, and wait for the end.

        Raises `InvalidSend` or another `UsageError` for an invalid request: nothing is sent or stored, and the key
        stays unused. Raises `SendFailed` if the message was not delivered, or if the gateway ends first; repeating the
        call with the same key, even after a restart, sends nothing twice. A failed best-effort send does not raise.
        """
        check_message(message)
        return await self._while_up(message, lambda: self._send(message, cause))

    async def enqueue(self, message: api.SendMessage, cause: int | None = None) -> api.SendOutcome:
        """Store a message once per key without waiting for its delivery: the status is ``queued``.

        Raises like `send`. For a key whose earlier send has ended, the result is that of the earlier one.
        """
        check_message(message)
        if self._stopped or not self._up.is_set():
            return await self._while_up(message, lambda: self._first(message, cause, wait=False))
        try:
            # No scope to cancel is needed: the store raises when the gateway has ended.
            return await self._first(message, cause, wait=False)
        except StoreError as error:
            raise SendFailed(f"send {message.key!r}: {error.facts}; retry with the same key") from error

    async def broadcast(
        self, message: api.SendMessage, targets: Sequence[api.Target], cause: int | None
    ) -> tuple[api.Broadcasted, ...]:
        """Send to several targets, each with its own key; see `core.gateway.Gateway.broadcast`."""
        try:
            messages = api.spread(message, targets)
        except InvalidSend as error:
            self._events.record(refused(message.key, error), cause)
            raise
        results: dict[int, api.Broadcasted] = {}

        async def send_to(n: int) -> None:
            try:
                results[n] = api.Broadcasted(target=targets[n], outcome=await self.send(messages[n], cause))
            except (UsageError, SendFailed) as error:
                results[n] = api.Broadcasted(target=targets[n], error=error.facts)

        async with anyio.create_task_group() as group:
            for n in range(len(messages)):
                group.start_soon(send_to, n, name=f"broadcast {messages[n].key}")
        return tuple(results[n] for n in range(len(messages)))

    async def _while_up(
        self, message: api.SendMessage, do: Callable[[], Awaitable[api.SendOutcome]]
    ) -> api.SendOutcome:
        """Execute a call while the gateway is up, waiting for the start."""
        with anyio.CancelScope() as scope:
            self._scopes[scope] = None
            try:
                if self._stopped:
                    raise SendFailed(f"send {message.key!r}: the gateway has ended")
                if not self._up.is_set():
                    await self._up.wait()
                return await do()
            except StoreError as error:
                # The process is ending.
                raise SendFailed(f"send {message.key!r}: {error}") from error
            finally:
                del self._scopes[scope]
        raise SendFailed(f"send {message.key!r}: the gateway ended before the result; retry with the same key")

    async def _send(self, message: api.SendMessage, cause: int | None) -> api.SendOutcome:
        if message.dry_run:
            return await self._first(message, cause, wait=True)
        while (running := self._flights.get(message.key)) is not None:
            joined = await self._join_running_send(message, running, cause)
            if joined is not None:
                return joined
        # Registered before anything is awaited: two calls in the same tick are one send.
        flight = self._flights[message.key] = _Flight()
        try:
            flight.outcome = await self._first(message, cause, wait=True)
        except SendFailed as error:
            flight.failure = error
            raise
        finally:
            del self._flights[message.key]
            flight.done.set()
        return flight.outcome

    async def _join_running_send(
        self, message: api.SendMessage, flight: _Flight, cause: int | None
    ) -> api.SendOutcome | None:
        """Wait for a running send and return the result.

        None if it has no result because it was refused or its caller was cancelled. Then this call sends itself, and
        finds by its key what the other call has stored.
        """
        self._record_join(message.key, cause, ended=False)
        await flight.done.wait()
        if flight.failure is not None:
            raise SendFailed(flight.failure.facts, cached=True, final=flight.failure.final)
        return None if flight.outcome is None else msgspec.structs.replace(flight.outcome, cached=True)

    def _record_join(self, key: str, cause: int | None, *, ended: bool) -> None:
        body = SendJoined(key=well_formed(key), reason=Reason.IDEMPOTENT_REPEAT, ended=ended)
        self._events.record(body, cause)

    async def _first(self, message: api.SendMessage, cause: int | None, *, wait: bool) -> api.SendOutcome:
        asked = self._events.record(_requested(message), cause)
        try:
            api.check_key(message.key)
            spent = self._planner.spent
            if message.key in spent:
                self._record_join(message.key, asked, ended=True)
                raise SendFailed(spent[message.key], cached=True, final=True)
            plan, planned = await self._plan_or_repeat(message, asked)
            if isinstance(plan, api.SendOutcome):
                return plan
            if message.dry_run:
                return self._preview(plan, planned)
            stored = await self._ports.store(plan, planned)
        except UsageError as error:
            self._events.record(refused(message.key, error), asked)
            raise
        if not wait and stored.fate is None:
            if not stored.new:
                self._record_join(message.key, asked, ended=False)
            return _queued(message.key, stored)
        fate = stored.fate or await self._ports.wait_for_end(stored)
        if not stored.new:
            self._record_join(message.key, asked, ended=not fate.waited)
        return _outcome(message, fate, cached=not stored.new)

    async def _plan_or_repeat(self, message: api.SendMessage, asked: int) -> tuple[api.SendPlan | api.SendOutcome, int]:
        """The plan of a send, or the outcome of an earlier one with its key if it can no longer be planned."""
        try:
            return await self._planner.plan(message, asked)
        except UsageError:
            before = None if message.dry_run else await self._ports.fate(message.key)
            keeps = self._ports.config.rules[api.SendRules].keeps_failures
            if before is None or (before.receipt is None and not before.final and not keeps):
                raise
            self._record_join(message.key, asked, ended=not before.waited)
            return _outcome(message, before, cached=True), asked

    def _preview(self, plan: api.SendPlan, cause: int) -> api.SendOutcome:
        """The outcome of a dry run, which has no effects (invariant P2)."""
        address, chunks = self._ports.preview(plan)
        media = tuple(media_name(path) for path in plan.message.media)
        body = SendPreviewed(
            key=plan.message.key,
            address=address,
            session_key=plan.session_key,
            chunks=chunks,
            media=media,
            reason=Reason.DRY_RUN,
        )
        self._events.record(body, cause)
        return api.SendOutcome(
            key=plan.message.key,
            status=api.SendStatus.DRY_RUN,
            message_id=None,
            channel=plan.channel,
            conversation=address.conversation,
            session_key=plan.session_key,
            cached=False,
            preview=chunks,
        )


def _requested(message: api.SendMessage) -> SendRequested:
    return SendRequested(
        key=well_formed(message.key),
        channel=None if message.channel is None else well_formed(message.channel),
        target=well_formed(str(message.to)),
        session_key=None if message.session_key is None else well_formed(message.session_key),
        text=well_formed(message.text),
    )


def _queued(key: str, stored: StoredSend) -> api.SendOutcome:
    route = stored.plan.route
    return api.SendOutcome(
        key=key,
        status=api.SendStatus.QUEUED,
        message_id=None,
        channel=stored.plan.channel,
        conversation="" if route is None else route.address.conversation,
        session_key=stored.send.session_key,
        cached=not stored.new,
    )


def _outcome(message: api.SendMessage, fate: SendResult, *, cached: bool) -> api.SendOutcome:
    receipt = fate.receipt
    if receipt is None and not message.best_effort:
        raise SendFailed(f"send {message.key!r}: {fate.detail}", cached=cached, final=fate.final)
    return api.SendOutcome(
        key=message.key,
        # Best effort limits attempts, but the status stays truthful (scenario B028).
        status=api.SendStatus.NOT_DELIVERED if receipt is None else api.SendStatus.DELIVERED,
        message_id=None if receipt is None else receipt.provider_id,
        channel=fate.channel,
        conversation="" if receipt is None else receipt.address.conversation,
        session_key=fate.session_key,
        cached=cached,
        detail="" if receipt is not None else fate.detail,
    )
