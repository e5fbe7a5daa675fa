"""What a configuration limits, as an event that invariants read."""

from __future__ import annotations

from trunkline.core.config import GatewayConfig
from trunkline.core.profile_rules import Profile
from trunkline.sim.events.world import AgentContexts, WorldLimits


def limits_of(config: GatewayConfig) -> WorldLimits:
    """The limits of delivery, and where each agent may write."""
    delivery, ours = config.delivery, config.profile is Profile.TRUNKLINE
    return WorldLimits(
        max_attempts=delivery.max_attempts,
        max_age=delivery.max_age,
        mark=delivery.mark if delivery.ambiguous == "resend-marked" else None,
        recovery_rate=delivery.recovery_rate,
        lanes=delivery.lanes,
        backoff=max(delivery.backoff, default=None),
        max_interrupted=delivery.max_interrupted,
        contexts=tuple([_contexts(agent.id, config) for agent in config.agents]) if ours else None,
        callback_prompt=bool(config.hands.prompt.strip()),
        hand_age=config.hands.limits.max_age,
    )


def _contexts(agent: str, config: GatewayConfig) -> AgentContexts:
    """What the cross-context policy is configured to allow and to mark for an agent."""
    tool = config.message_tool(agent)
    cross, nowhere = tool.cross_context, tool.without_origin
    marker, free = cross.marker, tool.allow_cross_context_send
    return AgentContexts(
        agent=agent,
        within=cross.allow_within_provider or free,
        across=cross.allow_across_providers or free,
        reach=nowhere.reach,
        targets=nowhere.targets,
        marks_within=marker.enabled and marker.within_provider,
        marks_across=marker.enabled,
        marks_nowhere=nowhere.marked,
        prefix=marker.prefix,
        suffix=marker.suffix,
    )
