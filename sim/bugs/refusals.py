"""Defects after a failed attempt: refusals that nobody heard, or that nobody said; clients and answers of nobody."""

from collections.abc import Sequence
from typing import Any

import anyio
import msgspec

from trunkline.core.channels import ChannelAdapter, InboundStream
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import AttemptOutcome, DeliveryDecision, after_attempt
from trunkline.core.errors import PlatformError, RateLimited, Refused
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.sends.api import SendMessage, SendOutcome
from trunkline.core.store.commands import EndIntent
from trunkline.core.values import Receipt, SendRequest
from trunkline.sim.bugs.base import bug, changing_write, deciding, making
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping


@bug("refused-for-good-is-sent-again", deciding("after_attempt"), caught_by=("W2",))
def _retries_all(outcome: AttemptOutcome, **known: Any) -> DeliveryDecision:
    """A refusal for good counts as a passing failure, so the same message is sent until its attempts are used up."""
    final = outcome.receipt is None and outcome.reason in (Reason.REFUSED, Reason.PLACE_GONE)
    return after_attempt(msgspec.structs.replace(outcome, retryable=True) if final else outcome, **known)


@bug("backoff-is-a-tenth", deciding("after_attempt"), caught_by=("W2",))
def _hurries(outcome: AttemptOutcome, *, config: DeliveryConfig, **known: Any) -> DeliveryDecision:
    """The configured waits are taken for tenths of seconds, so a platform that limps is hit ten times as often."""
    waits: Sequence[float] = tuple(wait / 10 for wait in config.backoff)
    return after_attempt(outcome, config=config.model_copy(update={"backoff": waits}), **known)


@bug("dead-listener-after-a-reconnect", wrapping, caught_by=("T5",))
class _DeadListener(AdapterWrapper):
    """The dispatcher of the first connection is used for ever: after a reconnect it refuses everything by itself."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._connections = 0

    def connect(self) -> InboundStream:
        self._connections += 1
        return self.inner.connect()

    async def send(self, request: SendRequest) -> Receipt:
        """Refuse, if the connection is not the first."""
        if self._connections > 1:
            raise Refused("no listener")
        return await self.inner.send(request)


@bug("library-insists", wrapping, caught_by=("W2",))
class _Insists(AdapterWrapper):
    """The client library asks again at once for what was refused for good; the gateway counts one attempt."""

    async def send(self, request: SendRequest) -> Receipt:
        """Send, and once more if it is refused."""
        try:
            return await self.inner.send(request)
        except Refused:
            return await self.inner.send(request)


@bug("slow-down-is-a-failure", wrapping, caught_by=("W2",))
class _Mistakes(AdapterWrapper):
    """A platform that asks to slow down is recorded as one that is broken: operators look for the wrong fault."""

    async def send(self, request: SendRequest) -> Receipt:
        """Send, and call what went wrong by another name."""
        try:
            return await self.inner.send(request)
        except RateLimited as error:
            raise PlatformError(error.facts, retry_after=error.retry_after) from error


@bug("reason-stored-is-another", changing_write(EndIntent), caught_by=("W3",))
def _with_another_reason(command: EndIntent) -> EndIntent:
    """The store keeps another reason than was recorded: after a restart people read that a refused message grew old."""
    return msgspec.structs.replace(command, reason=Reason.TOO_OLD)


@bug("failed-in-silence", changing_write(EndIntent), caught_by=("W1",))
def _without_notice(command: EndIntent) -> EndIntent:
    """People who wait for an answer that did not arrive get no notice: it is never stored."""
    return msgspec.structs.replace(command, notice=None)


@bug("client-never-told", making("gateway"), caught_by=("T6",))
class _ForgetsClients(Gateway):
    """The send of a client is delivered, and the client waits for its answer for ever."""

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Send, and never return."""
        await super().send(message, cause)
        await anyio.sleep_forever()
        raise AssertionError("it returned")
