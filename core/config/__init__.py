"""The gateway's configuration: one validated model, read from a file or from a scenario's ``gateway`` section.

Field names are snake_case; the upstream camelCase spelling of each is accepted too. Times are seconds, or text such
as ``90s``, ``1m30s``, ``250ms``. Every default is the safe choice: peers are isolated, ambiguity is parked.
"""

from __future__ import annotations

from trunkline.core.config.agents import AgentConfig
from trunkline.core.config.base import Duration, Model, parse_duration
from trunkline.core.config.channels import ChannelAccountConfig, ChannelConfig, ThreadBindingsConfig
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.config.gateway import ConfigChecks, GatewayConfig
from trunkline.core.config.heartbeat import ActiveHoursConfig, HeartbeatConfig, VisibilityConfig
from trunkline.core.config.routing import (
    DmScope,
    GroupScope,
    PeerMatch,
    RouteMatch,
    RouteRuleConfig,
    RuleSessionConfig,
    SessionConfig,
)
from trunkline.core.config.schedule import CronConfig
from trunkline.core.config.tools import (
    BroadcastConfig,
    CrossContextConfig,
    MarkerConfig,
    MessageToolConfig,
    ToolsConfig,
    WithoutOriginConfig,
)
from trunkline.core.config.work import ControlConfig, HandConfig, HandsConfig, TurnsConfig

__all__ = [
    "ActiveHoursConfig",
    "AgentConfig",
    "BroadcastConfig",
    "ChannelAccountConfig",
    "ChannelConfig",
    "ConfigChecks",
    "ControlConfig",
    "CronConfig",
    "CrossContextConfig",
    "DeliveryConfig",
    "DmScope",
    "Duration",
    "GatewayConfig",
    "GroupScope",
    "HandConfig",
    "HandsConfig",
    "HeartbeatConfig",
    "MarkerConfig",
    "MessageToolConfig",
    "Model",
    "PeerMatch",
    "RouteMatch",
    "RouteRuleConfig",
    "RuleSessionConfig",
    "SessionConfig",
    "ThreadBindingsConfig",
    "ToolsConfig",
    "TurnsConfig",
    "VisibilityConfig",
    "WithoutOriginConfig",
    "parse_duration",
]
