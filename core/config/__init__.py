"""The gateway's configuration: one validated model, read from a file or from a scenario's ``gateway`` section.

Field names are snake_case; the upstream camelCase spelling of each is accepted too. Times are seconds, or text such
as ``90s``, ``1m30s``, ``250ms``. Every default is the safe choice: peers are isolated, ambiguity is parked.
"""

from trunkline.core.config.base import Duration, Model, parse_duration
from trunkline.core.config.channels import ChannelAccountConfig, ChannelConfig, ThreadBindingsConfig
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.config.gateway import ConfigChecks, GatewayConfig
from trunkline.core.config.heartbeat import HeartbeatConfig, VisibilityConfig
from trunkline.core.config.routing import DmScope, GroupScope, RouteRuleConfig, RuleSessionConfig, SessionConfig
from trunkline.core.config.schedule import CronConfig
from trunkline.core.config.tools import MessageToolConfig
from trunkline.core.config.work import ControlConfig, HandsConfig

__all__ = ["ChannelAccountConfig", "ChannelConfig", "ConfigChecks", "ControlConfig", "CronConfig", "DeliveryConfig"]
__all__ += ["DmScope", "Duration", "GatewayConfig", "GroupScope", "HandsConfig", "HeartbeatConfig"]
__all__ += ["MessageToolConfig", "Model", "RouteRuleConfig", "RuleSessionConfig", "SessionConfig"]
__all__ += ["ThreadBindingsConfig", "VisibilityConfig", "parse_duration"]
