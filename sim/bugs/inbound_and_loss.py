"""Defects of inbound messages and of loss: duplicates, lost messages, false receipts, missing events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from trunkline.core.channels import InboundStream
from trunkline.core.delivery.recovery import RecoveryAction, RecoveryDecision
from trunkline.core.errors import Refused
from trunkline.core.events import Body
from trunkline.core.events.gateway import InboundDropped
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, swallowing, wrapping


@bug("recovery-resends-blindly", deciding("recover"), reports=("B108",), caught_by=("D1", "D4"))
def _replay_blindly(_left: Any, **_: Any) -> RecoveryDecision:
    """An entry that was accepted but not acked before a crash is indistinguishable from an unsent one."""
    return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED)


@bug("dedupe-forgets-on-restart", reports=("B013",), caught_by=("D7",))
def _install_memory_cache(wiring: Wiring) -> None:
    """The dedupe cache is in memory only, and keyed by ids that the platform reassigns on replay."""
    generation = wiring.generation

    def identify(envelope: Envelope, _can: Capabilities) -> str:
        return f"{generation}/{'/'.join(envelope.address.lane)}/{envelope.message_id}"

    wiring.replace(identify=identify)


@bug("ack-before-commit", wrapping, caught_by=("L1",))
class _AckFirst(AdapterWrapper):
    """A message is acknowledged to its platform before it is durable; a crash in between loses it."""

    def connect(self) -> InboundStream:
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        async with self.inner.connect() as envelopes:
            yield self._ack_each(envelopes)

    async def _ack_each(self, envelopes: AsyncIterator[Envelope]) -> AsyncIterator[Envelope]:
        async for envelope in envelopes:
            await self.inner.ack(envelope)
            yield envelope


@bug("refused-is-delivered", wrapping, reports=("004-D10",), caught_by=("L3",))
class _RefusedIsDelivered(AdapterWrapper):
    """A refusal without an exception counts as a delivery."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except Refused:
            return Receipt(provider_id="unknown", address=request.address)


@bug("silent-drops", swallowing, caught_by=("V1",))
def _drops(body: Body) -> bool:
    """Messages that are dropped as duplicates are dropped without an event."""
    return isinstance(body, InboundDropped)
