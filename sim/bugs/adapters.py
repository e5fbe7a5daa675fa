"""Defects in adapters: hidden retries, made-up receipts, keys that are not unique, errors that escape."""

from typing import Any

import anyio
import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.delivery.recovery import RecoveryAction, RecoveryDecision
from trunkline.core.errors import Ambiguous, PlatformError, Refused
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability, IntentId, Receipt, SendRequest
from trunkline.sim.bugs.base import bug
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, changing_sends, wrapping
from trunkline.sim.cast.nonsense import take_gateway_down

#: seconds that the layer below the gateway waits for an answer, and how often it tries
_OWN_TIMEOUT = 3.0
_OWN_TRIES = 3


@bug("stacked-retries", wrapping, reports=("B007",), caught_by=("D1", "D4"))
class _StackedRetries(AdapterWrapper):
    """The adapter retries a timeout by itself, though the platform may have accepted the message."""

    async def send(self, request: SendRequest) -> Receipt:
        for _ in range(_OWN_TRIES):
            with anyio.move_on_after(_OWN_TIMEOUT):
                return await self.inner.send(request)
        raise Ambiguous("no answer, however often it was asked")


@bug("best-effort-swallows", wrapping, reports=("B028",), caught_by=("L3", "V1"))
class _SwallowsErrors(AdapterWrapper):
    """Best-effort delivery ignores the error, and the status is a success."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except PlatformError:
            return Receipt(provider_id="best-effort", address=request.address)


def _folded(request: SendRequest) -> SendRequest:
    """The request with its conversation id folded to lower case, as in session keys."""
    small = request.address.conversation.lower()
    return msgspec.structs.replace(request, address=msgspec.structs.replace(request.address, conversation=small))


@bug("empty-result-is-success", wrapping, reports=("B029",), caught_by=("L3", "R4"))
class _EmptyResult(AdapterWrapper):
    """A folded id passes the parser and not the platform, and an answer without a receipt is a success."""

    @property
    def capabilities(self) -> Capabilities:
        can = self.inner.capabilities
        return msgspec.structs.replace(can, can=can.can - {Capability.MESSAGE_IDS})

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(_folded(request))
        except Refused:
            return Receipt(provider_id="", address=request.address)


@bug("key-without-run", changing_sends, reports=("B038",), caught_by=("D1", "L3"))
def _key_without_run(request: SendRequest) -> SendRequest:
    """The idempotency key names the target and not the run: all runs but the first look already delivered."""
    return msgspec.structs.replace(request, key=f"to {request.address}")


@bug("rejection-escapes", reports=("B105",), caught_by=("L5", "R4"))
def _install_escaping(wiring: Wiring) -> None:
    """A refused address of the queue ends the inbound loop, at every start, and the entry stays."""
    wrapping(_RejectionEscapes)(wiring)
    wiring.replace(recover=_again_uncounted)


class _RejectionEscapes(AdapterWrapper):
    """Sends to the folded id of the session key; the refusal ends the loop that everything runs in."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(_folded(request))
        except Refused:
            await take_gateway_down()


def _again_uncounted(_left: Any, **_: Any) -> RecoveryDecision:
    """Count attempts when they fail: one that kills its process never counts."""
    return RecoveryDecision(action=RecoveryAction.RESEND, reason=Reason.SAME_KEY_RESEND)


@bug("counter-starts-at-zero", wrapping, reports=("B111",), caught_by=("D1", "L3"))
class _CountsFromZero(AdapterWrapper):
    """Idempotency keys are numbers that restart with each process, and the platform remembers old ones."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._numbers: dict[tuple[IntentId, int], int] = {}

    async def send(self, request: SendRequest) -> Receipt:
        number = self._numbers.setdefault((request.intent, request.chunk), len(self._numbers))
        return await self.inner.send(msgspec.structs.replace(request, key=f"m{number}"))
