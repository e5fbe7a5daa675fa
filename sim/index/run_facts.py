"""The facts of a run so far that checkers share: intents, lanes, messages, sessions, delegations, places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trunkline.core.events import Body, Event
from trunkline.core.events.delivery import (
    AttemptEnded,
    AttemptStarted,
    ChunkAcked,
    IntentPrepared,
    IntentReopened,
    IntentSettled,
    MirrorAppended,
    OperatorActed,
    RecoveryDecided,
    SendRequested,
    TargetResolved,
)
from trunkline.core.events.gateway import (
    ConfigReloaded,
    InboundAdmitted,
    InboundReceived,
    ProcessStarted,
    RouteDecided,
    TurnStarted,
)
from trunkline.core.events.hands import CompletionPlanned, DelegationAccepted
from trunkline.core.reasons import Reason
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.values import Address, WorkKind
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PlatformPushed, ThreadOpened, WorldAccount, WorldLimits, WorldPlace
from trunkline.sim.index.binding_facts import RunBindings
from trunkline.sim.index.call_facts import RunCalls
from trunkline.sim.index.hand_facts import RunHands
from trunkline.sim.index.intent_facts import AnsweredMessages, IntentFacts, Lane, LaneFacts, RunHooks
from trunkline.sim.index.process_facts import RunHeartbeats, RunProcesses
from trunkline.sim.index.projection import Handle, Handlers, Projection, on
from trunkline.sim.index.scope_facts import RunScopes
from trunkline.sim.index.wire_side import RunWireSide


class RunFacts(Projection):
    """The facts that checkers look up about the run so far."""

    def __init__(self) -> None:
        self.intents: dict[str, IntentFacts] = {}
        #: seqs of the events from a client's send to its intent -> the key, and the seq of the client's request
        self.asked: dict[int, tuple[str, int | None]] = {}
        #: key of a client's send -> its intents, one for each try
        self.sends: dict[str, tuple[str, ...]] = {}
        #: conversations with any intent
        self.lanes: dict[Lane, LaneFacts] = {}
        #: intents that hooks cancelled before they were prepared
        self.cancelled: dict[str, Event] = {}
        #: the configured limits, and the accounts with their support for lost responses
        self.limits: WorldLimits | None = None
        self.accounts: dict[tuple[str, str], WorldAccount] = {}
        #: seqs of the `peer.said` that a fault lost on their way to the gateway
        self.lost: set[int] = set()
        #: inbound id -> its inbound.received event
        self.received: dict[str, Event] = {}
        #: delegation id -> the inbound of the turn that delegated
        self.delegated_by: dict[str, str] = {}
        #: intent id -> its last recovery decision
        self.recovered: dict[str, Event] = {}
        #: inbound id -> the route decision that froze its return address
        self.routed: dict[str, Event] = {}
        #: delegation id -> its completion plan, and the number of steps
        self.planned: dict[str, tuple[Event, int]] = {}
        #: callback work -> its delegation
        self.callbacks: dict[str, str] = {}
        #: (channel, conversation, message id) -> thread opened on the message
        self._opened_on: dict[tuple[str, str, str], Address] = {}
        #: inbound id -> the place and original id of its message
        self.messages: dict[str, tuple[Lane, str]] = {}
        #: turn id -> the session that it runs in
        self.running: dict[str, str] = {}
        #: inbound id -> the session that it was admitted to
        self.admitted: dict[str, str] = {}
        #: delegation id -> the session of the turn that delegated
        self.delegated_in: dict[str, str] = {}
        #: whether platforms record events too; the trace of a real gateway has only its own
        self.witnessed = False
        #: the configured scopes of sessions
        self.scopes = RunScopes()
        self._names: dict[Lane, str] = {}
        #: (lane, id as delivered) -> original id, if it differs
        self._original: dict[tuple[Lane, str], str] = {}
        #: inbound id -> the place of its session
        self._homes: dict[str, Address] = {}
        #: session bindings, the gateway's processes, what hooks do, what agents answer, and heartbeats
        self.bindings = RunBindings()
        self.processes, self.hooks, self.heartbeats = RunProcesses(), RunHooks(), RunHeartbeats()
        self.answered, self.calls = AnsweredMessages(self.intents), RunCalls()
        #: what is known of a run by its wire only; nobody fills it in other runs
        self.wire_side = RunWireSide()
        #: delegations, as the world knows them
        self.hands = RunHands()

    def handlers(self) -> Handlers:
        """The handlers of the facts and of their parts."""
        parts = (self.bindings, self.processes, self.hooks, self.answered, self.heartbeats, self.hands, self.calls)
        found: dict[type[Body], Handle] = {}
        for handlers in (*(part.handlers() for part in parts), super().handlers()):
            for kind, handler in handlers.items():
                found[kind] = handler if kind not in found else _both(found[kind], handler)
        return found

    # ------------------------------------------------------------ questions

    def name(self, address: Address | None) -> str:
        return place_name(address, self._names) if address is not None else "nowhere"

    def origin(self, inbound: str | None) -> tuple[Address, str] | None:
        """Place and message at the origin of a piece of work, through callbacks; none for wake-ups."""
        event = self.received.get(self.message_behind(inbound))
        if event is not None and isinstance(event.body, InboundReceived):
            return event.body.address, event.body.subject
        return None

    def message_behind(self, inbound: str | None) -> str:
        """The message at the origin of a piece of work, through callbacks; empty for none."""
        for _ in range(len(self.callbacks) + 1):
            if inbound is None or inbound in self.received:
                break
            inbound = self.delegated_by.get(self.callbacks.get(inbound, ""))
        return inbound or ""

    def request_of(self, delegation: str) -> Event | None:
        """The message for which a delegation was made, by what the agents of the chain of its callers got."""
        return self.received.get(self.hands.work_of.get(self.hands.top(delegation).turn, ""))

    def home(self, inbound: str | None) -> Address | None:
        """The place of a message's session: its own place, or the thread that was opened on it."""
        home = self._homes.get(inbound or "")
        if home is not None:
            return home
        origin = self.origin(inbound)
        return None if origin is None else origin[0]

    def opened_on(self, place: Address, message: str) -> Address | None:
        """The thread that was opened on a message of a place, as the account of that place sees it."""
        opened = self._opened_on.get((place.channel, place.conversation, message))
        return None if opened is None else msgspec.structs.replace(opened, account=place.account)

    def is_marked(self, text: str) -> bool:
        """Whether a text has the configured mark of an uncertain repeat."""
        mark = None if self.limits is None else self.limits.mark
        return mark is not None and text.startswith(mark)

    # ------------------------------------------------------------ folding

    @on(WorldLimits)
    def _limits(self, event: Event, body: WorldLimits) -> None:
        self.limits = body

    @on(WorldAccount)
    def _account(self, event: Event, body: WorldAccount) -> None:
        self.accounts[body.channel, body.account], self.witnessed = body, True

    @on(WorldPlace)
    def _place(self, event: Event, body: WorldPlace) -> None:
        self._names[body.address.lane], self.witnessed = body.name, True

    @on(FaultFired)
    def _struck(self, event: Event, body: FaultFired) -> None:
        if body.fault == "push/drop" and event.cause is not None:
            self.lost.add(event.cause)

    @on(PlatformPushed)
    def _pushed(self, event: Event, body: PlatformPushed) -> None:
        if body.message_id != body.original_id:
            self._original[body.address.lane, body.message_id] = body.original_id

    @on(ProcessStarted)
    def _process(self, event: Event, body: ProcessStarted) -> None:
        self.scopes.note_start(body)
        self.processes.note_start(event)

    @on(ConfigReloaded)
    def _reloaded(self, event: Event, body: ConfigReloaded) -> None:
        self.scopes.note_reload(body)

    @on(TurnStarted)
    def _turn(self, event: Event, body: TurnStarted) -> None:
        self.running[event.turn or ""] = body.session_id
        self.hands.work_of[event.turn or ""] = event.inbound or ""

    @on(ThreadOpened)
    def _opened(self, event: Event, body: ThreadOpened) -> None:
        if body.on_message is not None:
            # Ids of messages are unique in their conversation only.
            room = body.address.parent or body.address.conversation
            self._opened_on[body.address.channel, room, body.on_message] = body.address

    @on(InboundReceived)
    def _received(self, event: Event, body: InboundReceived) -> None:
        inbound = event.inbound or ""
        lane, message = body.address.lane, body.message_id
        # What a proxy posted may be repeated under a new id, and it may stand for a message that was repeated so.
        message = self._original.get((lane, message), message)
        message = self.bindings.proxied.get((lane[0], lane[2], message), message)
        message = self._original.get((lane, message), message)
        self.received[inbound] = event
        self.messages[inbound] = (lane, message)

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        self.admitted[event.inbound or ""] = body.session_id
        if body.work is WorkKind.CALLBACK:
            self.callbacks[event.inbound or ""] = event.delegation or ""

    @on(DelegationAccepted)
    def _delegated(self, event: Event, _body: DelegationAccepted) -> None:
        self.hands.note_accepted(event)
        self.delegated_by[event.delegation or ""] = event.inbound or ""
        self.delegated_in[event.delegation or ""] = self.running.get(event.turn or "", "")

    @on(CompletionPlanned)
    def _planned(self, event: Event, body: CompletionPlanned) -> None:
        self.planned[event.delegation or ""] = (event, len(body.steps))

    @on(RouteDecided)
    def _routed(self, event: Event, body: RouteDecided) -> None:
        self.routed[event.inbound or ""] = event
        received = self.received.get(event.inbound or "")
        if body.reply_reason is Reason.REPLY_IN_OPENED_THREAD and body.reply_to is not None:
            self._homes[event.inbound or ""] = body.reply_to
        elif received is not None and isinstance(received.body, InboundReceived):
            self._homes[event.inbound or ""] = received.body.address
        if body.reply_to is not None:
            self.scopes.note_route(body.reply_to, body.scope)

    @on(RecoveryDecided)
    def _recovered(self, event: Event, _body: RecoveryDecided) -> None:
        self.recovered[event.intent or ""] = event

    @on(SendRequested)
    def _requested(self, event: Event, body: SendRequested) -> None:
        self.asked[event.seq] = (body.key, event.cause)

    @on(TargetResolved)
    def _resolved(self, event: Event, _body: TargetResolved) -> None:
        asked = self.asked.get(event.cause or 0)
        if asked is not None:
            self.asked[event.seq] = asked

    @on(IntentPrepared)
    def _prepared(self, event: Event, body: IntentPrepared) -> None:
        lane = body.address.lane
        queue = self.lanes.get(lane)
        if queue is None:
            queue = self.lanes[lane] = LaneFacts(lane, {})
        before = self.intents.get(event.intent or "")
        # Prepared again by a process that lost it: earlier accepts stay visible.
        accepts = () if before is None else before.accepts
        self.intents[event.intent or ""] = IntentFacts(event, body, queue, accepts)
        asked = self.asked.get(event.cause or 0) if self.asked else None
        if asked is not None:
            self.sends[asked[0]] = (*self.sends.get(asked[0], ()), event.intent or "")

    @on(AttemptStarted)
    def _started(self, event: Event, _body: AttemptStarted) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            facts.tries += 1
            facts.started = event

    @on(WireAccepted)
    def _accepted(self, event: Event, _body: WireAccepted) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.accepts += (event,)

    @on(WireActed)
    def _acted(self, event: Event, _body: WireActed) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.acts += (event,)

    @on(AttemptEnded)
    def _ended(self, event: Event, _body: AttemptEnded) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.ended = event

    @on(ChunkAcked)
    def _acked(self, event: Event, body: ChunkAcked) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            # An operator may have vouched for it before.
            facts.acked = max(facts.acked, body.chunk + 1)
            facts.tries = 0
            facts.started = facts.ended = None

    @on(MirrorAppended)
    def _mirrored(self, event: Event, _body: MirrorAppended) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.mirrors += (event,)

    @on(IntentSettled)
    def _settled(self, event: Event, _body: IntentSettled) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.settled += (event,)
        else:
            self.cancelled.setdefault(event.intent or "", event)

    @on(IntentReopened)
    def _reopened(self, event: Event, _body: IntentReopened) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            facts.reopen(event)

    @on(OperatorActed)
    def _operator_acted(self, event: Event, body: OperatorActed) -> None:
        """An operator's act counts at once: the events of its effect follow, or are lost with the process."""
        facts = self.intents.get(event.intent or "")
        if facts is None:
            return
        facts.reopen(event)
        if body.verb == QueueVerdict.SENT:
            facts.acked, facts.vouched = facts.acked + 1, True
        facts.closed = body.verb == QueueVerdict.ABANDON or facts.acked == facts.body.chunks


def _both(first: Handle, then: Handle) -> Handle:
    """The methods of two parts that take the same events."""

    def handle(event: Event, body: Any) -> None:
        first(event, body)
        then(event, body)

    return handle


def place_name(address: Address, names: Mapping[tuple[str, str, str, str], str]) -> str:
    """The name of a place; for a thread that is not open yet, its parent's name and its own; else the address."""
    name = names.get(address.lane)
    if not name:
        room = address.conversation if address.thread else address.parent or ""
        above = names.get((address.channel, address.account, room, ""))
        name = f"{above}/{address.thread or address.conversation}" if above else ""
    return f"{address.channel}/{name}" if name else str(address)
