"""Defects of send paths: messages in doubt that are repeated on another path, and false answers to clients."""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import DeliveryConfig
from trunkline.core.delivery.policy import AttemptFacts, AttemptOutcome, DeliveryDecision, NextStep, after_attempt
from trunkline.core.errors import Refused
from trunkline.core.gateway import Gateway
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.sends.api import Broadcasted, SendMessage, SendOutcome, SendStatus, Target
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.commands import AckChunk
from trunkline.core.values import Capabilities, DeliveryMode, Receipt, SendRequest, Transport
from trunkline.sim.bugs.base import bug, changing_write, deciding, making


@bug("doubt-falls-back", deciding("after_attempt"), reports=("B008",), caught_by=("D1", "D4"))
def _fall_back_in_doubt(
    outcome: AttemptOutcome, *, tried: AttemptFacts, now: float, can: Capabilities, config: DeliveryConfig
) -> DeliveryDecision:
    """A direct send whose answer was lost is repeated by the gateway path, as if it had never arrived."""
    if outcome.ambiguous and can.mode is DeliveryMode.HYBRID and tried.transport is Transport.DIRECT:
        return DeliveryDecision(next=NextStep.FALLBACK, event=DeliveryEvent.DEFER, reason=Reason.GATEWAY_PATH, at=now)
    return after_attempt(outcome, tried=tried, now=now, can=can, config=config)


class _Unresolved:
    """Stands in for an adapter that could not be loaded, and refuses whatever is sent."""

    capabilities = Capabilities()

    def __init__(self, channel: str, account: str) -> None:
        self.channel = channel
        self.account = account

    async def send(self, _request: SendRequest) -> Receipt:
        """Refuse for good, like a platform."""
        raise Refused(f"no adapter for {self.channel}:{self.account}")


class _Resolving(dict[tuple[str, str], ChannelAdapter]):
    """Adapters by channel and account, with a stand-in for missing ones."""

    def get(self, key: tuple[str, str], default: Any = None) -> ChannelAdapter:
        return self[key] if key in self else cast("ChannelAdapter", _Unresolved(*key))


@bug("missing-adapter-is-final", making("gateway"), reports=("B026",), caught_by=("L4",))
class ResolvingGateway(Gateway):
    """Messages whose adapter is missing are refused for good, as if their platform had refused them."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._ctx.adapters = _Resolving(self._ctx.adapters)


@bug("refused-mirror-is-logged", changing_write(AckChunk), reports=("B060",), caught_by=("M1",))
def _forget_refused_mirror(command: AckChunk) -> AckChunk:
    """When the transcript of another session refuses a line, that is logged, and the line never comes."""
    return msgspec.structs.replace(command, mirror_due=False)


@bug("dry-run-sends", making("gateway"), reports=("B152",), caught_by=("P2",))
class UnforwardedGateway(Gateway):
    """The flag of a dry run is not passed on, so the message is sent."""

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Send without the flag."""
        return await super().send(msgspec.structs.replace(message, dry_run=False), cause)

    async def broadcast(
        self, message: SendMessage, targets: Sequence[Target], cause: int | None = None
    ) -> tuple[Broadcasted, ...]:
        """Send without the flag."""
        return await super().broadcast(msgspec.structs.replace(message, dry_run=False), targets, cause)


@bug("dry-run-says-delivered", making("gateway"), reports=("B153",), caught_by=("L3",))
class CheerfulGateway(Gateway):
    """A client gets the answer of a delivery for a dry run."""

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Report success."""
        return _cheerful(await super().send(message, cause))

    async def broadcast(
        self, message: SendMessage, targets: Sequence[Target], cause: int | None = None
    ) -> tuple[Broadcasted, ...]:
        """Report success."""
        results = await super().broadcast(message, targets, cause)
        return tuple(
            result if result.outcome is None else msgspec.structs.replace(result, outcome=_cheerful(result.outcome))
            for result in results
        )


def _cheerful(outcome: SendOutcome) -> SendOutcome:
    """The outcome as delivered: `failed` is never set."""
    failed = getattr(outcome, "failed", False)
    return outcome if failed else msgspec.structs.replace(outcome, status=SendStatus.DELIVERED)


@bug("cancelled-is-not-told", making("gateway"), reports=("B155",), caught_by=("V1",))
class QuietGateway(Gateway):
    """Outcome hooks are not notified of a message that another hook has cancelled."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        notify = self._hooks.notify_soon

        def notify_unless_cancelled(
            row: IntentRow, reason: Reason, receipts: tuple[Receipt, ...], cause: int | None, *, stored: bool = True
        ) -> None:
            if not row.is_cancelled:
                notify(row, reason, receipts, cause, stored=stored)

        self._hooks.notify_soon = notify_unless_cancelled
