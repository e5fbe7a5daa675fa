"""Defects of inbound messages and of loss: duplicates, lost messages, false receipts, missing events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from trunkline.core.channels import InboundStream
from trunkline.core.delivery.policy import RecoveryAction, RecoveryDecision
from trunkline.core.errors import Refused
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import InboundDropped
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import Bug, deciding
from trunkline.sim.bugs.wrappers import AdapterWrapper, DeafSink, wrapping
from trunkline.sim.run.wiring import Wiring


def _replay_blindly(_left: Any, **_: Any) -> RecoveryDecision:
    """Treat unacknowledged as unsent: send every open intent again at the start."""
    return RecoveryDecision(action=RecoveryAction.SEND, reason=Reason.RECOVERED)


def _install_memory_cache(wiring: Wiring) -> None:
    """The dedupe cache lives in memory: each process starts empty, and knows messages by the platform's id only."""
    generation = wiring.generation

    def identify(envelope: Envelope, _can: Capabilities) -> str:
        return f"{generation}/{'/'.join(envelope.address.lane)}/{envelope.message_id}"

    wiring.replace(identify=identify)


class _AckFirst(AdapterWrapper):
    """Acknowledges a message before it is durable."""

    def connect(self) -> InboundStream:
        return self._connect()

    @asynccontextmanager
    async def _connect(self) -> AsyncGenerator[AsyncIterator[Envelope], None]:
        async with self.inner.connect() as envelopes:
            yield self._acked(envelopes)

    async def _acked(self, envelopes: AsyncIterator[Envelope]) -> AsyncIterator[Envelope]:
        async for envelope in envelopes:
            await self.inner.ack(envelope)
            yield envelope


class _RefusedIsDelivered(AdapterWrapper):
    """Takes a refusal for a delivery, without a message id."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except Refused:
            return Receipt(provider_id="unknown", address=request.address)


def _install_silent_drops(wiring: Wiring) -> None:
    before = wiring.wrap_events

    def wrap(sink: EventSink) -> EventSink:
        return DeafSink(before(sink), (InboundDropped,))

    wiring.wrap_events = wrap


INBOUND_BUGS = (
    Bug(
        name="recovery-resends-blindly",
        reports=("B108",),
        sentence="An entry that was accepted but not acked before a crash is indistinguishable from an unsent one.",
        caught_by=("D1", "D4"),
        install=deciding(recover=_replay_blindly),
    ),
    Bug(
        name="dedupe-forgets-on-restart",
        reports=("B013",),
        sentence="The dedupe cache is in memory only, and keyed by ids that the platform reassigns on replay.",
        caught_by=("D7",),
        install=_install_memory_cache,
    ),
    Bug(
        name="ack-before-commit",
        reports=(),
        sentence="A message is acknowledged to its platform before it is durable; a crash in between loses it.",
        caught_by=("L1",),
        install=wrapping(_AckFirst),
    ),
    Bug(
        name="refused-is-delivered",
        reports=(),
        sentence="A refusal without an exception counts as a delivery.",
        caught_by=("L3",),
        install=wrapping(_RefusedIsDelivered),
    ),
    Bug(
        name="silent-drops",
        reports=(),
        sentence="Messages that are dropped as duplicates are dropped without an event.",
        caught_by=("V1",),
        install=_install_silent_drops,
    ),
)
