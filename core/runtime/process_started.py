"""What a process records when it starts, and when its configuration is replaced."""

from __future__ import annotations

from trunkline.core.config import GatewayConfig
from trunkline.core.events.gateway import ConfigReloaded, ProcessStarted
from trunkline.core.routing.route_rules import rule_scopes


def process_started(config: GatewayConfig) -> ProcessStarted:
    """The event of a start: what invariants have to know of the configuration."""
    return ProcessStarted(
        dm_scope=config.session.dm_scope.value,
        group_scope=config.session.group_scope.value,
        identity_links=config.session.identity_links,
        rule_scopes=rule_scopes(config),
        quoting=config.quoting,
        profile=config.profile.value,
        revision=config.revision,
        notes=True,
    )


def config_reloaded(before: GatewayConfig, after: GatewayConfig) -> ConfigReloaded:
    """The event of a configuration that replaces another one."""
    changed = [name for name in GatewayConfig.model_fields if getattr(after, name) != getattr(before, name)]
    return ConfigReloaded(
        revision=after.revision,
        changed=tuple(changed),
        dm_scope=after.session.dm_scope.value,
        group_scope=after.session.group_scope.value,
        identity_links=after.session.identity_links,
        rule_scopes=rule_scopes(after),
        quoting=after.quoting,
    )
