"""Inbound routes: which agent answers, in which session, and why every other binding lost (seed 001).

Tiers, first hit wins, inside a tier the order of declaration: peer, parent peer, peer wildcard, guild with roles,
guild, team, account, channel, default. All constraints that a binding states must hold together.
"""

from __future__ import annotations

import msgspec

from core.config import GatewayConfig, RouteBinding, RouteMatch
from core.events.bodies import Candidate
from core.keys import SessionKey
from core.reasons import Reason
from core.routing.keys import session_key_for
from core.values import ChatKind, Envelope

_DEFAULT_ACCOUNT = "default"
_GROUPS = (ChatKind.GROUP, ChatKind.CHANNEL)
#: tiers from the most to the least specific
TIERS = (
    "binding.peer",
    "binding.peer.parent",
    "binding.peer.wildcard",
    "binding.guild+roles",
    "binding.guild",
    "binding.team",
    "binding.account",
    "binding.channel",
)


class RouteDecision(msgspec.Struct, frozen=True, kw_only=True):
    """Where an inbound message belongs, with the reason for and against every binding."""

    agent: str
    key: SessionKey
    #: one of `TIERS`, or ``default``
    matched_by: str
    binding: str | None
    candidates: tuple[Candidate, ...]


def _same_kind(wanted: ChatKind, found: ChatKind) -> bool:
    """Group and channel are one kind to a binding."""
    return wanted is found or (wanted in _GROUPS and found in _GROUPS)


def _peer_tier(match: RouteMatch, envelope: Envelope) -> str | None:
    """The tier in which a binding's peer fits the envelope, or none."""
    peer, place = match.peer, envelope.address
    if peer is None or not _same_kind(peer.kind, place.kind):
        return None
    if peer.id == "*":
        return "binding.peer.wildcard"
    # A topic hangs under its group, a thread under its channel; a direct conversation hangs under nothing.
    if place.thread is None or place.kind is ChatKind.DIRECT:
        own, parent = place.conversation, place.parent
    else:
        own, parent = f"{place.conversation}:{place.thread}", place.conversation
    if peer.id == own:
        return "binding.peer"
    return "binding.peer.parent" if peer.id == parent else None


def _lost_on(match: RouteMatch, envelope: Envelope) -> Reason | None:
    """The first constraint, other than the peer, that does not hold."""
    place = envelope.address
    account = match.account or _DEFAULT_ACCOUNT
    if match.channel.lower() != place.channel:
        return Reason.OTHER_CHANNEL
    if account not in ("*", place.account):
        return Reason.OTHER_ACCOUNT
    if match.guild is not None and match.guild != envelope.guild:
        return Reason.OTHER_GUILD
    if match.team is not None and match.team != envelope.team:
        return Reason.OTHER_TEAM
    if match.roles and not any(role in envelope.roles for role in match.roles):
        return Reason.ROLE_MISSING
    return None


def _scope_tier(match: RouteMatch) -> str:
    """The tier of a binding without a peer."""
    if match.guild is not None:
        return "binding.guild+roles" if match.roles else "binding.guild"
    if match.team is not None:
        return "binding.team"
    return "binding.channel" if match.account == "*" else "binding.account"


def _judge(binding: RouteBinding, envelope: Envelope) -> tuple[str, Reason | None]:
    """Tier of a binding and the reason it cannot match, if any."""
    match = binding.match
    if match.peer is None:
        return _scope_tier(match), _lost_on(match, envelope)
    tier = _peer_tier(match, envelope)
    lost = _lost_on(match, envelope)
    if tier is None:
        return "binding.peer", lost or Reason.OTHER_PEER
    return tier, lost


def resolve_route(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Decide agent and session of an inbound message. Pure; the same code serves live path and explanations."""
    judged = [_judge(binding, envelope) for binding in config.bindings]
    fits = [(TIERS.index(tier), index) for index, (tier, lost) in enumerate(judged) if lost is None]
    best = min(fits, default=None)
    candidates: list[Candidate] = []
    for index, (tier, lost) in enumerate(judged):
        chosen = best is not None and index == best[1]
        if chosen:
            reason = Reason.MATCHED
        elif lost is not None or best is None:
            reason = lost or Reason.DEFAULT_AGENT
        else:
            reason = Reason.DECLARED_LATER if TIERS.index(tier) == best[0] else Reason.LESS_SPECIFIC
        name = config.bindings[index].name or f"bindings[{index}]"
        candidates.append(Candidate(binding=name, tier=tier, chosen=chosen, reason=reason))
    agent = config.default_agent if best is None else config.bindings[best[1]].agent
    return RouteDecision(
        agent=agent,
        key=session_key_for(agent, envelope.address, config.session),
        matched_by="default" if best is None else TIERS[best[0]],
        binding=None if best is None else candidates[best[1]].binding,
        candidates=tuple(candidates),
    )
