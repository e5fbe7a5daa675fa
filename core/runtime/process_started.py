"""What a process records when it starts."""

from __future__ import annotations

from trunkline.core.config import GatewayConfig
from trunkline.core.events.gateway import ProcessStarted
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
