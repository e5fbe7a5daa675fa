"""A platform that carries out actions, and a gateway whose changes a test asks for itself."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from tests.support.factories import work
from tests.support.sending import Tried, message
from tests.support.small_gateway import ANA, Clerk, Echo, Running
from trunkline import (
    Address,
    Decisions,
    EventLog,
    Gateway,
    GatewayConfig,
    Hooks,
    Idempotency,
    Receipt,
    SqliteStore,
    connect_file,
    system_env,
)
from trunkline.core.action_catalogue import Action, ActionKind
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.outbound.changes import ChangeDraft, Changes
from trunkline.core.values import IntentId, SendRequest

#: every change
CHANGES = frozenset(action for action in Action if action.spec.kind is ActionKind.CHANGE)


class Acting(Tried):
    """A platform with messages that can be changed. `seen`: what people see, by place and message id."""

    def __init__(self, channel: str = "discord", *, actions: frozenset[Action] = CHANGES, **can: Any) -> None:
        super().__init__(channel, **{"actions": actions, "in_flight_seconds": 0.05, **can})
        self.seen: dict[tuple[str, str], str] = {}
        self.reactions: dict[tuple[str, str], set[str]] = {}
        #: every request that arrived, also those that fail
        self.asked: list[ActionRequest] = []
        self.carried_out: list[ActionRequest] = []
        #: errors of the next requests; `lost`: errors after the request was carried out
        self.refusals: list[Exception] = []
        self.lost: list[Exception] = []
        self.act_held = anyio.Event()
        self.act_held.set()
        self.act_arrived = anyio.Event()

    async def send(self, request: SendRequest) -> Receipt:
        receipt = await super().send(request)
        self.seen[str(request.address), receipt.provider_id] = request.text
        return receipt

    async def act(self, request: ActionRequest) -> Receipt:
        self.asked.append(request)
        self.act_arrived.set()
        await self.act_held.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        self.carried_out.append(request)
        where = (str(request.address), request.message_id or "")
        match request.action:
            case Action.EDIT:
                self.seen[where] = request.text
            case Action.DELETE | Action.UNSEND:
                self.seen.pop(where, None)
            case Action.REACT:
                self.reactions.setdefault(where, set()).add(request.text)
            case _:
                pass
        if self.lost:
            raise self.lost.pop(0)
        return Receipt(provider_id=request.message_id or "new", address=request.address)


class ChangingGateway(Gateway):
    """A gateway that takes changes from a test."""

    async def changes(self) -> Changes:
        await self._ctx.until_up()
        return Changes(self._ctx, self._preparer)


class Changing(Running):
    """A gateway that serves, and takes changes from a test."""

    def __init__(self, store: SqliteStore, log: EventLog, gateway: ChangingGateway) -> None:
        super().__init__(store, log, gateway)
        self._changing = gateway
        self._count = 0

    async def change(
        self,
        action: Action,
        of: str | None = None,
        text: str = "",
        *,
        place: Address = ANA,
        turn: str = "",
        **more: Any,
    ) -> IntentRow:
        """Store a change, as a turn that works at `place` does. `turn`: its inbound."""
        self._count += 1
        job = work(turn or f"m{self._count}", place=place, reply_to=place)
        draft = ChangeDraft(action=action, place=place, message=of, text=text, **more)
        changes = await self._changing.changes()
        row = await changes.prepare(job, IntentId(f"c{self._count}"), draft, None)
        await changes.enqueue(job, row, 0, targeted=False, reason=Reason.REPLY_TO_ORIGIN)
        return row

    async def send(self, text: str = "hi", key: str = "k", **fields: Any) -> str:
        """Send a message; returns its intent."""
        await self.gateway.send(message(ANA, text, key, **fields))
        return f"send:{key}"

    async def enqueue(self, text: str = "hi", key: str = "k", **fields: Any) -> str:
        """Queue a message without waiting for its delivery; returns its intent."""
        await self.gateway.enqueue(message(ANA, text, key, **fields))
        return f"send:{key}"


@asynccontextmanager
async def changing(
    path: Path, *platforms: Tried, decisions: Decisions | None = None, hooks: Hooks | None = None, **config: Any
) -> AsyncGenerator[Changing, None]:
    """A gateway on a store file, until the block ends. Called again with the same file: a restart."""
    env = system_env()
    log = EventLog(env.now)
    store = SqliteStore(lambda: connect_file(path, durability="normal"), log.recorder("gateway"))
    settings = GatewayConfig.model_validate(config)
    gateway = ChangingGateway(
        config=settings,
        store=store,
        adapters=platforms,
        agents=dict.fromkeys([one.id for one in settings.agents], Echo()),
        hands=Clerk(),
        env=env,
        events=log.recorder("gateway"),
        decisions=decisions,
        hooks=hooks,
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(gateway.run)
        yield Changing(store, log, gateway)
        tasks.cancel_scope.cancel()


def acting(**can: Any) -> Acting:
    """A platform with idempotency keys for its messages."""
    return Acting(**{"idempotency": Idempotency.KEY, **can})
