"""Defects in adapters: hidden retries, made-up receipts, keys that are not unique, errors that escape."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.delivery.policy import RecoveryAction, RecoveryDecision
from trunkline.core.errors import Ambiguous, PlatformError, Refused
from trunkline.core.reasons import Reason
from trunkline.core.values import Capabilities, Capability, IntentId, Receipt, SendRequest
from trunkline.sim.bugs.base import Bug
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping
from trunkline.sim.run.wiring import Wiring

#: seconds that the layer below the gateway waits for an answer, and how often it tries
_OWN_TIMEOUT = 3.0
_OWN_TRIES = 3


class _StackedRetries(AdapterWrapper):
    """Treats a missing answer as a connection that was never made, and tries again."""

    async def send(self, request: SendRequest) -> Receipt:
        for _ in range(_OWN_TRIES):
            with anyio.move_on_after(_OWN_TIMEOUT):
                return await self.inner.send(request)
        raise Ambiguous("no answer, however often it was asked")


class _SwallowsErrors(AdapterWrapper):
    """Best effort: reports success whatever the error."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(request)
        except PlatformError:
            return Receipt(provider_id="best-effort", address=request.address)


def _folded(request: SendRequest) -> SendRequest:
    """The request with its conversation id folded to lower case, as in session keys."""
    small = request.address.conversation.lower()
    return msgspec.structs.replace(request, address=msgspec.structs.replace(request.address, conversation=small))


class _EmptyResult(AdapterWrapper):
    """Sends to the folded id of the session key, and takes an answer without a message id for a success."""

    @property
    def capabilities(self) -> Capabilities:
        can = self.inner.capabilities
        return msgspec.structs.replace(can, can=can.can - {Capability.MESSAGE_IDS})

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(_folded(request))
        except Refused:
            return Receipt(provider_id="", address=request.address)


class _KeyWithoutRun(AdapterWrapper):
    """Derives the idempotency key from the target alone, and not from the message."""

    async def send(self, request: SendRequest) -> Receipt:
        return await self.inner.send(msgspec.structs.replace(request, key=f"to {request.address}"))


class _CountsFromZero(AdapterWrapper):
    """Uses numbers as idempotency keys; each process starts counting at zero."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._numbers: dict[tuple[IntentId, int], int] = {}

    async def send(self, request: SendRequest) -> Receipt:
        number = self._numbers.setdefault((request.intent, request.chunk), len(self._numbers))
        return await self.inner.send(msgspec.structs.replace(request, key=f"m{number}"))


class Escaped(BaseException):
    """A platform error that no caller handles."""


class _RejectionEscapes(AdapterWrapper):
    """Sends to the folded id of the session key; the refusal ends the loop that everything runs in."""

    async def send(self, request: SendRequest) -> Receipt:
        try:
            return await self.inner.send(_folded(request))
        except Refused as error:
            raise Escaped(str(error)) from error


def _again_uncounted(_left: Any, **_: Any) -> RecoveryDecision:
    """Count attempts when they fail: one that kills its process never counts."""
    return RecoveryDecision(action=RecoveryAction.RESEND, reason=Reason.SAME_KEY_RESEND)


def _install_escaping(wiring: Wiring) -> None:
    wrapping(_RejectionEscapes)(wiring)
    wiring.replace(recover=_again_uncounted)


ADAPTER_BUGS = (
    Bug(
        name="stacked-retries",
        reports=("B007",),
        sentence="The adapter retries a timeout by itself, though the platform may have accepted the message.",
        caught_by=("D1", "D4"),
        install=wrapping(_StackedRetries),
    ),
    Bug(
        name="best-effort-swallows",
        reports=("B028",),
        sentence="Best-effort delivery ignores the error, and the status is a success.",
        caught_by=("L3", "V1"),
        install=wrapping(_SwallowsErrors),
    ),
    Bug(
        name="empty-result-is-success",
        reports=("B029",),
        sentence="A folded id passes the parser and not the platform, and an answer without a receipt is a success.",
        caught_by=("L3", "R4"),
        install=wrapping(_EmptyResult),
    ),
    Bug(
        name="key-without-run",
        reports=("B038",),
        sentence="The idempotency key names the target and not the run: all runs but the first look already delivered.",
        caught_by=("D1", "L3"),
        install=wrapping(_KeyWithoutRun),
    ),
    Bug(
        name="rejection-escapes",
        reports=("B105",),
        sentence="A refused address of the queue ends the inbound loop, at every start, and the entry stays.",
        caught_by=("L5", "L6", "R4"),
        install=_install_escaping,
    ),
    Bug(
        name="counter-starts-at-zero",
        reports=("B111",),
        sentence="Idempotency keys are numbers that restart with each process, and the platform remembers old ones.",
        caught_by=("D1", "L3"),
        install=wrapping(_CountsFromZero),
    ),
)
