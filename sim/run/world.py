"""The world of one run: platforms, people, faults, and the disk, around the gateway processes.

Everything here is outside all processes. One log records all events; random draws are keyed by content.
"""

from __future__ import annotations

import asyncio
import contextvars
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from trunkline.core.config import GatewayConfig
from trunkline.core.config.gateway import heartbeat_agents
from trunkline.core.errors import UnknownName
from trunkline.core.events import Event, EventLog
from trunkline.core.events.gateway import SessionCreated, SessionReset
from trunkline.core.heartbeat.settings import heartbeat_of, zones_of
from trunkline.core.heartbeat.visibility import resolve_visibility
from trunkline.core.profile_rules import Profile
from trunkline.core.values import Address, Capability, ChatKind, Peer
from trunkline.sim.bugs import BUGS
from trunkline.sim.cast.delegating import KnownDelegations
from trunkline.sim.cast.named_messages import NamedMessages
from trunkline.sim.cast.names import display_names
from trunkline.sim.cast.own_words import OwnWords
from trunkline.sim.events.script import BugEnabled, RunPhase
from trunkline.sim.events.world import (
    AgentContexts,
    WorldAccount,
    WorldHeartbeat,
    WorldLimits,
    WorldPerson,
    WorldPlace,
    WorldSession,
)
from trunkline.sim.loop import SimLoop
from trunkline.sim.platforms import PLATFORMS, FakePlatform, Room
from trunkline.sim.run.env import SimIds
from trunkline.sim.run.fault_board import FaultBoard, WorldFaults, where
from trunkline.sim.run.quiescence import Quiescence
from trunkline.sim.scenario import PlaceRef, ScenarioFile
from trunkline.sim.store.disk import Disk
from trunkline.sim.store.preloaded import write_stored
from trunkline.sim.store.store_reuse import ReusableStore


class World(WorldFaults):
    """The world of one run. Implements `trunkline.sim.platforms.rooms.WorldPort`."""

    def __init__(
        self, file: ScenarioFile, loop: SimLoop, *, seed: int, bugs: tuple[str, ...], spare: ReusableStore | None = None
    ) -> None:
        self.file = file
        self.scenario = file.scenario
        self.seed = seed
        self.bugs = bugs
        #: see `trunkline.sim.platforms.rooms.WorldPort`
        self.wire_side = False
        self.ids_from = 0
        self.loop = loop
        #: seconds by which the wall clock of the gateway's machine was set
        self.clock_set_by = 0.0
        self._context = contextvars.copy_context()
        self.log = EventLog(loop.time)
        self.events = self.log.recorder("sim")
        self.progress = Quiescence()
        self.progress.watch(self.log)
        self.faults = FaultBoard(self.is_at, self._account_of, self.now)
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
        self.log.subscribe(self._session_known, SessionCreated, SessionReset)
        faults = [step.fault for step in file.scenario.script if step.fault is not None]
        self.disk = Disk(
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

    # ------------------------------------------------------------ WorldPort

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

    # ------------------------------------------------------------ building

    def build(self) -> None:
        """Create platforms, accounts and rooms, and record them."""
        for bug in self.bugs:
            self.events.record(BugEnabled(bug=bug, sentence=BUGS[bug].sentence))
        for name, spec in self.scenario.world.platforms.items():
            platform = PLATFORMS[name](self, spec, self.log.recorder(name))
            self.platforms[name] = platform
            self._introduce(platform)
            self._declare_rotations(platform)
            for account, settings in spec.accounts.items():
                bot = Peer(id=platform.new_id("bot", account), name=settings.bot)
                can = platform.capabilities[account]
                nameless = Capability.MESSAGE_IDS not in can.can
                body = WorldAccount(
                    channel=name, account=account, bot=bot, idempotency=can.idempotency, nameless=nameless
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
        self.events.record(RunPhase(phase="faults"))

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

    def account_of(self, channel: str, account: str | None) -> str:
        """The given account, else the only one, else the one called ``default``."""
        there = tuple(self.platforms[channel].spec.accounts)
        return account or (there[0] if len(there) == 1 else "default")

    def record_heartbeats(self, config: GatewayConfig) -> None:
        """Record the heartbeats of a configuration, for the invariants."""
        accounts = [(name, account) for name, platform in self.platforms.items() for account in platform.spec.accounts]
        for body in heartbeats_of(config, accounts):
            self.events.record(body)

    def record_limits(self, config: GatewayConfig) -> None:
        """Record what the configuration limits, for the invariants."""
        self.events.record(limits_of(config))

    def _write_stored(self) -> None:
        """Write the sessions of an earlier version to the disk."""
        sessions = self.scenario.stored.sessions
        if sessions:
            write_stored(self.disk.open(), sessions, self.address)
        for session in sessions:
            place = None if session.place is None else self.address(session.place)
            self.events.record(WorldSession(session_key=session.key, session_id=session.id, address=place))
        self.ids.session_ids.update(session.id for session in sessions)

    def _session_known(self, event: Event) -> None:
        assert isinstance(event.body, SessionCreated | SessionReset)
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
            self.events.record(WorldPerson(channel=channel, peer=peer))
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
        if place is None or address is None or isinstance(event.body, WorldPlace):
            return place is None
        return self.is_at(place, address)


def heartbeats_of(config: GatewayConfig, accounts: Sequence[tuple[str, str]]) -> list[WorldHeartbeat]:
    """The heartbeat of each agent, as the configuration promises it."""
    return [_promised(config, agent, accounts) for agent in heartbeat_agents(config)]


def _promised(config: GatewayConfig, agent: str, accounts: Sequence[tuple[str, str]]) -> WorldHeartbeat:
    heartbeat = heartbeat_of(config, agent)
    assert heartbeat is not None
    hours, shown = heartbeat.active_hours, [shows for shows in accounts if resolve_visibility(config, *shows).show_ok]
    return WorldHeartbeat(
        agent=agent,
        every=heartbeat.every,
        target=heartbeat.target or "",
        start="" if hours is None else hours.start,
        end="" if hours is None else hours.end,
        timezone="" if hours is None else zones_of(config, agent, "UTC").of(hours.timezone).key,
        ok_shown=tuple(f"{channel}:{account}" for channel, account in shown),
        prefix=heartbeat.response_prefix.strip(),
    )


def limits_of(config: GatewayConfig) -> WorldLimits:
    """The limits of delivery, and where each agent may write."""
    delivery, ours = config.delivery, config.profile is Profile.TRUNKLINE
    return WorldLimits(
        max_attempts=delivery.max_attempts,
        max_age=delivery.max_age,
        mark=delivery.mark if delivery.ambiguous == "resend-marked" else None,
        recovery_rate=delivery.recovery_rate,
        lanes=delivery.lanes,
        backoff=max(delivery.backoff, default=None),
        max_interrupted=delivery.max_interrupted,
        contexts=tuple([_contexts(agent.id, config) for agent in config.agents]) if ours else None,
        callback_prompt=bool(config.hands.prompt.strip()),
        hand_age=config.hands.limits.max_age,
    )


def _contexts(agent: str, config: GatewayConfig) -> AgentContexts:
    """The crossings that the cross-context policy allows an agent, and which of them it marks."""
    tool = config.message_tool(agent)
    cross, nowhere = tool.cross_context, tool.without_origin
    marker, free = cross.marker, tool.allow_cross_context_send
    return AgentContexts(
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
