"""Bound conversations, texts of mirrors, and sends that must have no effect: B1, D8, M2, P2."""

from collections import Counter

from trunkline.core.action_catalogue import Action
from trunkline.core.events import Body, Event, bindings, delivery, gateway
from trunkline.core.events.actions import TranscriptChanged
from trunkline.core.reasons import Reason
from trunkline.core.text.mirror_text import media_name
from trunkline.core.values import Address, IntentKind, IntentState
from trunkline.sim.events import processes, script, wire, world
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireLost
from trunkline.sim.index.binding_facts import BindingFacts
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import IntentFacts, Lane
from trunkline.sim.invariants.base import Checker, EvidenceKind
from trunkline.sim.invariants.routing.return_address import key_is_of

#: precedes the name of delegated work in its session key
_SUBAGENT = ":subagent:"
#: the fault that opens a thread and loses the response
_NEVER_TOLD = "thread/lose-response"

_Message = tuple[str, str, str, str]


class BindingLife(Checker, symptoms=("wrong place",)):
    """B1: Binding lifecycle and ownership.

    Messages of a bound conversation go to the bound session while the binding is active and unexpired, and to no bound
    session otherwise; a conversation has one binding, and one account of the gateway answers in it; the router chooses
    active ones; a refused binding leaves no thread.
    """

    our_keys_part = "the session of a conversation whose binding is over"

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


class NoSelfEcho(Checker, symptoms=("unasked",)):
    """D8: No self-echo.

    An own post that a platform echoes starts nothing; other bots and relays follow the configured policy and are not
    dropped wholesale.
    """

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


#: what changes a message that people have read
_CHANGES = (Action.EDIT, Action.DELETE, Action.UNSEND)
#: ends that leave a note; a part is marked as one
NOTED = frozenset(
    {IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.UNKNOWN, IntentState.MISPLACED}
)


class MirrorIsTruth(Checker, symptoms=("lost", "forgot")):
    """M2: Mirror equals what was sent.

    A mirrored text is that of the accepted chunks and names the attached files; a part is marked as one, and nothing is
    mirrored that people cannot see; its line changes if and only if its message does. The session that sent a message
    has a note if it did not arrive.
    """

    evidence = EvidenceKind.MIRRORS

    #: whether the gateway leaves notes
    _notes = False
    #: bad ends of what turns and hands sent, without a note so far
    _unnoted: dict[str, Event] = {}
    #: what has a note; one that an operator retried in vain needs no second one
    _has_note: set[str] = set()
    #: change -> what the platform did to a message of the gateway, until its line follows
    _changed: dict[str, Event] = {}

    def on_acted(self, event: Event, body: WireActed) -> None:
        if body.author == "bot" and body.action in _CHANGES:
            self._changed[event.intent or ""] = event

    def on_line_changed(self, event: Event, body: TranscriptChanged) -> None:
        """The line of a message changes as the message does."""
        if event.intent is None:
            # A message of a person; E5 judges it.
            return
        acted, facts = self._changed.pop(event.intent or "", None), self.run.intents.get(event.intent or "")
        self.exercised += 1
        did = None if acted is None else acted.body
        if facts is not None and any(isinstance(lost.body, WireLost) for lost in facts.losses):
            return
        if self.run.witnessed and not (isinstance(did, WireActed) and (did.action is not Action.EDIT) is body.deleted):
            summary = f"{event.intent} changes the line of {body.line}, and people see no such change"
            self._report(event, facts, summary, f"“{body.before}”")

    def on_process_started(self, _event: Event, body: gateway.ProcessStarted) -> None:
        self._notes = body.notes

    def on_settled(self, event: Event, body: delivery.IntentSettled, facts: IntentFacts) -> None:
        """A bad end is to have a note. Of a broken row it may be unknown which session sent it."""
        noted = facts.body.intent_kind is not IntentKind.NOTICE and body.state in NOTED
        if not self._notes or not noted or body.reason in (Reason.BROKEN_ROW, Reason.ABANDONED):
            return
        if event.inbound in self.run.admitted and event.intent not in self._has_note:
            self.exercised += 1
            self._unnoted.setdefault(event.intent or "", event)

    def on_noted(self, event: Event, body: gateway.TranscriptAppended) -> None:
        if body.role != "delivery":
            return
        self.exercised += 1
        facts = self.run.intents.get(event.intent or "")
        settled = None if facts is None or not facts.settled else facts.settled[-1].body
        # An end that is not recorded at all is for L1.
        lost = facts is not None and any(isinstance(lost.body, WireLost) for lost in facts.losses)
        bad = lost or not isinstance(settled, delivery.IntentSettled) or settled.state in NOTED
        home = self.run.admitted.get(event.inbound or "", body.session_id)
        if facts is not None and not (bad and home == body.session_id):
            where = "in another session" if bad else "and it did not end badly"
            self._report(event, facts, f"{event.intent} is noted as not arrived, {where}", "no note")
        self._unnoted.pop(event.intent or "", None)
        self._has_note.add(event.intent or "")

    def finish(self, last: Event) -> None:
        """Report bad ends that the session of their message never heard of, and changes without their line."""
        for intent, acted in self._changed.items():
            facts = self.run.intents.get(intent)
            message = None if facts is None else self.run.intents.get(facts.body.of or "")
            done = facts is not None and facts.over and facts.acked == facts.body.chunks
            # What was so already, and an edit to the same words, changes no line.
            did = acted.body
            same = isinstance(did, WireActed) and (did.repeated or did.text == did.before)
            if facts is not None and done and not same and message is not None and len(message.mirrors) == 1:
                self._report(acted, facts, f"{intent} changed a message, and not its line", "the line as people see it")
        for intent, settled in self._unnoted.items():
            summary = f"{intent} did not arrive, and the session that sent it has no note of it"
            expected = "a transcript line with the role delivery, in the transaction of the end"
            self.miss(last, settled, summary, expected, shown=f"{settled.kind}, and no note")

    def on_mirrored(self, event: Event, body: delivery.MirrorAppended) -> None:
        facts = self.run.intents.get(event.intent or "")
        if not self.run.witnessed:
            return
        self.exercised += 1
        if facts is not None and facts.vouched:
            return  # an operator vouches for what people saw
        if facts is None or not facts.accepts:
            self._report(event, facts, f"{event.intent} was mirrored, but never accepted", "no entry")
            return
        if len(facts.mirrors) > 1 and facts.mirrors[-2].seq > facts.accepts[-1].seq:
            self._report(event, facts, f"{event.intent} was mirrored again, and nothing was accepted since", "no entry")
        if len(facts.accepts) == facts.acked == facts.body.chunks == 1 and not body.partial:
            seen = facts.accepts[0].body
            if isinstance(seen, wire.WireAccepted) and seen.text == body.text and not seen.media:
                return
        texts, media = self._seen(facts)
        names = ", ".join(media_name(file) for file in media)
        said = body.text if texts == [body.text] and not media else "\n".join(filter(None, (*texts, names)))
        if body.text != said and _words(body.text) != _words(said):
            summary = f"{event.intent} is mirrored as “{body.text[:60]}”, and people saw “{said[:60]}”"
            self._report(event, facts, summary, f"“{said[:200]}”")
        if body.partial is not (facts.acked < facts.body.chunks):
            whole = f"{facts.acked} of {facts.body.chunks} chunks have a receipt"
            summary = f"the entry of {event.intent} is {'' if body.partial else 'not '}marked as a part; {whole}"
            self._report(event, facts, summary, whole)

    def _seen(self, facts: IntentFacts) -> tuple[list[str], tuple[str, ...]]:
        """The texts of the chunks with a receipt, as people see them, and the attached files."""
        mark = "" if self.run.limits is None else self.run.limits.mark or ""
        texts: dict[int, str] = {}
        media: tuple[str, ...] = ()
        for accept in facts.accepts:
            made = accept.body
            if isinstance(made, wire.WireAccepted) and made.chunk < facts.acked:
                texts[made.chunk] = made.text.removeprefix(mark)
                media = media or made.media
        return [texts[chunk] for chunk in sorted(texts)], media

    def _report(self, event: Event, facts: IntentFacts | None, summary: str, expected: str) -> None:
        accepts = () if facts is None else facts.accepts
        self.accuse(event, summary, expected, *accepts, shown=f"“{getattr(event.body, 'text', '')[:200]}”")


def _words(text: str) -> str:
    """The text without the white space at which it was cut."""
    return "".join(text.split())


_NO_EFFECT = "no effect except the answer to the caller"


class DryRunHasNoEffect(Checker, symptoms=("unasked",)):
    """P2: Cancel, dry run and none are absolute.

    A message that a hook cancelled is not prepared, sent or mirrored; a dry run creates no session and no intent; both
    are reported as what they are.
    """

    _cancelled: dict[str, Event] = {}
    #: seqs of dry runs and of the events that led to them
    _previews: dict[int, Event] = {}
    #: seqs of the dry runs that clients requested
    _dry_runs: dict[int | None, Event] = {}

    def on_hook(self, event: Event, body: delivery.HookSending) -> None:
        if body.verdict == "cancelled":
            self.exercised += 1
            self._cancelled[event.intent or ""] = event
        else:
            # The hook was called again after a crash, and kept it this time.
            self._cancelled.pop(event.intent or "", None)

    def on_previewed(self, event: Event, _body: delivery.SendPreviewed) -> None:
        self.exercised += 1
        for seq in (event.seq, event.cause):
            if seq is not None:
                self._previews[seq] = event

    @on(
        *(delivery.IntentPrepared, gateway.SessionCreated, wire.WireAccepted, wire.WireRefused),
        after=(delivery.HookSending, delivery.SendPreviewed, script.ClientRequested),
    )
    def _effect(self, event: Event, _body: Body) -> None:
        cancelled = self._cancelled.get(event.intent or "")
        if cancelled is not None:
            summary = f"{event.intent} was cancelled by a hook, and has an effect all the same"
            self.accuse(event, summary, _NO_EFFECT, cancelled, shown=event.kind)
        _, client = self.run.asked.get(event.cause or 0, ("", None))
        preview = self._previews.get(event.cause or 0) or self._dry_runs.get(client)
        if preview is not None:
            self.accuse(event, f"a dry run has an effect: {event.kind}", _NO_EFFECT, preview, shown=event.kind)

    def on_told(self, event: Event, body: delivery.HookSent) -> None:
        cancelled = self._cancelled.get(event.intent or "")
        if cancelled is not None and body.state is not IntentState.CANCELLED:
            summary = f"{event.intent} was cancelled, and hooks were notified that it is {body.state}"
            self.accuse(event, summary, _NO_EFFECT, cancelled, shown=event.kind)

    def on_client_asked(self, event: Event, body: script.ClientRequested) -> None:
        if body.dry_run:
            self.exercised += 1
            self._dry_runs[event.seq] = event
