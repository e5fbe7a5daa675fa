"""Configuration of agents."""

from __future__ import annotations

from pydantic import Field, field_validator

from trunkline.core.config.base import Model
from trunkline.core.config.heartbeat import HeartbeatConfig
from trunkline.core.config.tools import ToolsConfig


class AgentConfig(Model):
    """An agent that the gateway can route messages to."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")
    """Lower case letters, digits, `-` and `_`; not `agent`, the first word of upstream session keys."""
    default: bool = False
    """Answers messages that no route rule matches. If no agent is the default, the first one is."""
    prompt: str = ""
    """Base system prompt of its turns. Those of the channel and of a callback follow it."""
    tools: ToolsConfig = ToolsConfig()
    """Settings of its tools; each that is given replaces the one in `tools`."""
    heartbeat: HeartbeatConfig | None = None
    """Its heartbeat; each setting that is given replaces the one in `heartbeat`. If any agent has this section, only
    agents with it have heartbeats."""

    @field_validator("id")
    @classmethod
    def _not_the_marker(cls, name: str) -> str:
        if name == "agent":
            raise ValueError("an agent cannot be called 'agent': upstream session keys begin with that word")
        return name
