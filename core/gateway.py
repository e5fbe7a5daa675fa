"""The gateway: one process of the effectful shell. Give it ports, run it, and it serves until it is cancelled.

    gateway = Gateway(config=..., store=..., adapters=[...], agents={"main": MyAgent()}, hands=..., env=..., events=...)
    await gateway.run()

Inbound -> duplicate? -> route -> session -> turn (one at a time per session) -> agent -> intent -> prepared -> queue ->
adapter -> receipt + mirror + ack in one transaction. What an earlier process left open is recovered first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio

from core.agent import Agent
from core.channels import ChannelAdapter
from core.config import GatewayConfig
from core.decisions import Decisions
from core.env import Env
from core.errors import ConfigError
from core.events import EventSink
from core.events.bodies import ProcessRecovered, ProcessStarted
from core.hands.port import HandRunner
from core.shell.context import Context
from core.shell.delivery import Delivery
from core.shell.hands import Hands
from core.shell.intake import Intake
from core.shell.turns import Turns
from core.store.port import Store


class Gateway:
    """One gateway process.

    Raises `ConfigError` for agents or adapters that do not fit the configuration.
    """

    def __init__(
        self,
        *,
        config: GatewayConfig,
        store: Store,
        adapters: Sequence[ChannelAdapter],
        agents: Mapping[str, Agent],
        hands: HandRunner,
        env: Env,
        events: EventSink,
        decisions: Decisions | None = None,
    ) -> None:
        by_account = {(adapter.channel, adapter.account): adapter for adapter in adapters}
        if len(by_account) != len(adapters):
            raise ConfigError("two adapters serve the same channel and account")
        missing = [agent.id for agent in config.agents if agent.id not in agents]
        if missing:
            raise ConfigError(f"no agent is installed for: {', '.join(missing)}")
        self._ctx = Context(
            config=config,
            store=store,
            adapters=by_account,
            agents=agents,
            hands=hands,
            env=env,
            events=events,
            decisions=decisions or Decisions(),
        )
        self._delivery = Delivery(self._ctx)
        self._hands = Hands(self._ctx, deliver=self._delivery.queue)
        self._turns = Turns(self._ctx, deliver=self._delivery.queue, delegate=self._hands.delegate)
        self._hands.tell(start_turn=self._turns.start, busy=self._turns.lanes.busy)
        self._intake = Intake(self._ctx, self._turns.start)

    async def run(self) -> None:
        """Serve until cancelled: recover what is open, then take what comes."""
        ctx = self._ctx
        started = ctx.events.record(ProcessStarted(dm_scope=ctx.config.session.dm_scope.value))
        await ctx.store.open()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(ctx.store.run, name="store writer")
                self._hands.start(group)
                await self._recover(started)
                self._delivery.lanes.start(group)
                self._turns.lanes.start(group)
                self._intake.lanes.start(group)
                for (channel, account), adapter in sorted(ctx.adapters.items()):
                    group.start_soon(self._intake.listen, adapter, name=f"listen {channel}:{account}")
        finally:
            with anyio.CancelScope(shield=True):
                await ctx.store.close()

    async def wake(self, agent: str, text: str, cause: int | None = None) -> None:
        """Start a turn that no peer asked for; see `Intake.wake`."""
        await self._intake.wake(agent, text, cause)

    async def _recover(self, started: int) -> None:
        """Queue what an earlier process left open, in its old order."""
        ctx = self._ctx
        left = await ctx.store.unfinished()
        if not (left.works or left.intents or left.delegations):
            return
        seq = ctx.events.record(
            ProcessRecovered(inbounds=len(left.works), intents=len(left.intents), delegations=len(left.delegations)),
            started,
        )
        heads: set[tuple[str, str, str, str]] = set()
        for row in left.intents:
            await self._delivery.recover(row, seq, head=row.address.lane not in heads)
            heads.add(row.address.lane)
        for work, session in left.works:
            self._turns.start(work, session, seq)
        for delegation in left.delegations:
            self._hands.recover(delegation, seq)
