"""Brings the session keys of an earlier version into the form of this one, at the start."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.core.keys import KeyCodec, Migration, SessionKey, StoredKey, plan_migration
from trunkline.core.runtime.context import Context
from trunkline.core.sessions.entries import migration_events, todays_key
from trunkline.core.store.commands import MigrateKeys


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
