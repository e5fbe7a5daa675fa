"""Defects in routing: stale configuration, captured routes, accounts and addresses of the wrong channel."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trunkline.core.channels import ChannelAdapter, Resolved
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import MirrorPlan, MirrorQuestion, ReplyPlan, plan_mirror, plan_reply
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute, resolve_outbound_route
from trunkline.core.sends.api import SendMessage, SendPlan, plan_send
from trunkline.core.values import Address, Capabilities, Envelope, IntentKind, Receipt, SendRequest
from trunkline.sim.bugs.base import Bug, deciding
from trunkline.sim.bugs.return_address import main_channel
from trunkline.sim.bugs.wrappers import AdapterWrapper, wrapping
from trunkline.sim.run.wiring import Wiring


def _install_captured_route(wiring: Wiring) -> None:
    """A tool send writes its target into the delivery context of the session, and answers follow that."""
    captured: dict[str, Address] = {}

    def mirror(question: MirrorQuestion, config: GatewayConfig) -> MirrorPlan:
        if question.kind is IntentKind.TOOL:
            captured[question.running] = question.target
        return plan_mirror(question, config)

    def reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
        plan = plan_reply(envelope, config)
        target = captured.get(config_key(resolve_route(envelope, config).key, config))
        return plan if target is None else msgspec.structs.replace(plan, address=target, open_on=None)

    wiring.replace(plan_mirror=mirror, plan_reply=reply)


def _install_pinned_surface(wiring: Wiring) -> None:
    """The session has one reply route: the first surface to speak in it gets all answers."""
    pinned: dict[str, Address] = {}

    def reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
        plan = plan_reply(envelope, config)
        first = pinned.setdefault(config_key(resolve_route(envelope, config).key, config), plan.address)
        return msgspec.structs.replace(plan, address=first)

    wiring.replace(plan_reply=reply)


def _account_of_source(
    _channel: str, named: str | None, source: Address | None, accounts: Sequence[str], _config: GatewayConfig
) -> str:
    """Use the account of the running session on whatever channel it sends to."""
    return named or (source.account if source is not None else accounts[0])


def _key_ignored(message: SendMessage, **decided: object) -> SendPlan:
    """Look the session up by channel; echo the key that the caller gave, and ignore it."""
    plan = plan_send(msgspec.structs.replace(message, session_key=None), **decided)  # pyright: ignore[reportArgumentType]
    return msgspec.structs.replace(plan, named_session=True)


def _install_config_at_start(wiring: Wiring) -> None:
    """Monitors capture the configuration when they start: bindings changed later are ignored until a restart."""
    captured: list[GatewayConfig] = []

    def route(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
        if not captured:
            captured.append(config)
        return resolve_route(envelope, captured[0])

    wiring.replace(resolve_route=route)


class _FoldedAddress(AdapterWrapper):
    """Takes the address from the session key, in which ids are folded to lower case."""

    async def send(self, request: SendRequest) -> Receipt:
        place = request.address
        folded = msgspec.structs.replace(
            place,
            conversation=place.conversation.lower(),
            thread=None if place.thread is None else place.thread.lower(),
        )
        return await self.inner.send(msgspec.structs.replace(request, address=folded))


class _NoDirectory(AdapterWrapper):
    """Does not ask the directory what an alias stands for."""

    async def resolve_target(self, text: str) -> Resolved | None:
        return None


def _alias_is_a_channel(question: OutboundQuestion, config: GatewayConfig) -> OutboundRoute:
    """Take Slack's own id of a direct conversation (``D...``) for a channel."""
    settings = config.channel(question.channel)
    known = settings.model_copy(update={"rooms": (*settings.rooms, question.target.rpartition(":")[2])})
    channels = {**config.channels, question.channel: known}
    return resolve_outbound_route(question, config.model_copy(update={"channels": channels}))


def _install_alias(wiring: Wiring) -> None:
    wrapping(_NoDirectory)(wiring)
    wiring.replace(resolve_outbound=_alias_is_a_channel)


class _RaceLoser(AdapterWrapper):
    """Posts in the parent channel when another account has opened the thread first."""

    def __init__(self, inner: ChannelAdapter, opened: dict[str, str]) -> None:
        super().__init__(inner)
        self._opened = opened
        self._lost: set[str] = set()

    async def open_thread(self, place: Address, message_id: str, title: str) -> Address:
        if self._opened.setdefault(message_id, self.account) != self.account:
            self._lost.add(place.conversation)
            return place
        return await self.inner.open_thread(place, message_id, title)

    async def send(self, request: SendRequest) -> Receipt:
        if request.address.conversation in self._lost:
            request = msgspec.structs.replace(request, address=main_channel(request.address))
        return await self.inner.send(request)


def _install_race_loser(wiring: Wiring) -> None:
    opened: dict[str, str] = {}
    before = wiring.wrap_adapter

    def wrap(adapter: ChannelAdapter) -> ChannelAdapter:
        return _RaceLoser(before(adapter), opened)

    wiring.wrap_adapter = wrap


class _TrustsTheRequest(AdapterWrapper):
    """Takes the requested place for the actual one, whatever the receipt says."""

    async def send(self, request: SendRequest) -> Receipt:
        receipt = await self.inner.send(request)
        return msgspec.structs.replace(receipt, address=request.address)


def _as_it_came(envelope: Envelope) -> Envelope:
    """Take any thread id of a message for the thread of its conversation."""
    return envelope


def _dedupe_without_account(envelope: Envelope, _can: Capabilities) -> str:
    """The dedupe key is the message id alone."""
    return f"id/{envelope.message_id}"


ROUTING_BUGS = (
    Bug(
        name="tool-send-captures-route",
        reports=("B046",),
        sentence="A tool send becomes the reply route of its session: later answers go to the person it was sent to.",
        caught_by=("R3",),
        install=_install_captured_route,
    ),
    Bug(
        name="answers-pinned-surface",
        reports=("B052",),
        sentence="Several surfaces share a session, and all answers go to the one that spoke first.",
        caught_by=("R1", "R3"),
        install=_install_pinned_surface,
    ),
    Bug(
        name="account-of-source",
        reports=("B049",),
        sentence="A send to another channel carries the account name of the channel that the session lives on.",
        caught_by=("R4",),
        install=deciding(choose_account=_account_of_source),
    ),
    Bug(
        name="session-key-ignored",
        reports=("B053",),
        sentence="A full session key that the caller gives loses against a look-up by channel.",
        caught_by=("S1",),
        install=deciding(plan_send=_key_ignored),
    ),
    Bug(
        name="config-captured-at-start",
        reports=("B093",),
        sentence="Bindings changed at run time are ignored until a restart: monitors captured the configuration.",
        caught_by=("B2",),
        install=_install_config_at_start,
    ),
    Bug(
        name="folded-id-as-address",
        reports=("B068",),
        sentence="Wire addresses are derived from session keys, in which ids are folded to lower case.",
        caught_by=("R4",),
        install=wrapping(_FoldedAddress),
    ),
    Bug(
        name="alias-is-a-channel",
        reports=("B069",),
        sentence="The platform's own id of a direct conversation is taken for a channel, with a session of its own.",
        caught_by=("S1", "R4"),
        install=_install_alias,
    ),
    Bug(
        name="race-loser-posts-in-parent",
        reports=("B055",),
        sentence="The loser of a race to open a thread posts in the parent channel instead of joining the thread.",
        caught_by=("R2",),
        install=_install_race_loser,
    ),
    Bug(
        name="misplaced-is-delivered",
        reports=("B058",),
        sentence="The receipt shows the main chat instead of the topic, and the message counts as delivered.",
        caught_by=("R2", "L3"),
        install=wrapping(_TrustsTheRequest),
    ),
    Bug(
        name="reply-chain-is-a-thread",
        reports=("B090",),
        sentence="The id of a chain of replies in a plain direct chat is stored as its thread, and sends are refused.",
        caught_by=("R4",),
        install=deciding(canonical=_as_it_came),
    ),
    Bug(
        name="dedupe-without-account",
        reports=("B037",),
        sentence="The dedupe key lacks the account: the second bot that gets a message drops it.",
        caught_by=("D7",),
        install=deciding(identify=_dedupe_without_account),
    ),
)
