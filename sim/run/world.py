"""The world of one run: platforms, people, faults, and the disk, around the gateway processes.

Everything here is outside all processes. One log records all events; random draws are keyed by content.
"""

import asyncio
import contextvars
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from trunkline.core.config import GatewayConfig
from trunkline.core.config.gateway import heartbeat_agents
from trunkline.core.declared import filled
from trunkline.core.errors import UnknownName
from trunkline.core.events import Body, Event, EventLog, delivery, gateway, hands
from trunkline.core.heartbeat.settings import heartbeat_of, zones_of
from trunkline.core.heartbeat.visibility import resolve_visibility
from trunkline.core.profile_rules import Profile
from trunkline.core.states.delegation import CallbackState
from trunkline.core.values import Address, Capability, ChatKind, IntentState, Peer
from trunkline.sim.cast.cast_world import KnownDelegations, NamedMessages
from trunkline.sim.cast.names import display_names
from trunkline.sim.cast.own_words import OwnWords
from trunkline.sim.events import processes, script, world
from trunkline.sim.events.hands import WorkerAnswered
from trunkline.sim.loop import SimLoop
from trunkline.sim.platforms import FakePlatform, Room
from trunkline.sim.plugins.guards import guarded_strike
from trunkline.sim.plugins.plugin import Strike
from trunkline.sim.plugins.toolbox import toolbox_of
from trunkline.sim.run.env import SimIds
from trunkline.sim.run.fault_board import FaultBoard, WorldFaults, where
from trunkline.sim.run.reached import ReachedParts
from trunkline.sim.scenario import PlaceRef, ScenarioFile
from trunkline.sim.scenario.names import PluginError, plugin_of
from trunkline.sim.store.disk import Disk
from trunkline.sim.store.preloaded import write_stored
from trunkline.sim.store.server import StoreServer
from trunkline.sim.store.store_reuse import ReusableStore

# Tracks open work from the events, to decide when a run is at rest.

#: seconds by which the end of what has become too old may be late
_SLACK = 5.0
#: seconds after which a refused write is surely tried again
_RETRIED = 6.0
_HOOKS, _MIRROR, _ANSWER = "hooks of", "mirror of", "an answer to"
#: final states of an intent that leave something in a transcript
_MIRRORED = (IntentState.DELIVERED, IntentState.PARTIAL, IntentState.MISPLACED)


class Quiescence:
    """Open work: admitted messages without an ended turn, intents without a final state, hands without a result.

    Also work that follows an ending: notifying hooks, mirroring transcript lines that were refused, and answers of
    workers that no gateway has looked at.
    """

    def __init__(self) -> None:
        #: open work -> the process that recorded it
        self._open: dict[tuple[str, str], int] = {}
        #: intents that wait for a time that the gateway has announced -> that time; and when each began
        self._until: dict[str, float] = {}
        self._begun: dict[str, float] = {}
        #: delegation -> when it times out, and how long one run of it may take
        self._deadlines: dict[str, tuple[float, float]] = {}
        #: delegations whose report is parked
        self._parked: dict[str, None] = {}
        #: the longest age of an intent that was configured
        self._max_age = 0.0
        #: called whenever the run may have come to rest
        self.on_look: Callable[[], None] | None = None
        #: intents whose hooks were notified; they are notified once
        self._notified: set[str | None] = set()
        self._begins: dict[type[Body], str] = {
            gateway.InboundAdmitted: "inbound",
            delivery.IntentPrepared: "intent",
            delivery.IntentReopened: "intent",
            hands.DelegationAccepted: "delegation",
        }
        self._ends: dict[type[Body], str] = {
            gateway.TurnEnded: "inbound",
            delivery.IntentSettled: "intent",
            hands.DelegationFinished: "delegation",
        }

    @property
    def open(self) -> tuple[str, ...]:
        """Names of open work, e.g. ``intent t-m1.reply``."""
        return tuple(f"{kind} {name}" for kind, name in self._open)

    @property
    def empty(self) -> bool:
        return not self._open

    @property
    def announced(self) -> float:
        """The latest time that open work rightly waits for: none waits for longer than it may live."""
        latest = 0.0
        for intent, at in self._until.items():
            if ("intent", intent) in self._open and at <= self._begun.get(intent, 0.0) + self._max_age + _SLACK:
                latest = max(latest, at)
        for delegation, (at, _) in self._deadlines.items():
            if ("delegation", delegation) in self._open:
                latest = max(latest, at + _SLACK)
        return latest

    @property
    def waiting(self) -> tuple[str, ...]:
        """Names of what rests until a person or an operator does something, e.g. ``report of m1.hand1``."""
        return tuple(f"report of {name}" for name in self._parked)

    def watch(self, log: EventLog) -> None:
        log.subscribe(self.see, *self._begins, *self._ends)
        log.subscribe(self._open_hook, delivery.HookSending)
        log.subscribe(self._close_hook, delivery.HookSent)
        log.subscribe(self._mirror_refused, delivery.MirrorRefused)
        log.subscribe(lambda event: self._close(_MIRROR, event.intent), delivery.MirrorAppended)
        log.subscribe(self._process_gone, processes.ProcessCrashed, processes.ProcessStopped)
        log.subscribe(self._note_limits, world.WorldLimits)
        log.subscribe(self._note_deadline, hands.DelegationAccepted, hands.DelegationStarted)
        log.subscribe(self._note_report, hands.CallbackChanged)
        log.subscribe(self._waits, delivery.AttemptEnded, delivery.RecoveryDecided, delivery.LaneWaiting)
        log.subscribe(self._note_answer, WorkerAnswered)
        log.subscribe(
            lambda event: self._close(_ANSWER, event.delegation),
            *(hands.DelegationFinished, hands.DelegationIgnored, hands.AnswerTurnedAway),
        )

    def see(self, event: Event) -> None:
        kind = type(event.body)
        begun = self._begins.get(kind)
        if begun is not None:
            self._open[begun, getattr(event, begun)] = event.generation
            if begun == "intent":
                self._begun[event.intent or ""] = event.at
            return
        ended = self._ends.get(kind)
        if ended is not None:
            self._open.pop((ended, getattr(event, ended)), None)
            if isinstance(event.body, delivery.IntentSettled) and event.body.state not in _MIRRORED:
                self._close(_MIRROR, event.intent)
            self.look()

    def _note_deadline(self, event: Event) -> None:
        """A delegation has until its deadline, which a restart may move by the time of a run."""
        name, body = event.delegation or "", event.body
        if isinstance(body, hands.DelegationAccepted) and body.deadline is not None:
            self._deadlines[name] = body.deadline, body.deadline - event.at
        elif isinstance(body, hands.DelegationStarted) and not body.worker and name in self._deadlines:
            at, run = self._deadlines[name]
            self._deadlines[name] = max(at, event.at + run), run

    def _note_report(self, event: Event) -> None:
        assert isinstance(event.body, hands.CallbackChanged)
        if event.body.state is CallbackState.PARKED:
            self._parked[event.delegation or ""] = None
        elif self._parked:
            self._parked.pop(event.delegation or "", None)

    def _note_limits(self, event: Event) -> None:
        assert isinstance(event.body, world.WorldLimits)
        self._max_age = max(self._max_age, event.body.max_age)

    def _waits(self, event: Event) -> None:
        at = getattr(event.body, "retry_at", getattr(event.body, "at", getattr(event.body, "until", None)))
        if at is not None:
            self._until[event.intent or ""] = at
        elif self._until:
            self._until.pop(event.intent or "", None)

    def _open_hook(self, event: Event) -> None:
        if event.intent not in self._notified:
            self._open[_HOOKS, event.intent or ""] = event.generation

    def _close_hook(self, event: Event) -> None:
        self._notified.add(event.intent)
        self._close(_HOOKS, event.intent)

    def _mirror_refused(self, event: Event) -> None:
        self._open[_MIRROR, event.intent or ""] = event.generation

    def _note_answer(self, event: Event) -> None:
        """A worker left an answer on the store, also one that comes too late: a gateway has to look at it."""
        if isinstance(event.body, WorkerAnswered) and event.body.accepted:
            self._open[_ANSWER, event.delegation or ""] = event.generation

    def _close(self, what: str, of: str | None) -> None:
        if (what, of or "") in self._open:
            del self._open[what, of or ""]
            self.look()

    def _process_gone(self, event: Event) -> None:
        """Close intents that only the hooks of the process saw: nothing was stored, so no hook will be notified."""
        gone = event.generation
        for key in [key for key, process in self._open.items() if key[0] == _HOOKS and process == gone]:
            del self._open[key]

    def look(self) -> None:
        """Report that the run may have come to rest."""
        if self.on_look is not None:
            self.on_look()


class World(WorldFaults):
    """The world of one run. Implements `trunkline.sim.platforms.rooms.WorldPort`."""

    def __init__(
        self, file: ScenarioFile, loop: SimLoop, *, seed: int, bugs: tuple[str, ...], spare: ReusableStore | None = None
    ) -> None:
        self.file = file
        self.scenario = file.scenario
        self.seed = seed
        #: what the names of the scenario stand for, and the errors of plug-ins, which make the run meaningless
        self.tools = toolbox_of(file)
        self.plugin_errors: list[PluginError] = []
        self.bugs = {bug: self.tools.find("a bug switch", bug, self.tools.bugs) for bug in bugs}
        #: see `trunkline.sim.platforms.rooms.WorldPort`
        self.wire_side = False
        self.ids_from = 0
        self.loop = loop
        #: the run is not at rest before
        self.held_until = 0.0
        #: seconds by which the wall clock of the gateway's machine was set
        self.clock_set_by = 0.0
        self._context = contextvars.copy_context()
        self.log = EventLog(loop.time)
        self.events = self.log.recorder("sim")
        self.progress = Quiescence()
        self.progress.watch(self.log)
        self.reached = ReachedParts(file)
        self.faults = FaultBoard(self.is_at, self._account_of, self.now, self.reached, self._plugin_fault)
        #: finds the words that only a hand says
        self.words = OwnWords(file.scenario)
        self.message_names: dict[tuple[str, ...], str] = {}
        #: name of a message -> where it was said, and the platform's id
        self._said: dict[str, tuple[Address, str]] = {}
        #: the messages that agents may name
        self.messages = NamedMessages(self._said.get, self.note_change)
        #: what agents have delegated, by their labels
        self.delegations = KnownDelegations(self.note_change)
        self.ids = SimIds(lambda parts: self.message_names.get((parts[0], *parts[2:])))
        self.log.subscribe(self._session_known, gateway.SessionCreated, gateway.SessionReset)
        faults = [step.fault for step in file.scenario.script if step.fault is not None]
        served = file.scenario.world.store == "server"
        kind = partial(StoreServer, strike=self._server_fault, now=self.now) if served else Disk
        self.disk = kind(
            self._fail_commit,
            self._notify_commit,
            looks=any(fault.carries for fault in faults),
            unmirrored=self._mirror_fault if any(fault.on == "mirror" for fault in faults) else None,
            spare=spare,
        )
        self._places: dict[str, PlaceRef] = {}
        self._numbers: dict[str, dict[str, int]] = {}
        self._peers: dict[tuple[str, str], Peer] = {}
        self._people: dict[tuple[str, str], str] = {}
        self.platforms: dict[str, FakePlatform] = {}
        self.on_commit: Callable[[int], None] | None = None
        #: seconds from the start of an attempt until its request has left the process; in memory it leaves at once
        self.departure = 0.0
        self._moves = 0
        self._step_watchers: list[Callable[[int], bool]] = []

    def now(self) -> float:
        """Virtual seconds since the start."""
        return self.loop.time()

    def id_time(self) -> float:
        return self.loop.time() + self.ids_from

    def wall_clock(self) -> float:
        """The wall clock of the gateway's machine. It shows `now` until the script sets it."""
        return self.loop.time() + self.clock_set_by

    def call_at(self, when: float, call: Callable[..., object], *args: object) -> None:
        """Schedule a callback of the world, independent of any process."""
        self._moves += 1
        self.loop.call_at(when, call, *args, context=self._context)

    def draw(self, *what: object) -> float:
        """A number in [0, 1) that depends only on the seed and its purpose."""
        text = f"{self.seed}/{'/'.join(map(str, what))}".encode()
        return (zlib.crc32(text) ^ (zlib.crc32(text[::-1]) << 7) & 0xFFFFFFFF) / 2**32

    def future(self) -> asyncio.Future[Any]:
        return self.loop.create_future()

    def poke(self) -> None:
        """Check for rest after a change that records no event."""
        self.progress.look()

    def hold(self, lasts: float) -> None:
        self.held_until = max(self.held_until, self.now() + lasts + _RETRIED)
        self.call_at(self.held_until, self.poke)

    def name_message(self, place: Address, message_id: str, name: str) -> None:
        """Set the scenario's name of a message, for readable ids in the trace."""
        self.message_names[place.channel, place.conversation, place.thread or "", message_id] = name
        self._said.setdefault(name, (place, message_id))

    def message_id(self, name: str) -> str | None:
        """The platform's id of a person's message; None if it is not said yet."""
        said = self._said.get(name)
        return None if said is None else said[1]

    def _notify_commit(self, count: int) -> None:
        if self.on_commit is not None:
            self.on_commit(count)

    def watch_steps(self, see: Callable[[int], bool]) -> None:
        """Call `see` after each step, outside all processes, until it returns true."""
        self._step_watchers.append(see)
        self.loop.on_step = self._notify_watchers

    def after_step(self, call: Callable[[], None]) -> None:
        """Call something once, at the end of the running step."""
        self.watch_steps(lambda _: call() is None)

    def _notify_watchers(self, count: int) -> None:
        # A watcher may add watchers for the following steps.
        for see in tuple(self._step_watchers):
            if see(count):
                self._step_watchers.remove(see)
        if not self._step_watchers:
            self.loop.on_step = None

    def note_change(self) -> None:
        """Count a change of the world without an event."""
        self._moves += 1

    @property
    def state(self) -> tuple[float, ...]:
        """The world as numbers that grow with each change which outlives a killed process.

        A kill discards all else. So two kills between which no number changed lead to the same run.
        """
        disk, changes = self.disk, sum(platform.pushes.changes for platform in self.platforms.values())
        counts = (self.loop.time(), disk.commits, disk.outside, len(self.log.events))
        return (*counts, self._moves, changes, self.faults.passed, self.ids.made, self.loop.births)

    def build(self) -> None:
        """Create platforms, accounts and rooms, and record them."""
        for bug in self.bugs.values():
            self.events.record(script.BugEnabled(bug=bug.name, sentence=bug.sentence))
        for name, spec in self.scenario.world.platforms.items():
            platform = self.tools.find("a platform", name, self.tools.platforms)(self, spec, self.log.recorder(name))
            self.platforms[name] = platform
            self._introduce(platform)
            self._declare_rotations(platform)
            for account, settings in spec.accounts.items():
                bot = Peer(id=platform.new_id("bot", account), name=settings.bot)
                can = platform.capabilities[account]
                nameless = Capability.MESSAGE_IDS not in can.can
                body = world.WorldAccount(
                    channel=name,
                    account=account,
                    bot=bot,
                    idempotency=can.idempotency,
                    nameless=nameless,
                    latency=spec.latency,
                )
                self.events.record(body)
            for room_name, room in spec.rooms.items():
                parent = platform.add_room(
                    Room(
                        channel=name,
                        name=room_name,
                        kind=platform.room_kind,
                        conversation=room.id or platform.new_id("room", room_name),
                        accounts=room.accounts or tuple(spec.accounts),
                    )
                )
                for thread, thread_spec in room.threads.items():
                    thread_id = thread_spec.id or platform.new_id("thread", room_name, thread)
                    platform.add_room(platform.thread_room(parent, f"{room_name}/{thread}", thread_id), under=room_name)
            for person, known in self.scenario.world.people.items():
                for account in spec.accounts if name in known.ids else ():
                    self.room(PlaceRef(platform=name, account=account, person=person))
        self._write_stored()
        self.record_limits(self.scenario.gateway)
        self.record_heartbeats(self.scenario.gateway)
        self.events.record(script.RunPhase(phase="faults"))

    def _introduce(self, platform: FakePlatform) -> None:
        """Make the people of the file known to a platform. Those of a crowd are strangers until they speak."""
        for name, person in self.scenario.world.people.items():
            own = person.ids.get(platform.channel) or platform.new_id("person", name)
            platform.meet(Peer(id=own, name=person.name or name), person.roles)

    def _declare_rotations(self, platform: FakePlatform) -> None:
        """Record token numbers with all requests of accounts whose token the script rotates."""
        for step in self.scenario.script:
            if step.rotate is not None and step.rotate.platform == platform.channel:
                platform.tokens.declare(self.account_of(platform.channel, step.rotate.account))

    def _plugin_fault(self, name: str) -> Strike:
        """A fault of a plug-in by its name."""
        strike = self.tools.find("a fault of a plug-in", name, self.tools.faults)
        return guarded_strike(name, strike, self.tools.plugins[plugin_of(name)], self.plugin_errors.append)

    def account_of(self, channel: str, account: str | None) -> str:
        """The given account, else the only one, else the one called ``default``."""
        there = tuple(self.platforms[channel].spec.accounts)
        return account or (there[0] if len(there) == 1 else "default")

    def record_heartbeats(self, config: GatewayConfig) -> None:
        """Record the heartbeats of a configuration, for the invariants."""
        for body in heartbeats_of(config, self._accounts):
            self.events.record(body)

    @property
    def _accounts(self) -> list[tuple[str, str]]:
        return [(name, account) for name, platform in self.platforms.items() for account in platform.spec.accounts]

    def record_limits(self, config: GatewayConfig) -> None:
        """Record what the configuration limits, for the invariants."""
        self.events.record(limits_of(config, self._accounts))

    def _write_stored(self) -> None:
        """Write the sessions of an earlier version to the disk."""
        sessions = self.scenario.stored.sessions
        if sessions:
            write_stored(self.disk.open(), sessions, self.address)
        for session in sessions:
            place = None if session.place is None else self.address(session.place)
            self.events.record(world.WorldSession(session_key=session.key, session_id=session.id, address=place))
        self.ids.session_ids.update(session.id for session in sessions)

    def _session_known(self, event: Event) -> None:
        assert isinstance(event.body, gateway.SessionCreated | gateway.SessionReset)
        self.ids.session_ids.add(event.body.session_id)

    def peer(self, channel: str, person: str) -> Peer:
        """A person's identity on a platform; recorded at first use."""
        peer = self._peers.get((channel, person))
        if peer is None:
            settings = self.scenario.world.people.get(person)
            own = None if settings is None else settings.ids.get(channel)
            shown = display_names(self.scenario.world, self.seed).get(person, person)
            peer = Peer(id=own or self.platforms[channel].new_id("person", person), name=shown)
            self._peers[channel, person] = peer
            self._people[channel, peer.id] = person
            self.platforms[channel].server.meet(peer)
            self.events.record(world.WorldPerson(channel=channel, peer=peer))
        return peer

    def person(self, channel: str, id: str) -> str | None:  # noqa: A002 -- the word
        """The scenario's key of a person who has spoken or been named on a platform."""
        return self._people.get((channel, id))

    def is_at(self, place: str, address: Address) -> bool:
        """Whether an address is a place of the scenario; false for a place that does not exist yet."""
        ref = self.place(place)
        platform = self.platforms[ref.platform]
        room = platform.room_named(ref.account, ref.tail)
        if room is None or (address.channel, address.account) != (ref.platform, ref.account):
            return False
        return platform.is_within(room, address)

    def room(self, ref: PlaceRef) -> Room:
        """The conversation of a place; a direct one is created at first use.

        Raises `UnknownName` for a thread that is not open yet.
        """
        platform = self.platforms[ref.platform]
        room = platform.room_named(ref.account, ref.tail)
        if room is not None:
            return room
        if ref.person is None or ref.thread is not None:
            why = "its thread is not open" if ref.person is None else "nobody has called"
            raise UnknownName(f"{ref.key} does not exist at {self.now():.3f}s: {why}")
        return platform.add_room(
            Room(
                channel=ref.platform,
                name=ref.tail,
                kind=ChatKind.DIRECT,
                conversation=self.peer(ref.platform, ref.person).id,
                accounts=(ref.account,),
            )
        )

    def address(self, place: str) -> Address:
        ref = self.place(place)
        return self.room(ref).address(ref.account)

    def place(self, text: str) -> PlaceRef:
        ref = self._places.get(text)
        if ref is None:
            ref = self._places[text] = self.file.resolve(text)
        return ref

    def number(self, of: str, what: str) -> int:
        """The number of an item among its kind, from 1; stable across requests and crashes."""
        self._moves += 1
        known = self._numbers.setdefault(of, {})
        return known.setdefault(what, len(known) + 1)

    def matches(self, event: Event, *, place: str | None) -> bool:
        """Whether an event is about a place of the scenario."""
        address = where(event.body)
        if place is None or address is None or isinstance(event.body, world.WorldPlace):
            return place is None
        return self.is_at(place, address)


def heartbeats_of(config: GatewayConfig, accounts: Sequence[tuple[str, str]]) -> list[world.WorldHeartbeat]:
    """The heartbeat of each agent, as the configuration promises it."""
    return [_promised(config, agent, accounts) for agent in heartbeat_agents(config)]


def _promised(config: GatewayConfig, agent: str, accounts: Sequence[tuple[str, str]]) -> world.WorldHeartbeat:
    heartbeat = heartbeat_of(config, agent)
    assert heartbeat is not None
    hours, shown = heartbeat.active_hours, [shows for shows in accounts if resolve_visibility(config, *shows).show_ok]
    return world.WorldHeartbeat(
        agent=agent,
        every=heartbeat.every,
        target=heartbeat.target or "",
        start="" if hours is None else hours.start,
        end="" if hours is None else hours.end,
        timezone="" if hours is None else zones_of(config, agent, "UTC").of(hours.timezone).key,
        ok_shown=tuple(f"{channel}:{account}" for channel, account in shown),
        prefix=heartbeat.response_prefix.strip(),
        reasoning=heartbeat.include_reasoning,
    )


def limits_of(config: GatewayConfig, accounts: Sequence[tuple[str, str]] = ()) -> world.WorldLimits:
    """The limits of delivery, and where each agent may write."""
    delivery, ours = config.delivery, config.profile is Profile.TRUNKLINE
    chain = (config.turns.chain, config.turns.chain_pause)
    return filled(
        world.WorldLimits,
        delivery,
        mark=delivery.mark if delivery.ambiguous == "resend-marked" else None,
        backoff=max(delivery.backoff, default=None),
        contexts=tuple([_contexts(agent.id, config) for agent in config.agents]) if ours else None,
        callback_prompt=bool(config.hands.prompt.strip()),
        hand_age=config.hands.limits.max_age,
        chain=None if chain == world.USUAL_CHAIN else chain,
        waits=tuple(delivery.backoff),
        timeout=delivery.request_timeout,
        texts=tuple(_text_limits(config, accounts)),
        closed=tuple(dict.fromkeys(channel for channel, _ in accounts if _is_closed(config, channel))) if ours else (),
        notices=(delivery.failed_notice, delivery.doubt_notice, delivery.closed_notice) if ours else None,
        repeats_notices=True,
        config=config.model_dump_json(exclude_defaults=True, by_alias=True),
    )


def _text_limits(config: GatewayConfig, accounts: Sequence[tuple[str, str]]) -> Iterator[world.TextLimit]:
    """The limits of texts that the configuration sets."""
    for channel, account in accounts:
        settings = config.channel(channel)
        length = settings.account(account).text_limit or settings.text_limit
        if length:
            yield world.TextLimit(channel=channel, account=account, length=length)


def _is_closed(config: GatewayConfig, channel: str) -> bool:
    """Whether the result of bound work may go nowhere but to its bound conversation."""
    binds = config.channel(channel).thread_bindings
    return binds.enabled and binds.spawn_subagent_sessions and binds.fallback == "none"


def _contexts(agent: str, config: GatewayConfig) -> world.AgentContexts:
    """The crossings that the cross-context policy allows an agent, and which of them it marks."""
    tool = config.message_tool(agent)
    cross, nowhere = tool.cross_context, tool.without_origin
    marker, free = cross.marker, tool.allow_cross_context_send
    return world.AgentContexts(
        agent=agent,
        within=cross.allow_within_provider or free,
        across=cross.allow_across_providers or free,
        reach=nowhere.reach,
        targets=nowhere.targets,
        marks_within=marker.enabled and marker.within_provider,
        marks_across=marker.enabled,
        marks_nowhere=nowhere.marked,
        prefix=marker.prefix,
        suffix=marker.suffix,
    )
