"""Defects of inbound messages and of loss: duplicates, lost messages, false receipts, missing events."""

from typing import Any

import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.delivery.recovery import RecoveryAction, RecoveryDecision
from trunkline.core.errors import Refused
from trunkline.core.events import Body, gateway
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Envelope, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, HearingWrapper, swallowing, wrapping


@bug("recovery-resends-blindly", deciding("recover"), reports=("B108",), caught_by=("D4",))
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
class _AckFirst(HearingWrapper):
    """A message is acknowledged to its platform before it is durable; a crash in between loses it."""

    async def hear(self, envelope: Envelope) -> Envelope:
        await self.inner.ack(envelope)
        return envelope


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
    return isinstance(body, gateway.InboundDropped)


@bug("album-in-pieces", wrapping, caught_by=("D7",))
class _AlbumInPieces(HearingWrapper):
    """Each file of an album is a question of its own, and is answered by itself."""

    async def hear(self, envelope: Envelope) -> Envelope:
        return msgspec.structs.replace(envelope, act=None)


@bug("album-keeps-first", wrapping, caught_by=("E2",))
class _AlbumKeepsFirst(HearingWrapper):
    """Of an album only the first file reaches the agent."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._albums = set[str | None]()

    async def hear(self, envelope: Envelope) -> Envelope:
        if envelope.act is None or envelope.act not in self._albums:
            self._albums.add(envelope.act)
            return envelope
        return msgspec.structs.replace(envelope, parts=())
