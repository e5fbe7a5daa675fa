"""The start of a process: checks of what the gateway is given, keys of an earlier version, and what is recorded."""

from collections.abc import Mapping, Sequence

from trunkline.core.agent import Agent
from trunkline.core.channels import ChannelAdapter
from trunkline.core.channels.capabilities import check_capabilities
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import ConfigError
from trunkline.core.events.gateway import ConfigReloaded, ProcessStarted
from trunkline.core.keys import KeyCodec, Migration, SessionKey, StoredKey, plan_migration
from trunkline.core.routing.route_rules import rule_scopes
from trunkline.core.runtime.context import Context
from trunkline.core.sessions.entries import migration_events, todays_key
from trunkline.core.store.commands import MigrateKeys


def check_agents(config: GatewayConfig, agents: Mapping[str, Agent]) -> None:
    """Raise `ConfigError` for a configured agent without an implementation."""
    missing = [agent.id for agent in config.agents if agent.id not in agents]
    if missing:
        raise ConfigError(f"no agent is installed for: {', '.join(missing)}")


def check_adapters(adapters: Sequence[ChannelAdapter]) -> None:
    """Raise `ConfigError` for two adapters of one account, and for contradictory capabilities."""
    if len({(adapter.channel, adapter.account) for adapter in adapters}) != len(adapters):
        raise ConfigError("two adapters serve the same channel and account")
    for adapter in adapters:
        check_adapter(adapter)


def check_adapter(adapter: ChannelAdapter) -> None:
    """Raise `ConfigError` for an adapter whose capabilities contradict each other."""
    wrong = check_capabilities(adapter.capabilities)
    if wrong:
        raise ConfigError(f"the adapter of {adapter.channel}:{adapter.account}: {'; '.join(wrong)}")


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


async def migrate_keys(ctx: Context, started: int) -> None:
    """Move sessions that an earlier version stored under another form of their key (invariant S1)."""
    codec = ctx.config.rules[KeyCodec]
    if not codec.migrates:
        return
    accounts = ctx.default_accounts

    def today(key: SessionKey) -> SessionKey:
        return todays_key(key, ctx.config, accounts)

    def plan(rows: Sequence[StoredKey]) -> Migration:
        return plan_migration(rows, today)

    def story(migration: Migration | None) -> None:
        for body in () if migration is None else migration_events(migration):
            ctx.events.record(body, started)

    await ctx.store.write(MigrateKeys(codec=codec.name, plan=plan, now=ctx.env.now()), story)
