"""What the route rules say of an agent's own accounts, and of who answers at a place. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trunkline.core.config import GatewayConfig
from trunkline.core.identity_memo import while_it_lives
from trunkline.core.routing.inbound import RouteDecision, decide
from trunkline.core.routing.match_input import MatchRules, query_at
from trunkline.core.values import Address, ChatKind


def account_of_agent(
    agent: str, channel: str, source: Address | None, accounts: Sequence[str], config: GatewayConfig
) -> str | None:
    """The account that the route rules give an agent on a channel; None: they give it none there.

    The first rule that names an account wins, but the account of the turn (`source`) if one of them names it. An agent
    that answers by an account also writes by it, wherever its turn comes from. `accounts`: those that are served.
    """
    named = _named_accounts(config).get((agent, channel), ())
    served = {account.lower(): account for account in accounts} if named else {}
    own = [served[name] for name in named if name in served]
    if source is not None and source.channel == channel and source.account in own:
        return source.account
    return own[0] if own else None


@while_it_lives
def _named_accounts(config: GatewayConfig) -> Mapping[tuple[str, str], Sequence[str]]:
    """By agent and channel: the accounts that its rules name, in the order of declaration, in lower case."""
    found: dict[tuple[str, str], list[str]] = {}
    for rule in config.bindings:
        account = (rule.match.account or "").strip().lower()
        if account not in ("", "*"):
            found.setdefault((rule.agent, rule.match.channel.strip().lower()), []).append(account)
    return found


def other_agent_at(place: Address, agent: str, config: GatewayConfig) -> RouteDecision | None:
    """The route of an answer from a place, if another agent gets it; None if it is the same or cannot be known.

    What an answer in a group will say of guild, team and roles is not known before it comes.
    """
    if len(config.agents) < 2 or (place.kind is not ChatKind.DIRECT and place.channel in _by_sender(config)):
        return None
    route = decide(query_at(place, config.rules[MatchRules]), place, config, "none")
    return None if route.agent == agent else route


@while_it_lives
def _by_sender(config: GatewayConfig) -> frozenset[str]:
    """The channels with rules on guild, team or roles."""
    return frozenset(
        rule.match.channel.strip().lower()
        for rule in config.bindings
        if rule.match.guild is not None or rule.match.team is not None or rule.match.roles
    )
