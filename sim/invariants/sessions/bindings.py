"""Bound conversations: B1, D8."""

from collections import Counter

from trunkline.core.events import Event, bindings, gateway
from trunkline.core.reasons import Reason
from trunkline.core.values import Address
from trunkline.sim.events import processes, script, world
from trunkline.sim.index.binding_facts import BindingFacts
from trunkline.sim.index.run_facts import Lane
from trunkline.sim.invariants.base import Checker
from trunkline.sim.invariants.routing.return_address import key_is_of

#: precedes the name of delegated work in its session key
_SUBAGENT = ":subagent:"
#: the fault that opens a thread and loses the response
_NEVER_TOLD = "thread/lose-response"

_Message = tuple[str, str, str, str]


class BindingLife(Checker):
    """B1: a conversation belongs to the session of its binding while the binding is active, and not after."""

    title = "Binding lifecycle and ownership"
    our_keys_part = "the session of a conversation whose binding is over"
    sentence = (
        "Messages of a bound conversation go to the bound session while the binding is active and unexpired, and to no "
        "bound session otherwise; a conversation has one binding, and one account of the gateway answers in it; the "
        "router chooses active ones; a refused binding leaves no thread."
    )

    #: threads that were opened and are not bound yet, by the request
    _opened: dict[Lane, Event] = {}
    #: the response to the next opening is lost, so the gateway cannot know that thread
    _lost = False
    #: work -> threads for it whose request the gateway gave up, so that it cannot know them
    _abandoned: Counter[str] = Counter()
    #: turns that run; and inbound id -> how often its turn was cut off with its process
    _turns: dict[str, Event] = {}
    _cut_off: Counter[str] = Counter()
    #: messages by their place on the platform: the accounts that received them, and turns of other accounts
    _heard: dict[_Message, set[str]] = {}
    _foreign: dict[_Message, tuple[Event, BindingFacts]] = {}

    def on_received(self, event: Event, body: gateway.InboundReceived) -> None:
        message = _message(body)
        self._heard.setdefault(message, set()).add(body.address.account)
        if message in self._foreign:
            self._two_owners(message)

    def on_admitted(self, event: Event, _body: gateway.InboundAdmitted) -> None:
        received = self.run.received.get(event.inbound or "")
        if received is None or not isinstance(received.body, gateway.InboundReceived):
            return
        # The binding may have been made since the message was routed.
        routed = self.run.routed.get(event.inbound or "", event)
        owner = self.run.bindings.owner_of(received.body.address, event.at)
        if owner is not None and owner.bound.seq < routed.seq:
            message = _message(received.body)
            self._foreign[message] = (event, owner)
            self._two_owners(message)

    def _two_owners(self, message: _Message) -> None:
        """Another account of the gateway works on a message that the owner of the conversation has received too."""
        admitted, owner = self._foreign[message]
        account = owner.body.conversation.account
        if account not in self._heard[message]:
            return
        del self._foreign[message]
        place = self.run.name(owner.body.conversation)
        summary = f"{admitted.inbound} was taken by another account than {account}, which {place} is bound through"
        expected = f"inbound.dropped (bound-to-other-account): {owner.id} belongs to {account}"
        self.accuse(admitted, summary, expected, owner.bound, shown=admitted.kind)

    def on_routed(self, event: Event, body: gateway.RouteDecided) -> None:
        received = self.run.received.get(event.inbound or "")
        if received is None or not isinstance(received.body, gateway.InboundReceived):
            return
        place = received.body.address
        facts = self.run.bindings.at.get(place.lane)
        if facts is None and event.binding is None:
            return
        self.exercised += 1
        active = self.run.bindings.routing(place, event.at)
        if active is not None and body.session_key != active.body.session_key:
            self._report(event, place, f"session {active.body.session_key}, by {active.id}", active.bound)
        elif active is None and self._taken_still(place, body.session_key):
            last = facts.ended or facts.ending or facts.bound if facts is not None else event
            self._report(event, place, "the default route: the binding is over", last)

    def _taken_still(self, place: Address, session_key: str) -> bool:
        """Whether a place was bound to this session, and the session is not its own by default."""
        if self.run.scopes.upstream:
            return False
        return self.run.bindings.holds(place, session_key) and not key_is_of(session_key, place, self.run)

    def _report(self, event: Event, place: Address, expected: str, evidence: Event) -> None:
        body = event.body
        assert isinstance(body, gateway.RouteDecided)
        summary = f"{event.inbound}, posted at {self.run.name(place)}, went to session {body.session_key}"
        self.accuse(event, summary, expected, evidence, shown=f"session {body.session_key}, by {body.matched_by}")

    def on_router(self, event: Event, body: bindings.RouterDecided) -> None:
        self.exercised += 1
        facts = self.run.bindings.by_id.get(event.binding or "")
        if body.mode != "bound" or (facts is not None and facts.routes(event.at)):
            return
        summary = f"the completion of {event.delegation} was routed to a binding that is not active"
        self.accuse(event, summary, "an active, unexpired binding, or none", shown=f"{event.binding}")

    def on_bound(self, event: Event, body: bindings.BindingBound) -> None:
        self.exercised += 1
        self._opened.pop(body.conversation.lane, None)
        for other in self.run.bindings.open_before(event, body.conversation):
            summary = f"{self.run.name(body.conversation)} was bound while {other.id} still held it"
            self.accuse(event, summary, "the end of the binding before it", other.bound)

    def on_ended(self, event: Event, body: bindings.BindingEnded) -> None:
        self.exercised += 1
        facts = self.run.bindings.by_id.get(event.binding or "")
        if facts is not None and facts.body.conversation.lane == body.conversation.lane:
            return
        summary = f"{event.binding} ended, but was never bound there"
        expected = "a binding.bound of the same conversation before it"
        self.accuse(event, summary, expected, shown=f"{event.kind} at {self.run.name(body.conversation)}")

    def on_thread(self, event: Event, body: world.ThreadOpened) -> None:
        if body.on_message is None and not self._lost:
            self._opened[body.address.lane] = event
        self._lost = False

    def on_fault(self, event: Event, body: script.FaultFired) -> None:
        self._lost |= body.fault == _NEVER_TOLD

    def on_request_abandoned(self, event: Event, body: world.ThreadRequestAbandoned) -> None:
        self._abandoned[body.key] += 1

    def on_turn_started(self, event: Event, _body: gateway.TurnStarted) -> None:
        self._turns[event.turn or ""] = event

    def on_turn_ended(self, event: Event, _body: gateway.TurnEnded) -> None:
        self._turns.pop(event.turn or "", None)

    def on_process_gone(self, event: Event, _body: processes.ProcessCrashed | processes.ProcessStopped) -> None:
        """A request that a process left behind may still arrive; the next process runs the turn again."""
        for turn, started in tuple(self._turns.items()):
            if started.generation == event.generation:
                self._cut_off[started.inbound or ""] += 1
                del self._turns[turn]

    def on_closed(self, event: Event, body: world.ThreadClosed) -> None:
        if body.how == "deleted":
            self._opened.pop(body.address.lane, None)

    def on_refused(self, event: Event, body: bindings.BindingRefused) -> None:
        """A refused binding must not leave an opened thread behind (B130)."""
        self.exercised += 1
        work = body.session_key.rpartition(_SUBAGENT)[2]
        for lane, opened in tuple(self._opened.items()):
            assert isinstance(opened.body, world.ThreadOpened)
            name = self.run.name(opened.body.address)
            # A thread that was opened for delegated work has its name, and a number if it is not the first.
            first, _, number = name.rpartition("/")[2].rpartition("+")
            if work and work in (name.rpartition("/")[2], first if number.isdecimal() else ""):
                del self._opened[lane]
                if self._abandoned[work] + self._cut_off[_asking(work)]:
                    # One thread for each request whose answer nobody could hear.
                    self._abandoned[work] -= 1
                    continue
                self.accuse(event, f"a binding was refused, and {name} was left behind", "no thread", opened)


class NoSelfEcho(Checker):
    """D8: the gateway's own posts never come back as a message, a turn or a transcript entry."""

    title = "No self-echo"
    sentence = (
        "An own post that a platform echoes starts nothing; other bots and relays follow the configured policy "
        "and are not dropped wholesale."
    )

    #: inbound id -> the posted message
    _inbound: dict[str, Event] = {}

    def on_received(self, event: Event, body: gateway.InboundReceived) -> None:
        said = self.run.posts.get((body.address.channel, body.address.conversation, body.message_id))
        if said is not None:
            self.exercised += _speaks(said).bot
            self._inbound[event.inbound or ""] = said

    def on_started(
        self, event: Event, _body: gateway.InboundAdmitted | gateway.TurnStarted | gateway.TranscriptAppended
    ) -> None:
        said = self._inbound.get(event.inbound or "")
        if said is None or _speaks(said).echo_of is None:
            return
        # Later effects follow from this one.
        del self._inbound[event.inbound or ""]
        summary = f"the gateway's own words came back as {event.inbound}, and {event.kind} followed"
        self.accuse(event, summary, "inbound.dropped (own-echo)", said)

    def on_dropped(self, event: Event, body: gateway.InboundDropped) -> None:
        """Check that a drop reason fits the author of the message."""
        said = self._inbound.get(event.inbound or "")
        if said is None or body.reason not in (Reason.OWN_ECHO, Reason.BOT_IGNORED):
            return
        who = _speaks(said)
        # A proxy's copy of a person's message counts as the person's.
        true = who.bot and who.stands_for is None if body.reason is Reason.BOT_IGNORED else who.echo_of is not None
        if true:
            return
        summary = f"{event.inbound}, posted by {who.peer.name}, was dropped as {body.reason.value}"
        expected = "the policy for other bots applies" if who.bot else "a turn: a person posted it"
        self.accuse(event, summary, expected, said, shown=f"{event.kind} ({body.reason.value})")


def _asking(work: str) -> str:
    """The message whose turn delegated a piece of work."""
    return work.rpartition(".")[0]


def _message(body: gateway.InboundReceived) -> _Message:
    """The key of a message, independent of the account that sees it."""
    place = body.address
    return place.channel, place.conversation, place.thread or "", body.message_id


def _speaks(event: Event) -> world.PeerSaid:
    assert isinstance(event.body, world.PeerSaid)
    return event.body
