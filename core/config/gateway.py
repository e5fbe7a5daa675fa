"""The whole configuration of a gateway."""

from __future__ import annotations

from pydantic import Field, PrivateAttr, model_validator

from trunkline.core.channels import rules_for
from trunkline.core.config.agents import AgentConfig
from trunkline.core.config.base import Model
from trunkline.core.config.channels import ChannelConfig
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.config.heartbeat import HeartbeatConfig
from trunkline.core.config.heartbeat_checks import check_heartbeats
from trunkline.core.config.routing import RouteRuleConfig, RuleSessionConfig, SessionConfig
from trunkline.core.config.schedule import CronConfig
from trunkline.core.config.tools import MessageToolConfig, ToolsConfig, merged
from trunkline.core.config.work import ControlConfig, HandsConfig, TurnsConfig
from trunkline.core.profiles import Profile


class GatewayConfig(Model):
    """The whole configuration of a gateway."""

    profile: Profile = Profile.TRUNKLINE
    """Whose rules: `trunkline`, or `openclaw` and `openclaw-2026-08`, which reproduce upstream decisions."""
    agents: tuple[AgentConfig, ...] = (AgentConfig(id="main"),)
    """At least one. The `openclaw` profiles also accept none: route rules may then name any agent."""
    bindings: tuple[RouteRuleConfig, ...] = ()
    session: SessionConfig = SessionConfig()
    channels: dict[str, ChannelConfig] = Field(default_factory=dict)
    delivery: DeliveryConfig = DeliveryConfig()
    hands: HandsConfig = HandsConfig()
    turns: TurnsConfig = TurnsConfig()
    control: ControlConfig = ControlConfig()
    tools: ToolsConfig = ToolsConfig()
    heartbeat: HeartbeatConfig | None = None
    """The heartbeat of the default agent, and the defaults of agents that have a section of their own. Without any such
    section there are no heartbeats."""
    cron: tuple[CronConfig, ...] = ()
    """The schedule."""
    _revision: int = PrivateAttr(default=1)

    @property
    def revision(self) -> int:
        """Number of this configuration in its process: 1 at start, incremented by each reload."""
        return self._revision

    def numbered(self, revision: int) -> GatewayConfig:
        """A copy of this configuration with a revision number."""
        copy = self.model_copy()
        copy._revision = revision
        return copy

    @model_validator(mode="after")
    def _names_fit(self) -> GatewayConfig:
        ids = [agent.id for agent in self.agents]
        if len(set(ids)) != len(ids):
            raise ValueError(f"agents: two agents share an id: {', '.join(sorted(ids))}")
        check_heartbeats(self)
        for name, hand in self.hands.each.items():
            for caller in hand.callers or ():
                if caller not in ids and not self.profile.upstream:
                    raise ValueError(f"hands.each.{name}.callers: no agent {caller!r}; there are: {', '.join(ids)}")
        if self.profile.upstream:
            # Upstream silently gives conversations of an unknown agent to the default one.
            return self
        if not ids:
            raise ValueError(f"agents: there are none; the profile {self.profile.value} needs at least one")
        for index, binding in enumerate(self.bindings):
            if binding.agent not in ids:
                raise ValueError(f"bindings[{index}].agent: no agent {binding.agent!r}; there are: {', '.join(ids)}")
            if binding.session != RuleSessionConfig() and (m := binding.match) and (m.guild or m.team or m.roles):
                raise ValueError(
                    f"bindings[{index}].session: own scopes need a match by peer, account or channel only; an outbound"
                    " message has no guild, team or roles, so it would be mirrored into another session"
                )
        return self

    @model_validator(mode="after")
    def _second_channels_exist(self) -> GatewayConfig:
        for name, channel in self.channels.items():
            second = channel.after_call
            if second is None:
                continue
            if name != "voice":
                raise ValueError(f"channels.{name}.after_call: only voice has calls; write it under channels.voice")
            if not second.strip() or second.strip().lower() == name:
                raise ValueError(
                    f"channels.{name}.after_call: expected another channel, such as telegram, found {second!r}"
                )
        return self

    @model_validator(mode="after")
    def _gates_exist(self) -> GatewayConfig:
        agents = [agent.id for agent in self.agents]
        for name, channel in self.channels.items():
            for agent in channel.prompts:
                if agent not in agents and not self.profile.upstream:
                    raise ValueError(f"channels.{name}.prompts: no agent {agent!r}; there are: {', '.join(agents)}")
            gates = rules_for(name).gates
            for gate in channel.actions:
                # Upstream ignores a gate that it does not know.
                if gate not in gates and not self.profile.upstream:
                    there = ", ".join(gates) or "none, since its actions are not known"
                    raise ValueError(f"channels.{name}.actions: no gate {gate!r}; there are: {there}")
        return self

    @property
    def default_agent(self) -> str:
        """The agent marked as default, else the first, else `main`."""
        flagged = (agent.id for agent in self.agents if agent.default)
        return next(flagged, self.agents[0].id if self.agents else "main")

    @property
    def quoting(self) -> tuple[str, ...]:
        """The channels whose answers quote the message that they answer."""
        return tuple(sorted(name for name, channel in self.channels.items() if channel.reply_reference))

    def message_tool(self, agent: str) -> MessageToolConfig:
        """Settings of an agent's message tool: its own, else those of all agents."""
        own = next((one.tools.message for one in self.agents if one.id == agent), None)
        return merged(self.tools.message, own) if own is not None and own.model_fields_set else self.tools.message

    def channel(self, name: str) -> ChannelConfig:
        """Settings of a platform."""
        return self.channels.get(name, _CHANNEL_DEFAULTS)


_CHANNEL_DEFAULTS = ChannelConfig()
