"""What OpenClaw accepts in a configuration, and takes for something else."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.config import GatewayConfig, HeartbeatConfig
from trunkline.core.config.gateway import ConfigChecks


class OpenClawChecks(ConfigChecks):
    """Conversations of an unknown agent silently go to the default one, and unknown gates are ignored."""

    def accepts_agent(self, name: str, config: GatewayConfig) -> bool:
        return True

    def accepts_gate(self, name: str, gates: Sequence[str]) -> bool:
        return True

    def check_heartbeat(self, path: str, heartbeat: HeartbeatConfig, agent: str, config: GatewayConfig) -> None:
        """Unusable values are taken as no hours, the user's zone and the default target."""

    def check_agents(self, config: GatewayConfig) -> None:
        """There may be none, and route rules may name any."""
