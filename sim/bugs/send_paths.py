"""Defects on the way out: what is in doubt goes again by another way, and what is told is not what was done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trunkline.core.channels import ChannelAdapter, InboundStream
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import AttemptFacts, AttemptOutcome, DeliveryDecision, NextStep, after_attempt
from trunkline.core.delivery.states import DeliveryEvent
from trunkline.core.errors import Refused
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.sends.api import Broadcasted, SendMessage, SendOutcome, SendStatus, Target
from trunkline.core.store.commands import AckChunk
from trunkline.core.store.records import IntentRow
from trunkline.core.values import (
    Address,
    Capabilities,
    DeliveryMode,
    Envelope,
    IntentState,
    Receipt,
    SendRequest,
    Transport,
)
from trunkline.sim.bugs.base import Bug, changing_write, deciding, making
from trunkline.sim.bugs.store import forget_refused_mirror


def _fall_back_in_doubt(
    outcome: AttemptOutcome, *, tried: AttemptFacts, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """A direct attempt without an answer counts as one that never arrived."""
    if outcome.ambiguous and can.mode is DeliveryMode.HYBRID and tried.transport is Transport.DIRECT:
        return DeliveryDecision(next=NextStep.FALLBACK, event=DeliveryEvent.DEFER, reason=Reason.GATEWAY_PATH, at=now)
    return after_attempt(outcome, tried=tried, now=now, can=can, config=config)


class _Unresolved:
    """Stands where an adapter could not be loaded, and refuses what it is given."""

    capabilities = Capabilities()

    def __init__(self, channel: str, account: str) -> None:
        self.channel = channel
        self.account = account

    def connect(self) -> InboundStream:
        """There is nothing to connect to."""
        raise Refused(f"no adapter for {self.channel}:{self.account}")

    async def ack(self, envelope: Envelope) -> None:
        """Nothing comes from it."""

    async def send(self, request: SendRequest) -> Receipt:
        """An error of its own, in a list with those of platforms that refuse for good."""
        raise Refused(f"no adapter for {self.channel}:{self.account}")

    async def find(self, address: Address, key: str) -> Receipt | None:
        """Nothing is there."""

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        """It cannot."""
        raise Refused(f"no adapter for {self.channel}:{self.account}")


class _Resolving(dict[tuple[str, str], ChannelAdapter]):
    """Adapters by channel and account, and something for those that are missing."""

    def get(self, key: tuple[str, str], default: Any = None) -> ChannelAdapter:
        return self[key] if key in self else _Unresolved(*key)


class ResolvingGateway(Gateway):
    """What it has no adapter for is refused like what a platform does not want."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._ctx.adapters = _Resolving(self._ctx.adapters)


class UnforwardedGateway(Gateway):
    """A client's send is passed on field by field, and one of the fields was added later."""

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Without the flag."""
        return await super().send(msgspec.structs.replace(message, dry_run=False), cause)

    async def broadcast(
        self, message: SendMessage, targets: Sequence[Target], cause: int | None = None
    ) -> tuple[Broadcasted, ...]:
        """Without the flag."""
        return await super().broadcast(msgspec.structs.replace(message, dry_run=False), targets, cause)


class CheerfulGateway(Gateway):
    """What came of a send is told by a line that is made from a field which nothing sets."""

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """All is well."""
        return _cheerful(await super().send(message, cause))

    async def broadcast(
        self, message: SendMessage, targets: Sequence[Target], cause: int | None = None
    ) -> tuple[Broadcasted, ...]:
        """All is well."""
        results = await super().broadcast(message, targets, cause)
        return tuple(
            one if one.outcome is None else msgspec.structs.replace(one, outcome=_cheerful(one.outcome))
            for one in results
        )


def _cheerful(outcome: SendOutcome) -> SendOutcome:
    """Whoever made the outcome never says `failed`."""
    failed = getattr(outcome, "failed", False)
    return outcome if failed else msgspec.structs.replace(outcome, status=SendStatus.DELIVERED)


class QuietGateway(Gateway):
    """A message that a hook cancels is over for it there: nobody is told."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        tell = self._preparer.ended

        def ended(row: IntentRow, reason: Reason, receipts: tuple[Receipt, ...], cause: int | None) -> None:
            if row.state is not IntentState.CANCELLED:
                tell(row, reason, receipts, cause)

        self._preparer.ended = ended


OUTBOUND_BUGS = (
    Bug(
        name="doubt-falls-back",
        reports=("B008",),
        sentence="A direct send whose answer was lost is repeated by the gateway path, as if it had never arrived.",
        caught_by=("D1", "D4", "R2"),
        install=deciding(after_attempt=_fall_back_in_doubt),
    ),
    Bug(
        name="missing-adapter-is-final",
        reports=("B026",),
        sentence="What an adapter is missing for is refused for good, like what a platform does not want.",
        caught_by=("L4",),
        install=making(ResolvingGateway),
    ),
    Bug(
        name="refused-mirror-is-logged",
        reports=("B060",),
        sentence="When the transcript of another session refuses a line, that is logged, and the line never comes.",
        caught_by=("M1",),
        install=changing_write(AckChunk, forget_refused_mirror),
    ),
    Bug(
        name="dry-run-sends",
        reports=("B152",),
        sentence="The flag of a dry run is not passed on, so what was only to be tried is sent.",
        caught_by=("P2",),
        install=making(UnforwardedGateway),
    ),
    Bug(
        name="dry-run-says-delivered",
        reports=("B153",),
        sentence="What a client is told of a dry run is the line of a delivery.",
        caught_by=("L3",),
        install=making(CheerfulGateway),
    ),
    Bug(
        name="cancelled-is-not-told",
        reports=("B155",),
        sentence="The hooks that watch what becomes of messages never hear of one that a hook has cancelled.",
        caught_by=("P2", "V1"),
        install=making(QuietGateway),
    ),
)
