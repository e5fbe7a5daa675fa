"""Defects of adapters: hidden retries, made-up receipts, changes of another message, refusals that nobody heard."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.agent import Agent, Turn
from trunkline.core.channels import ChannelAdapter, InboundStream
from trunkline.core.config import DeliveryConfig, GatewayConfig
from trunkline.core.delivery.policy import AttemptOutcome, DeliveryDecision, after_attempt
from trunkline.core.delivery.recovery import InterruptedIntent, RecoveryAction, RecoveryDecision, recover
from trunkline.core.errors import Ambiguous, PlatformError, RateLimited, Refused
from trunkline.core.gateway import Gateway
from trunkline.core.message_tool.references import MessageReference
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import KnownMessage
from trunkline.core.routing.second_channel import SecondChannel, second_channel
from trunkline.core.runtime.inbound.live_turn import LiveTurn
from trunkline.core.sends.api import SendMessage, SendOutcome
from trunkline.core.store.commands import EndIntent
from trunkline.core.values import Address, Capabilities, Capability, Idempotency, IntentId, Receipt, SendRequest
from trunkline.sim.bugs.base import bug, changing_write, deciding, making
from trunkline.sim.bugs.turn_wrappers import taking_turns
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, changing_sends, wrapping
from trunkline.sim.cast.nonsense import take_gateway_down
from trunkline.sim.platforms import FakeAdapter
from trunkline.sim.platforms.channels.voice import VoiceCall

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


#: more calls than a turn of a scenario makes
_CALLS = 100


@bug("change-repeated-at-once", deciding("after_attempt"), caught_by=("A1",))
def _repeat_at_once(outcome: AttemptOutcome, *, can: Capabilities, **known: Any) -> DeliveryDecision:
    """A change without an answer is repeated while its first request may still arrive, and undo the next change."""
    return after_attempt(outcome, can=msgspec.structs.replace(can, repeat_after=0.0), **known)


@bug("recovery-repeats-changes-at-once", deciding("recover"), caught_by=("A1",))
def _repeat_after_start(left: InterruptedIntent, *, can: Capabilities, **known: Any) -> RecoveryDecision:
    """A change that a crash interrupted is repeated at the start, while its first request may still arrive."""
    return recover(left, can=msgspec.structs.replace(can, repeat_after=0.0), **known)


@bug("creation-repeated", deciding("after_attempt"), caught_by=("A1", "D4"))
def _repeat_creation(outcome: AttemptOutcome, *, can: Capabilities, **known: Any) -> DeliveryDecision:
    """What cannot be done twice, such as opening a thread, is done again when its answer was lost."""
    keyed = can
    if can.idempotency is Idempotency.NONE:
        keyed = msgspec.structs.replace(can, idempotency=Idempotency.KEY)
    return after_attempt(outcome, can=keyed, **known)


@bug("calls-renamed-in-a-rerun", taking_turns, caught_by=("A1",))
async def _number_on(agent: Agent, turn: Turn) -> str | None:
    """A turn that runs again after a crash gives its calls new names, so what it did before is done again."""
    if isinstance(turn, LiveTurn) and turn.again:
        turn._calls += _CALLS  # pyright: ignore[reportPrivateUsage] -- the defect is in there
    return await agent.turn(turn)


@bug("message-ids-are-global", deciding("decide_reference"), caught_by=("A2",))
def _by_id_alone(_action: Action, name: str, place: Address, found: KnownMessage, **_: Any) -> MessageReference:
    """A message is looked up by its id alone, as if no two conversations had messages of one id."""
    ours = found.ours
    ids = [receipt.provider_id for receipt in ours.receipts] if ours is not None else []
    return MessageReference(address=place, message_id=ids[-1] if ids else name)


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


#: the call for a text, out of those that are going on; None: the one that it names
_Choose = Callable[[Address, Sequence[VoiceCall]], VoiceCall | None]


def _choosing(choose: _Choose) -> Callable[[Wiring], None]:
    """An installer of adapters that choose the call themselves."""

    def rewired(adapter: ChannelAdapter) -> ChannelAdapter:
        if isinstance(adapter, FakeAdapter):
            adapter.choose_call = choose
        return adapter

    return wrapping(rewired)


@bug("voice-any-active-call", _choosing, caught_by=("V2",))
def _any(_place: Address, calls: Sequence[VoiceCall]) -> VoiceCall | None:
    """A result is said in the first call that is going on, or in the only one, with any person in it (D5)."""
    return calls[0] if calls else None


@bug("voice-result-to-newest-call", _choosing, caught_by=("V2",))
def _newest(place: Address, calls: Sequence[VoiceCall]) -> VoiceCall | None:
    """A result is said in the newest call with the same number, although it was asked for in another one."""
    mine = [call for call in calls if call.room.conversation == place.conversation]
    return mine[-1] if mine else None


@bug("second-channel-of-anybody", deciding("second_channel"), caught_by=("V2",))
def _first_link(place: Address, config: GatewayConfig) -> SecondChannel | None:
    """What could not be said any more goes to the first person who is linked on the second channel."""
    found = second_channel(place, config)
    if found is None or found.target is not None:
        return found
    prefix = f"{found.channel}:"
    entries = (entry for ids in config.session.identity_links.values() for entry in ids if entry.startswith(prefix))
    first = next(entries, None)
    return found if first is None else SecondChannel(channel=found.channel, target=first.removeprefix(prefix))
