"""A real gateway in virtual time on a disk that outlives it; a test plays everybody around it.

def test_something():
    async def play(stage: Stage) -> None:
        await stage.start()
        stage.say(ANA, "clean my inbox")
        await anyio.sleep(60)
        assert stage.texts(ANA) == ["on it", "clerk: 12 archived"]

    staged(play, agents={"main": turn}, hands={"clerk": run})
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import anyio

from tests.support.hands.account import Account, AccountAdapter, Seen
from trunkline.core.agent import Turn
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.delivery.hooks import Hooks
from trunkline.core.events import Body, EventLog
from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import HandTask
from trunkline.core.store.delegations import DelegationFilter, ListDelegations, ShowDelegation
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import Address, Capabilities, ChatKind, Envelope, Idempotency, Peer
from trunkline.sim.loop import Node, SimLoop
from trunkline.sim.loop import run as run_loop
from trunkline.sim.run.env import SimIds, sim_env
from trunkline.sim.store.disk import Disk

AgentTurn = Callable[[Turn], Awaitable[str | None]]
HandRun = Callable[[HandTask], Awaitable[Any]]
#: settings of every test that matter for how long it plays
USUAL: Mapping[str, Any] = {"delivery": {"backoff": [1, 5], "not_ready_wait": 5}}


def place(
    conversation: str = "ana",
    *,
    channel: str = "loop",
    account: str = "default",
    kind: ChatKind = ChatKind.DIRECT,
    **more: Any,
) -> Address:
    return Address(channel=channel, account=account, kind=kind, conversation=conversation, **more)


ANA, BEN = place("ana"), place("ben")


class _Agent:
    def __init__(self, act: AgentTurn) -> None:
        self._act = act

    async def turn(self, turn: Turn) -> str | None:
        return await self._act(turn)


class _Hands:
    def __init__(self, runs: Mapping[str, HandRun]) -> None:
        self._runs = runs

    def has(self, hand: str) -> bool:
        return hand in self._runs

    async def run(self, task: HandTask) -> str:
        return await self._runs[task.hand](task)


class Stage:
    """The gateway and everything around it."""

    def __init__(
        self,
        loop: SimLoop,
        *,
        agents: Mapping[str, AgentTurn],
        hands: Mapping[str, HandRun] | None = None,
        config: Mapping[str, Any] | None = None,
        accounts: Sequence[tuple[str, str]] = (("loop", "default"),),
        idempotency: Idempotency = Idempotency.KEY,
        hooks: Hooks | None = None,
        decisions: Decisions | None = None,
        keep: bool = True,
    ) -> None:
        self.loop = loop
        self.log = EventLog(loop.time, keep=keep)
        self.disk = Disk(lambda: None, lambda _: None)
        capable = Capabilities(idempotency=idempotency, in_flight_seconds=1.0, text_limit=2000)
        self.accounts = {key: Account(*key, capable) for key in accounts}
        self.agents = dict(agents)
        self.hands = dict(hands or {})
        self.config: dict[str, Any] = {**USUAL, **(config or {})}
        self._hooks, self._decisions = hooks, decisions
        self._ids = SimIds(lambda _: None)
        self._said = 0
        self._starts = 0
        self._node: Node | None = None
        self.task: Any = None
        self._gateway: Gateway | None = None

    # ------------------------------------------------------------ the process

    @property
    def gateway(self) -> Gateway:
        assert self._gateway is not None
        return self._gateway

    def start(self) -> None:
        """Start a process on the disk."""
        self._starts += 1
        node = self._node = Node("gateway", self._starts)
        self._gateway = node.context().run(self._make, node)
        self.task = self.loop.create_task(self._gateway.run(), name=f"gateway {self._starts}", context=node.context())

    def _make(self, node: Node) -> Gateway:
        events = self.log.recorder("gateway", node.generation)
        config = GatewayConfig.model_validate(self.config)
        return Gateway(
            config=config,
            store=SqliteStore(lambda: self.disk.connect(node), events),
            adapters=[AccountAdapter(account) for account in self.accounts.values()],
            agents={name: _Agent(act) for name, act in self.agents.items()},
            hands=_Hands(self.hands),
            env=sim_env(self.loop.time, self.loop.time, self._ids, 1, {}),
            events=events,
            hooks=self._hooks,
            decisions=self._decisions,
        )

    def kill(self) -> None:
        """Kill the process: none of its callbacks runs again."""
        assert self._node is not None
        self._node.kill()
        self.disk.crash()

    def restart(self) -> None:
        self.kill()
        self.start()

    def configure(self, **sections: Any) -> None:
        """Change sections of the configuration, of the running process and of later ones."""
        self.config |= sections
        self.gateway.reload(GatewayConfig.model_validate(self.config))

    def inside(self, call: Awaitable[Any], name: str = "call") -> asyncio.Task[Any]:
        """Run something in the process, as a program around the gateway does."""
        assert self._node is not None

        async def work() -> Any:
            return await call

        return self.loop.create_task(work(), name=name, context=self._node.context())

    # ------------------------------------------------------------ people

    def say(self, where: Address, text: str, *, peer: Peer | None = None, message: str | None = None) -> str:
        """A person writes; the id of the message."""
        self._said += 1
        own = message or f"m{self._said}"
        who = peer or Peer(id=where.conversation, name=where.conversation.title())
        envelope = Envelope(address=where, peer=who, message_id=own, text=text, sent_at=self.loop.time())
        self.account(where).say(envelope)
        return own

    def account(self, where: Address) -> Account:
        return self.accounts[where.channel, where.account]

    def seen(self, where: Address | None = None) -> list[Seen]:
        """What people see at a place, or everywhere, in order."""
        every = [one for account in self.accounts.values() for one in account.seen]
        return sorted((one for one in every if where in (None, one.place)), key=lambda one: one.at)

    def texts(self, where: Address | None = None) -> list[str]:
        return [one.text for one in self.seen(where)]

    # ------------------------------------------------------------ what the store and the log say

    def events(self, *kinds: type[Body]) -> list[Any]:
        return [event for event in self.log.events if isinstance(event.body, kinds)]

    def bodies(self, *kinds: type[Body]) -> list[Any]:
        return [event.body for event in self.events(*kinds)]

    async def until(self, query: str) -> None:
        """Wait until a query finds a row on the disk."""
        with anyio.fail_after(300):
            while not self.disk.open().execute(query).fetchall():  # noqa: ASYNC110 -- a disk tells nobody
                await anyio.sleep(0.0001)

    async def rows(self, which: DelegationFilter | None = None) -> list[Any]:
        """The stored delegations, oldest first."""
        found = await self.read(ListDelegations(which=which or DelegationFilter()))
        return list(reversed(found.rows))

    async def details(self, delegation: str) -> Any:
        return await self.read(ShowDelegation(delegation=delegation))

    async def read(self, query: Any) -> Any:
        return await self.inside(self.gateway._ctx.store.read(query))

    async def write(self, command: Any) -> Any:
        """A write of the gateway's store, as an operator's process makes it."""
        return await self.inside(self.gateway._ctx.store.write(command, lambda answer: answer))


def staged(play: Callable[[Stage], Awaitable[Any]], *, seed: int = 1, **options: Any) -> Any:
    """Play on a new stage whose gateway has started. See `Stage` for the options."""

    async def main(loop: SimLoop) -> Any:
        stage = Stage(loop, **options)
        stage.start()
        try:
            return await play(stage)
        finally:
            stage.disk.discard()

    return run_loop(main, seed=seed)
