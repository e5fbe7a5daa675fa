"""The gateway: one process of the runtime. Give it ports, run it, and it serves until it is cancelled.

    gateway = Gateway(config=..., store=..., adapters=[...], agents={"main": MyAgent()}, hands=..., env=..., events=...)
    await gateway.run()

Inbound -> duplicate? -> route -> session -> turn (one at a time per session) -> agent -> intent -> prepared -> queue ->
adapter -> receipt + mirror + ack in one transaction. Unfinished work of an earlier process is recovered first.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import anyio
import anyio.abc

from trunkline.core.agent import Agent
from trunkline.core.bindings.completion_router import BoundDeliveryRouter
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.delivery.hooks import Hooks
from trunkline.core.env import Env
from trunkline.core.errors import ConfigError, InvariantBroken
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import ProcessRecovered
from trunkline.core.events.leases import AdapterInstalled
from trunkline.core.hands.port import HandRunner
from trunkline.core.keys import KeyCodec
from trunkline.core.records.delegations import HandResult
from trunkline.core.records.inbound import InboundReceipt
from trunkline.core.records.rows import Runs, SessionRow
from trunkline.core.routing.index import index_of
from trunkline.core.runtime import process_start
from trunkline.core.runtime.bindings.service import SessionBindingService
from trunkline.core.runtime.client_sends.gateway_ports import GatewaySendPorts
from trunkline.core.runtime.client_sends.sends import Sends
from trunkline.core.runtime.client_sends.target_resolution import TargetResolver
from trunkline.core.runtime.context import Context, LastActivity
from trunkline.core.runtime.delegation.client_tasks import ClientTasks
from trunkline.core.runtime.delegation.completions import CompletionReporter
from trunkline.core.runtime.delegation.delegations import DelegationRunner
from trunkline.core.runtime.delegation.hand_admin import HandAdmin
from trunkline.core.runtime.delegation.hand_tools import HandTools
from trunkline.core.runtime.delegation.known_hands import check_hands
from trunkline.core.runtime.delegation.posts import Posts
from trunkline.core.runtime.delegation.task_turns import TaskTurns
from trunkline.core.runtime.heartbeat.replies import Replies
from trunkline.core.runtime.heartbeat.scheduler import Scheduler
from trunkline.core.runtime.inbound.commands import CommandRunner
from trunkline.core.runtime.inbound.intake import Intake
from trunkline.core.runtime.inbound.listener import Listener
from trunkline.core.runtime.inbound.turns import Turns
from trunkline.core.runtime.lease_keeper import LeaseKeeper, lost_lease
from trunkline.core.runtime.live_bindings import LiveBindings
from trunkline.core.runtime.message_tool.message_tool import MessageTool
from trunkline.core.runtime.operators.maintenance import Maintenance
from trunkline.core.runtime.operators.session_admin import SessionAdmin
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.hook_runner import HookRunner
from trunkline.core.runtime.outbound.late_outcomes import LossHandler
from trunkline.core.runtime.outbound.open_intents import OpenIntents
from trunkline.core.runtime.outbound.own_notices import ChainEnd, ExpiryNotice, UnheardNotices
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.runtime.outbound.settle import Settler
from trunkline.core.runtime.suspects import Suspects
from trunkline.core.runtime.turn_queue import TurnQueue, charged_turns
from trunkline.core.sends.api import Broadcasted, SendMessage, SendOutcome, Target
from trunkline.core.store.commands import CountRuns
from trunkline.core.store.port import Store, answer
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.values import Address, Envelope, InboundId, SessionId

#: why a gateway ends after a cancellation of its task that it did not ask for
CANCELLED_FROM_OUTSIDE = "a task of the gateway was cancelled from outside, which ends the gateway"


class Gateway:
    """A gateway process.

    Raises `ConfigError` if agents or adapters do not match the configuration.
    """

    #: the types of three parts; the simulator's bug switches replace them in a subclass
    bindings_type: ClassVar[type[LiveBindings]] = LiveBindings
    intents_type: ClassVar[type[OpenIntents]] = OpenIntents
    delivery_type: ClassVar[type[Delivery]] = Delivery

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
        hooks: Hooks | None = None,
    ) -> None:
        process_start.check_adapters(adapters)
        process_start.check_agents(config, agents)
        index_of(config)
        self._decisions = decisions or Decisions()
        ctx = self._ctx = Context(
            config=config,
            store=store,
            adapters={(adapter.channel, adapter.account): adapter for adapter in adapters},
            agents=agents,
            hands=hands,
            env=env,
            events=events,
            decisions=self._decisions.over(config.rules[Decisions]),
            lease=LeaseKeeper(config, store, env, events),
            bindings=self.bindings_type(store, env, events),
        )
        self._group: anyio.abc.TaskGroup | None = None
        self._suspects, self._posts, targets = Suspects(), Posts(ctx), TargetResolver(ctx)
        self._turn_queue = turns = TurnQueue(ctx)
        self._hooks = HookRunner(ctx, hooks or Hooks())
        self._intents = intents = self.intents_type(ctx, self._hooks)
        self._preparer = preparer = Preparer(ctx, intents)
        self._unheard = UnheardNotices(ctx, preparer)
        settler = Settler(ctx, preparer, intents, turns.enqueue, self._unheard.note)
        self._delivery = self.delivery_type(ctx, intents=intents, settler=settler, hooks=self._hooks)
        self._expiry_notice = ExpiryNotice(ctx, preparer)
        #: which conversations are bound to which sessions
        self.bindings = SessionBindingService(ctx, self._expiry_notice.post)
        self._sends = Sends(GatewaySendPorts(ctx, intents, targets, preparer), events, ctx.up)
        reporter = CompletionReporter(ctx, preparer, self.bindings, turns)
        self._delegations = runner = DelegationRunner(
            ctx, reporter=reporter, suspects=self._suspects, posts=self._posts, turns=turns
        )
        chain_end = ChainEnd(ctx, preparer)
        self._turns = Turns(
            ctx,
            queue=turns,
            hands=HandTools(ctx, runner, self.bindings, targets, chain_end),
            tasks=TaskTurns(ctx, runner),
            control=CommandRunner(ctx, self.bindings, runner).run,
            message_tool=MessageTool(ctx, targets, preparer),
            preparer=preparer,
            unheard=self._unheard,
            suspects=self._suspects,
            replies=Replies(ctx, preparer),
        )
        self._scheduler = Scheduler(ctx, targets, turns)
        self._intake = Intake(ctx, turns, chain_end)
        self._listener = Listener(
            ctx,
            self._intake.take_envelope,
            self._delivery.check_account,
            self._delivery.wake_reopened,
            LossHandler(ctx, intents, settler.lines).take,
        )
        self._open_to_operators(settler, targets)

    def _open_to_operators(self, settler: Settler, targets: TargetResolver) -> None:
        ctx, runner = self._ctx, self._delegations
        #: the queue administration of operators
        self.queue = Maintenance(ctx, self._intents, settler.lines, self._posts)
        #: delegations, for workers and operators
        self.hands = HandAdmin(
            ctx,
            runner,
            start_turn=self._turn_queue.enqueue,
            reopened=self.queue.act,
            discarded=self._delivery.discard_report,
        )
        self._posts.connect(self.hands.apply)
        #: gives a task to a hand outside of any turn; see `ClientTasks.delegate`
        self.delegate = ClientTasks(ctx, runner, targets).delegate
        #: sessions, for operators
        self.sessions = SessionAdmin(ctx, self._sends.forget_places)

    async def run(self) -> None:
        """Serve until cancelled: recover unfinished work, then accept new work.

        While another process holds the store, this one waits, and takes over when that process stops, dies, or fails to
        renew its lease. Raises `LeaseLost` when another process has taken over from this one, and `ConfigError` if two
        hands have the same name.
        """
        try:
            await self._serve()
        except ExceptionGroup as group:
            lost = lost_lease(group)
            if lost is None:
                raise
            raise lost from None
        finally:
            self._refuse_callers()

    def _refuse_callers(self) -> None:
        self._sends.stop()
        self._intake.stop()

    async def _serve(self) -> None:
        ctx = self._ctx
        check_hands(ctx.config, ctx.agents, ctx.hands)
        started = ctx.events.record(process_start.process_started(ctx.config))
        await ctx.store.open()
        try:
            async with anyio.create_task_group() as group:
                ctx.group = group
                group.start_soon(ctx.store.run, name="store writer")
                await ctx.lease.claim(started)
                group.start_soon(ctx.lease.keep, name="lease")
                self._suspects.start(group, self._listener.connected)
                await process_start.migrate_keys(self._ctx, started)
                self._hooks.start(group)
                await self.bindings.load(started)
                self.bindings.up.set()
                await self._recover(started, group)
                self.bindings.settle(started)
                self._turns.start(group)
                self._intake.start(group)
                ctx.up.set()
                self._group = group
                group.start_soon(self.queue.run, name="upkeep")
                group.start_soon(ctx.store.listen, self.queue.look, name="notifications")
                group.start_soon(self._posts.watch, self._delegations.open.wait_for_worker, name="answers of workers")
                self._expiry_notice.start(group)
                group.start_soon(self.bindings.run, name="bindings")
                group.start_soon(self._scheduler.run, started, name="schedule")
                group.start_soon(self._delegations.endings.clock.run, name="deadlines of hands")
                for (channel, account), adapter in sorted(ctx.adapters.items()):
                    group.start_soon(self._listener.listen, adapter, name=f"listen {channel}:{account}")
            # The tasks of the group run until they are cancelled, and a cancelled `run` does not come here.
            raise InvariantBroken(CANCELLED_FROM_OUTSIDE)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await ctx.store.forget_begun()
            raise
        finally:
            self._group = None
            # Before the store closes, which takes a moment: who waits can no longer be served.
            self._refuse_callers()
            with anyio.CancelScope(shield=True):
                await ctx.store.close()

    @property
    def config(self) -> GatewayConfig:
        """Today's configuration; `reload` replaces it."""
        return self._ctx.config

    @property
    def serving(self) -> bool:
        """Whether the gateway holds its store, has queued the unfinished work in it, and takes new work."""
        return self._ctx.up.is_set()

    @property
    def load(self) -> tuple[int, int]:
        """Number of open intents, and of open delegations."""
        return self._intents.count, len(self._delegations.open)

    async def wake(self, agent: str, text: str, cause: int | None = None, *, key: str | None = None) -> InboundReceipt:
        """Start a turn without an inbound message, once per key; see `Intake.wake`."""
        await self._ctx.until_up()
        return await self._intake.wake(agent, text, cause, key=key)

    async def wake_heartbeat(self, agent: str, reason: str = "manual") -> None:
        """Ask for a heartbeat of an agent; see `core.runtime.heartbeat.scheduler.Scheduler.wake`."""
        await self._ctx.until_up()
        self._scheduler.wake(agent, reason)

    async def system_event(self, agent: str, text: str, source: str = "", *, wake: bool = True) -> None:
        """Store something that an agent's heartbeat is to deal with; see `Scheduler.system_event`."""
        await self._ctx.until_up()
        await self._scheduler.system_event(agent, text, source, wake=wake)

    async def receive(self, envelope: Envelope, inbound: InboundId | None = None) -> InboundReceipt:
        """Take a message that a program received for one of the accounts; it is durable when this returns.

        It goes the way of the messages of adapters. `inbound`: the id that it gets, if it is not a duplicate. Raises
        `UnknownName` for an account without an adapter, and `StoreError` if the gateway ends first, or `refuse_waiting`
        is called: repeat it then with the same message id.
        """
        await self._ctx.until_up()
        return await self._intake.receive(envelope, inbound)

    def refuse_waiting(self, why: str) -> None:
        """Let running `receive` calls raise `StoreError`, as where the store refuses every write for longer."""
        self._intake.refuse_waiting(why)

    @property
    def adapters(self) -> Mapping[tuple[str, str], ChannelAdapter]:
        """The adapters by channel and account."""
        return self._ctx.adapters

    async def send(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Send on behalf of a client, once per key; see `core.runtime.client_sends.sends.Sends.send`."""
        return await self._sends.send(message, cause)

    async def enqueue(self, message: SendMessage, cause: int | None = None) -> SendOutcome:
        """Queue a message durably, once per key, without waiting for its delivery; see `Sends.enqueue`."""
        return await self._sends.enqueue(message, cause)

    async def broadcast(
        self, message: SendMessage, targets: Sequence[Target], cause: int | None = None
    ) -> tuple[Broadcasted, ...]:
        """Send to several targets, each as an independent intent with its own key.

        Raises `InvalidSend` for no targets or a duplicate one; the failure of a target is in its result.
        """
        return await self._sends.broadcast(message, targets, cause)

    async def inject_callback(
        self, delegation: str, outcome: HandResult, *, ticket: str | None = None, by: str = "", cause: int | None = None
    ) -> bool:
        """End a worker's delegation with its result, which is then reported. False if it had ended before.

        `ticket`: that of the task, of an answer from outside. Raises `AnswerRefused` for one that fits no delegation.
        """
        return await self.hands.answer(delegation, outcome, ticket=ticket, by=by, cause=cause)

    def install(self, adapter: ChannelAdapter, cause: int | None = None) -> None:
        """Add an adapter while running; messages that waited for it are sent.

        Raises `ConfigError` if the account already has an adapter, or its capabilities are inconsistent.
        """
        process_start.check_adapter(adapter)
        ctx, where = self._ctx, (adapter.channel, adapter.account)
        if where in ctx.adapters:
            raise ConfigError(f"{adapter.channel}:{adapter.account} has an adapter already")
        ctx.adapters = {**ctx.adapters, where: adapter}
        ctx.events.record(AdapterInstalled(channel=adapter.channel, account=adapter.account), cause)
        self._delivery.wake_account(*where)
        if self._group is not None:
            name = f"listen {adapter.channel}:{adapter.account}"
            self._group.start_soon(self._listener.listen, adapter, name=name)

    def reload(self, config: GatewayConfig, cause: int | None = None) -> int:
        """Replace the configuration; return its revision. It applies from the next inbound; turns keep their route.

        Adapters, agents and the number of workers do not change. Raises `ConfigError`; then nothing is changed.
        """
        ctx = self._ctx
        process_start.check_agents(config, ctx.agents)
        check_hands(config, ctx.agents, ctx.hands)
        if config.rules[KeyCodec].name != ctx.config.rules[KeyCodec].name:
            raise ConfigError("the form of session keys cannot change while the gateway runs: restart it")
        before, ctx.config = ctx.config, config.numbered(ctx.config.revision + 1)
        ctx.decisions = self._decisions.over(config.rules[Decisions])
        # Build the index now, so that the next message does not have to wait for it.
        index_of(ctx.config)
        ctx.events.record(process_start.config_reloaded(before, ctx.config), cause)
        self._scheduler.replan()
        self._delegations.endings.slots.fill()
        return ctx.config.revision

    def activity(self, channel: str, account: str) -> LastActivity:
        """The times of the last inbound and outbound message of an account, under any identity."""
        ctx, key = self._ctx, (channel, account)
        return LastActivity(inbound_at=ctx.inbound_at.get(key), outbound_at=ctx.outbound_at.get(key))

    def router(self) -> BoundDeliveryRouter:
        """The bound-delivery router over the bindings of this gateway."""
        ctx = self._ctx
        return BoundDeliveryRouter(self.bindings.list_by_session, ctx.decisions.resolve_destination, ctx.env.now)

    async def reset_session(self, agent: str, place: Address, cause: int | None = None) -> SessionRow | None:
        """Start a new session for a place; None if it has no session yet. Turns in the old session end there."""
        return await self.sessions.reset_place(agent, place, cause)

    async def _recover(self, started: int, group: anyio.abc.TaskGroup) -> None:
        """Queue the unfinished work of an earlier process, in its order; sending starts before all of it is read."""
        ctx = self._ctx
        await self.queue.begin()
        left = await ctx.store.read(LoadUnfinished())
        seq = started
        if left.works or left.intents or left.delegations:
            body = ProcessRecovered(inbounds=len(left.works), intents=left.intents, delegations=len(left.delegations))
            seq = ctx.events.record(body, started)
        if left.broken_works or left.broken_delegations:
            await self.queue.set_aside(left, seq)
        for notice, place in left.unheard:
            self._unheard.note(notice, place)
        # Before anything is sent: intents that end from now on notify their hooks themselves.
        await self._delivery.finish_interrupted(seq)
        if left.intents:
            begin = anyio.Event()
            group.start_soon(self._begin, begin, group, name="begin")
            await self._delivery.recover(seq, begin, self._turns.answers.note_left)
        else:
            self._delivery.start(group)
        runs = left.runs
        if any(known.begun for known in runs.values()):
            charged = charged_turns(left, ctx.config.turns.max_attempts)
            await ctx.store.write(CountRuns(charged=charged), answer)
            runs = {name: known.after_death(charged=name in charged) for name, known in runs.items()}
        self._delegations.adopt(left.delegations, left.works, seq)
        heads: set[SessionId] = set()
        for work, session in left.works:
            if session in heads:
                # A session runs one turn at a time, so no process can have begun this one.
                self._turn_queue.enqueue(work, session, seq)
            else:
                heads.add(session)
                self._turn_queue.enqueue(work, session, seq, runs.get(work.id, Runs()))
        # Before deadlines are judged: an answer that is there came in time.
        await self._posts.take_all(seq)
        for delegation in left.delegations:
            self._delegations.recover(delegation, runs.get(delegation.id, Runs()).ended, seq)

    async def _begin(self, begin: anyio.Event, group: anyio.abc.TaskGroup) -> None:
        await begin.wait()
        self._delivery.start(group)
