"""The facts of a run so far that checkers share: intents, lanes, messages, sessions, delegations, places."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from trunkline.core.actions.marker import unmarked
from trunkline.core.channels import rules_for
from trunkline.core.config import DmScope, GatewayConfig
from trunkline.core.events import Body, Event, adapters, delivery, gateway, hands
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason
from trunkline.core.routing.route_rules import ANY
from trunkline.core.routing.session_keys import linked_name
from trunkline.core.store.queue_admin import QueueVerdict
from trunkline.core.values import Address, ChatKind, WorkKind
from trunkline.sim.events import actions, script, wire, world
from trunkline.sim.index.binding_facts import RunBindings
from trunkline.sim.index.hand_facts import RunHands
from trunkline.sim.index.intent_facts import AnsweredMessages, IntentFacts, Lane, LaneFacts, RunHooks, RunSpeech
from trunkline.sim.index.marks import shown_words
from trunkline.sim.index.process_facts import RunHeartbeats, RunProcesses
from trunkline.sim.index.projection import Handle, Handlers, Projection
from trunkline.sim.index.wire_side import RunWireSide

# The configured scopes of sessions and links of people, as the gateway's processes record them.

_Configured = tuple[str, str, dict[str, tuple[str, ...]], tuple[gateway.RuleScopes, ...]]


class RunScopes:
    """The scopes of a run, of its route rules, and its links of people: who shares a session with whom."""

    def __init__(self) -> None:
        self._configured: _Configured = ("", "", {}, ())
        #: incremented when the scopes may have changed
        self.changes = 0
        #: places whose route rule put a message into the main session
        self._in_main: set[tuple[str, str, str, str]] = set()
        #: the rule set of the newest process
        self.profile = Profile.TRUNKLINE.value

    @property
    def upstream(self) -> bool:
        """Whether the gateway follows an upstream profile, whose keys and scopes are not ours."""
        return self.profile not in ("", Profile.TRUNKLINE.value)

    @property
    def links(self) -> dict[str, tuple[str, ...]]:
        """Canonical name -> ids of one person."""
        return self._configured[2]

    def note_start(self, body: gateway.ProcessStarted) -> None:
        """A process started with its configuration, which need not be another one."""
        self.profile = body.profile
        self.changes += self._configure(body)

    def note_reload(self, body: gateway.ConfigReloaded) -> None:
        """A process has another configuration."""
        self._configure(body)
        self.changes += 1

    def _configure(self, body: gateway.ProcessStarted | gateway.ConfigReloaded) -> bool:
        before = self._configured
        self._configured = (body.dm_scope, body.group_scope, body.identity_links, body.rule_scopes)
        return self._configured != before

    def note_route(self, place: Address, scope: str) -> None:
        """A message was routed under a scope."""
        if scope == DmScope.MAIN:
            self._in_main.add(place.lane)

    def may_be_main(self, place: Address) -> bool:
        """Whether a conversation may have the main session, by its scope or that of a route rule that matches it."""
        direct = place.kind is ChatKind.DIRECT
        if self._configured[0 if direct else 1] == DmScope.MAIN or place.lane in self._in_main:
            return True
        rules = (rule for rule in self._configured[3] if _matches(rule, place))
        return any((rule.dm_scope if direct else rule.group_scope) == DmScope.MAIN for rule in rules)

    def must_be_main(self, place: Address) -> bool:
        """Whether a conversation must have the main session. Which of several route rules matches is not known here."""
        default = self._configured[0 if place.kind is ChatKind.DIRECT else 1]
        return default == DmScope.MAIN and not self._configured[3]

    def person(self, place: Address) -> str:
        """The person of a direct conversation: the linked name (``*ana``), else the platform's id."""
        rules = rules_for(place.channel)
        name = linked_name(rules, place.conversation, self.links)
        return f"*{name}" if name else rules.fold(place.kind, place.conversation)


def _matches(rule: gateway.RuleScopes, place: Address) -> bool:
    """Whether a route rule is about a place, or about the room of a thread."""
    if rule.channel != place.channel or rule.account not in (ANY, place.account):
        return False
    if rule.direct is not None and rule.direct is not (place.kind is ChatKind.DIRECT):
        return False
    fold = rules_for(place.channel).fold
    rooms = [fold(place.kind, room) for room in (place.conversation, place.parent) if room]
    return rule.peer is None or fold(place.kind, rule.peer) in rooms


class CallFacts(msgspec.Struct):
    """A call, with the seqs of its events."""

    address: Address
    answered: int | None = None
    ended: int | None = None

    @property
    def on(self) -> bool:
        """Whether a text can be heard in the call now, or once it is taken off hold."""
        return self.answered is not None and self.ended is None


class RunCalls(Projection):
    _calls: dict[Lane, CallFacts] = {}
    #: intent -> the fallback by which it goes to a second channel
    second: dict[str, delivery.Fallback] = {}

    def at(self, place: Address) -> CallFacts | None:
        """The call that a place is; None for any other place."""
        return self._calls.get(place.lane)

    def going_on(self, place: Address) -> list[CallFacts]:
        """The calls with the number of a place, by its account, that are going on now."""
        lane = place.lane[:3]
        return [call for call in self._calls.values() if call.on and call.address.lane[:3] == lane]

    def goes_second(self, intent: str | None, place: Address) -> bool:
        """Whether it was recorded that an intent goes to a place because its call has ended."""
        found = self.second.get(intent or "")
        return found is not None and found.used.lane == place.lane

    def on_started(self, _event: Event, body: world.CallStarted) -> None:
        self._calls[body.address.lane] = CallFacts(body.address)

    def on_changed(self, event: Event, body: world.CallChanged) -> None:
        call = self._calls.get(body.address.lane)
        if call is not None and body.state == "answered":
            call.answered = event.seq
        elif call is not None and body.state == "ended":
            call.ended = event.seq

    def on_fallback(self, event: Event, body: delivery.Fallback) -> None:
        if body.reason is Reason.SECOND_CHANNEL:
            self.second[event.intent or ""] = body


@lru_cache(maxsize=16)
def config_of(text: str) -> GatewayConfig:
    """A configuration from its text; runs of one scenario, of which an exploration has thousands, have the same."""
    return GatewayConfig.model_validate_json(text)


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
        self.limits: world.WorldLimits | None = None
        self._config: GatewayConfig | None = None
        self.accounts: dict[tuple[str, str], world.WorldAccount] = {}
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
        #: (channel, conversation, message id) -> what a person or a bot posted
        self.posts: dict[tuple[str, str, str], Event] = {}
        #: (channel, conversation, first message) -> the messages of what somebody did at once, such as an album
        self.acts: dict[tuple[str, str, str], list[world.PeerSaid]] = {}
        #: turn id -> where it first started, and the session that it runs in
        self.started: dict[str, Event] = {}
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
        #: delegations, as the world knows them; and what was to be said
        self.hands, self.speech = RunHands(), RunSpeech()

    def handlers(self) -> Handlers:
        """The handlers of the facts and of their parts."""
        parts = (
            *(self.bindings, self.processes, self.hooks, self.answered),
            *(self.heartbeats, self.hands, self.calls, self.speech),
        )
        found: dict[type[Body], Handle] = {}
        for handlers in (*(part.handlers() for part in parts), super().handlers()):
            for kind, handler in handlers.items():
                found[kind] = handler if kind not in found else _both(found[kind], handler)
        return found

    @property
    def config(self) -> GatewayConfig | None:
        """The configuration as given; None in a trace that does not have it."""
        if self._config is None and self.limits is not None and self.limits.config:
            self._config = config_of(self.limits.config)
        return self._config

    def act_of(self, lane: Lane, message: str) -> str | None:
        """The first message of what a person did at once, by any message of it; None: the message is all of it."""
        post = self.posts.get((lane[0], lane[2], message)) if self.acts else None
        return post.body.act if post is not None and isinstance(post.body, world.PeerSaid) else None

    def name(self, address: Address | None) -> str:
        return place_name(address, self._names) if address is not None else "nowhere"

    def origin(self, inbound: str | None) -> tuple[Address, str] | None:
        """Place and message at the origin of a piece of work, through callbacks; none for wake-ups."""
        event = self.received.get(inbound or "") or self.received.get(self.message_behind(inbound))
        if event is not None and isinstance(event.body, gateway.InboundReceived):
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

    def bound_above(self, delegation: str | None) -> set[Lane]:
        """Where a delegation, or one of those whose results led to it, is announced by a binding of its own."""
        bound = (self.bindings.of_delegation.get(run.id) for run in self.hands.chain(delegation or ""))
        return {found.body.conversation.lane for found in bound if found is not None}

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

    def said_words(self, text: str) -> str:
        """The words of a message for people, without the mark of another context."""
        limits = self.limits
        for settings in () if limits is None else limits.contexts or ():
            text = unmarked(text, settings.prefix, settings.suffix)
        return shown_words(text)

    def on_limits(self, event: Event, body: world.WorldLimits) -> None:
        self.limits, self._config = body, None

    def on_account(self, event: Event, body: world.WorldAccount) -> None:
        self.accounts[body.channel, body.account], self.witnessed = body, True

    def on_place(self, event: Event, body: world.WorldPlace) -> None:
        self._names[body.address.lane], self.witnessed = body.name, True

    def on_struck(self, event: Event, body: script.FaultFired) -> None:
        if body.fault == "push/drop" and event.cause is not None:
            self.lost.add(event.cause)

    def on_said(self, event: Event, body: world.PeerSaid) -> None:
        place = (body.address.channel, body.address.conversation)
        self.posts[*place, body.message_id] = event
        if body.act is not None:
            self.acts.setdefault((*place, body.act), []).append(body)

    def on_pushed(self, event: Event, body: world.PlatformPushed) -> None:
        if body.message_id != body.original_id:
            self._original[body.address.lane, body.message_id] = body.original_id

    def on_process(self, event: Event, body: gateway.ProcessStarted) -> None:
        self.scopes.note_start(body)
        self.processes.note_start(event)

    def on_reloaded(self, event: Event, body: gateway.ConfigReloaded) -> None:
        self.scopes.note_reload(body)

    def on_turn(self, event: Event, body: gateway.TurnStarted) -> None:
        self.running[event.turn or ""] = body.session_id
        self.started.setdefault(event.turn or "", event)
        self.hands.work_of[event.turn or ""] = event.inbound or ""

    def on_opened(self, event: Event, body: world.ThreadOpened) -> None:
        if body.on_message is not None:
            # Ids of messages are unique in their conversation only.
            room = body.address.parent or body.address.conversation
            self._opened_on[body.address.channel, room, body.on_message] = body.address

    def on_received(self, event: Event, body: gateway.InboundReceived) -> None:
        inbound = event.inbound or ""
        lane, message = body.address.lane, body.message_id
        # What a proxy posted may be repeated under a new id, and it may stand for a message that was repeated so.
        message = self._original.get((lane, message), message)
        message = self.bindings.proxied.get((lane[0], lane[2], message), message)
        message = self._original.get((lane, message), message)
        self.received[inbound] = event
        self.messages[inbound] = (lane, message)

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        self.admitted[event.inbound or ""] = body.session_id
        if body.work is WorkKind.CALLBACK:
            self.callbacks[event.inbound or ""] = event.delegation or ""

    def on_delegated(self, event: Event, _body: hands.DelegationAccepted) -> None:
        self.hands.note_accepted(event)
        self.delegated_by[event.delegation or ""] = event.inbound or ""
        self.delegated_in[event.delegation or ""] = self.running.get(event.turn or "", "")

    def on_planned(self, event: Event, body: hands.CompletionPlanned) -> None:
        self.planned[event.delegation or ""] = (event, len(body.steps))

    def on_routed(self, event: Event, body: gateway.RouteDecided) -> None:
        self.routed[event.inbound or ""] = event
        received = self.received.get(event.inbound or "")
        if body.reply_reason is Reason.REPLY_IN_OPENED_THREAD and body.reply_to is not None:
            self._homes[event.inbound or ""] = body.reply_to
        elif received is not None and isinstance(received.body, gateway.InboundReceived):
            self._homes[event.inbound or ""] = received.body.address
        if body.reply_to is not None:
            self.scopes.note_route(body.reply_to, body.scope)

    def on_recovered(self, event: Event, _body: delivery.RecoveryDecided) -> None:
        self.recovered[event.intent or ""] = event

    def on_requested(self, event: Event, body: delivery.SendRequested) -> None:
        self.asked[event.seq] = (body.key, event.cause)

    def on_resolved(self, event: Event, _body: delivery.TargetResolved) -> None:
        asked = self.asked.get(event.cause or 0)
        if asked is not None:
            self.asked[event.seq] = asked

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        lane = body.address.lane
        queue = self.lanes.get(lane)
        if queue is None:
            queue = self.lanes[lane] = LaneFacts(lane, {})
        before = self.intents.get(event.intent or "")
        # Prepared again by a process that lost it: what the platform did before stays visible.
        facts = self.intents[event.intent or ""] = IntentFacts(event, body, queue)
        if before is not None:
            facts.accepts, facts.refused = before.accepts, before.refused
        asked = self.asked.get(event.cause or 0) if self.asked else None
        if asked is not None:
            self.sends[asked[0]] = (*self.sends.get(asked[0], ()), event.intent or "")

    def on_started(self, event: Event, _body: delivery.AttemptStarted) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            facts.tries += 1
            facts.started = event

    def on_accepted(self, event: Event, _body: wire.WireAccepted) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.accepts += (event,)

    def on_refused(self, event: Event, _body: wire.WireRefused) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.refused = event

    def on_acted(self, event: Event, _body: actions.WireActed) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.acts += (event,)

    def on_ended(self, event: Event, body: delivery.AttemptEnded) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.ended = event
            if body.reason is Reason.PLACE_CLOSED:
                # Only the first attempt at a closed place counts.
                facts.tries = max(facts.tries - 1, 1)

    def on_acked(self, event: Event, body: delivery.ChunkAcked) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            # An operator may have vouched for it before.
            facts.acked = max(facts.acked, body.chunk + 1)
            facts.tries = 0
            facts.started = facts.ended = None

    def on_mirrored(self, event: Event, _body: delivery.MirrorAppended) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.mirrors += (event,)

    def on_settled(self, event: Event, _body: delivery.IntentSettled) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.settled += (event,)
        else:
            self.cancelled.setdefault(event.intent or "", event)

    def on_lost(self, event: Event, _body: wire.WireLost | adapters.DeliveryFailed) -> None:
        if facts := self.intents.get(event.intent or ""):
            facts.losses += (event,)

    def on_reopened(self, event: Event, _body: delivery.IntentReopened) -> None:
        facts = self.intents.get(event.intent or "")
        if facts is not None:
            facts.reopen(event)

    def on_operator_acted(self, event: Event, body: delivery.OperatorActed) -> None:
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


def is_one_place(one: Address, other: Address) -> bool:
    """Whether two addresses are one place: a platform may know a person by an id that is spelled in several ways."""
    if one.lane == other.lane:
        return True
    (*home, first, thread), (*there, second, topic) = one.lane, other.lane
    if (home, thread, one.kind) != (there, topic, other.kind) or one.kind is not ChatKind.DIRECT:
        return False
    fold = rules_for(one.channel).fold
    return fold(one.kind, first) == fold(other.kind, second)


def place_name(address: Address, names: Mapping[tuple[str, str, str, str], str]) -> str:
    """The name of a place; for a thread that is not open yet, its parent's name and its own; else the address."""
    name = names.get(address.lane)
    if not name:
        room = address.conversation if address.thread else address.parent or ""
        above = names.get((address.channel, address.account, room, ""))
        name = f"{above}/{address.thread or address.conversation}" if above else ""
    return f"{address.channel}/{name}" if name else str(address)
