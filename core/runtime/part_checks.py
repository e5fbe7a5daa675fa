"""Checks of what a gateway is given: agents and adapters that fit each other and the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trunkline.core.agent import Agent
from trunkline.core.channels import ChannelAdapter
from trunkline.core.channels.capabilities import check_capabilities
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import ConfigError


def check_agents(config: GatewayConfig, agents: Mapping[str, Agent]) -> None:
    """Raise `ConfigError` for a configured agent that is not installed."""
    missing = [agent.id for agent in config.agents if agent.id not in agents]
    if missing:
        raise ConfigError(f"no agent is installed for: {', '.join(missing)}")


def check_adapters(adapters: Sequence[ChannelAdapter]) -> None:
    """Raise `ConfigError` for two adapters of one account, and for one whose capabilities contradict each other."""
    if len({(adapter.channel, adapter.account) for adapter in adapters}) != len(adapters):
        raise ConfigError("two adapters serve the same channel and account")
    for adapter in adapters:
        check_adapter(adapter)


def check_adapter(adapter: ChannelAdapter) -> None:
    """Raise `ConfigError` for an adapter whose capabilities contradict each other."""
    wrong = check_capabilities(adapter.capabilities)
    if wrong:
        raise ConfigError(f"the adapter of {adapter.channel}:{adapter.account}: {'; '.join(wrong)}")
