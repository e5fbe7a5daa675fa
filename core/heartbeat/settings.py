"""The heartbeat of an agent as the configuration gives it, with the defaults of all agents."""

from trunkline.core.calendar.zones import Zones
from trunkline.core.config import CronConfig, GatewayConfig, HeartbeatConfig
from trunkline.core.config.gateway import deliverable_channels, heartbeat_agents
from trunkline.core.config.heartbeat import NONE
from trunkline.core.config.tools import merged
from trunkline.core.heartbeat.targets import HeartbeatTargets, Route, TargetQuestion


def heartbeat_of(config: GatewayConfig, agent: str) -> HeartbeatConfig | None:
    """The settings of an agent's heartbeat, or None if it has none."""
    if agent not in heartbeat_agents(config):
        return None
    shared = config.heartbeat or HeartbeatConfig()
    own = next((one.heartbeat for one in config.agents if one.id == agent), None)
    return shared if own is None else merged(shared, own)


def agent_of(entry: CronConfig, config: GatewayConfig) -> str:
    """The agent of an entry of the schedule."""
    return entry.agent or config.default_agent


def zones_of(config: GatewayConfig, agent: str, local: str) -> Zones:
    """The zones of an agent's user and of the machine."""
    heartbeat = heartbeat_of(config, agent) or config.heartbeat or HeartbeatConfig()
    return Zones(user=heartbeat.user_timezone, local=local)


def target_question(
    config: GatewayConfig,
    agent: str,
    *,
    last: Route,
    accounts: dict[str, tuple[str, ...]],
    entry: CronConfig | None = None,
) -> TargetQuestion:
    """The question where an agent's heartbeat delivers, or where the turn of an entry of the schedule does.

    `accounts`: channel -> accounts that adapters serve.
    """
    heartbeat = heartbeat_of(config, agent) or HeartbeatConfig()
    asked = heartbeat if entry is None else entry
    return TargetQuestion(
        target=asked.target,
        default=config.rules[HeartbeatTargets].default if entry is None else NONE,
        to=asked.to,
        account=asked.account_id,
        direct_policy=heartbeat.direct_policy if entry is None else "allow",
        last=last,
        recipients={name.strip().lower(): channel.recipients for name, channel in config.channels.items()},
        accounts=accounts,
        owners=config.control.owners,
        channels=tuple(dict.fromkeys((*deliverable_channels(config), *accounts))),
        by=config.rules,
    )
