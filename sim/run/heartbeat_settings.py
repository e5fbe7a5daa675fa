"""The heartbeats of a configuration, as the world records them for the invariants."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.config import GatewayConfig
from trunkline.core.config.gateway import heartbeat_agents
from trunkline.core.heartbeat.settings import heartbeat_of, zones_of
from trunkline.core.heartbeat.visibility import resolve_visibility
from trunkline.sim.events.world import WorldHeartbeat


def heartbeats_of(config: GatewayConfig, accounts: Sequence[tuple[str, str]]) -> list[WorldHeartbeat]:
    """What is promised of each agent's heartbeat."""
    return [_promised(config, agent, accounts) for agent in heartbeat_agents(config)]


def _promised(config: GatewayConfig, agent: str, accounts: Sequence[tuple[str, str]]) -> WorldHeartbeat:
    heartbeat = heartbeat_of(config, agent)
    assert heartbeat is not None
    hours, shown = heartbeat.active_hours, [one for one in accounts if resolve_visibility(config, *one).show_ok]
    return WorldHeartbeat(
        agent=agent,
        every=heartbeat.every,
        target=heartbeat.target or "",
        start="" if hours is None else hours.start,
        end="" if hours is None else hours.end,
        timezone="" if hours is None else zones_of(config, agent, "UTC").of(hours.timezone).key,
        ok_shown=tuple(f"{channel}:{account}" for channel, account in shown),
        prefix=heartbeat.response_prefix.strip(),
    )
