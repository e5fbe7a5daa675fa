"""Defects in routing: stale configuration, captured routes, accounts and addresses of the wrong channel."""

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
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.return_address import to_main_channel
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, changing_sends, wrapping


@bug("tool-send-captures-route", reports=("B046",), caught_by=("R3",))
def _install_captured_route(wiring: Wiring) -> None:
    """A tool send becomes the reply route of its session: later answers go to the person it was sent to."""
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


@bug("answers-pinned-surface", reports=("B052",), caught_by=("R3",))
def _install_pinned_surface(wiring: Wiring) -> None:
    """Several surfaces share a session, and all answers go to the one that spoke first."""
    pinned: dict[str, Address] = {}

    def reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
        plan = plan_reply(envelope, config)
        first = pinned.setdefault(config_key(resolve_route(envelope, config).key, config), plan.address)
        return msgspec.structs.replace(plan, address=first)

    wiring.replace(plan_reply=reply)


@bug("account-of-source", deciding("choose_account"), reports=("B049",), caught_by=("R4",))
def _account_of_source(
    _channel: str, named: str | None, source: Address | None, accounts: Sequence[str], _config: GatewayConfig
) -> str:
    """A send to another channel carries the account name of the channel that the session lives on."""
    return named or (source.account if source is not None else accounts[0])


@bug("session-key-ignored", deciding("plan_send"), reports=("B053",), caught_by=("S1",))
def _key_ignored(message: SendMessage, **decided: object) -> SendPlan:
    """A full session key that the caller gives loses against a look-up by channel."""
    plan = plan_send(msgspec.structs.replace(message, session_key=None), **decided)  # pyright: ignore[reportArgumentType]
    return msgspec.structs.replace(plan, named_session=True)


@bug("config-captured-at-start", reports=("B093",), caught_by=("B2",))
def _install_config_at_start(wiring: Wiring) -> None:
    """Bindings changed at run time are ignored until a restart: monitors captured the configuration."""
    captured: list[GatewayConfig] = []

    def route(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
        if not captured:
            captured.append(config)
        return resolve_route(envelope, captured[0])

    wiring.replace(resolve_route=route)


@bug("folded-id-as-address", changing_sends, reports=("B068",), caught_by=("R4",))
def _folded_address(request: SendRequest) -> SendRequest:
    """Wire addresses are derived from session keys, in which ids are folded to lower case."""
    place = request.address
    thread = None if place.thread is None else place.thread.lower()
    folded = msgspec.structs.replace(place, conversation=place.conversation.lower(), thread=thread)
    return msgspec.structs.replace(request, address=folded)


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


@bug("alias-is-a-channel", reports=("B069",), caught_by=("S1", "R4"))
def _install_alias(wiring: Wiring) -> None:
    """The platform's own id of a direct conversation is taken for a channel, with a session of its own."""
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
        lost = request.address.conversation in self._lost
        return await self.inner.send(to_main_channel(request) if lost else request)


@bug("race-loser-posts-in-parent", reports=("B055",), caught_by=("R2",))
def _install_race_loser(wiring: Wiring) -> None:
    """The loser of a race to open a thread posts in the parent channel instead of joining the thread."""
    opened: dict[str, str] = {}
    wrapping(lambda adapter: _RaceLoser(adapter, opened))(wiring)


@bug("misplaced-is-delivered", wrapping, reports=("B058",), caught_by=("R2", "L3"))
class _TrustsTheRequest(AdapterWrapper):
    """The receipt shows the main chat instead of the topic, and the message counts as delivered."""

    async def send(self, request: SendRequest) -> Receipt:
        receipt = await self.inner.send(request)
        return msgspec.structs.replace(receipt, address=request.address)


@bug("reply-chain-is-a-thread", deciding("canonical"), reports=("B090",), caught_by=("R4",))
def _as_it_came(envelope: Envelope) -> Envelope:
    """The id of a chain of replies in a plain direct chat is stored as its thread, and sends are refused."""
    return envelope


@bug("dedupe-without-account", deciding("identify"), reports=("B037",), caught_by=("D7",))
def _dedupe_without_account(envelope: Envelope, _can: Capabilities) -> str:
    """The dedupe key lacks the account: the second bot that gets a message drops it."""
    return f"id/{envelope.message_id}"
