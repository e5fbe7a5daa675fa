"""Turns, their sessions and their routes: R3, S4, B2."""

from trunkline.core.events import Event, bindings, delivery, gateway
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, WorkKind
from trunkline.sim.events import processes, wire, world
from trunkline.sim.index.binding_facts import BindingFacts
from trunkline.sim.index.intent_facts import IntentFacts
from trunkline.sim.index.projection import on
from trunkline.sim.invariants.base import Checker, EvidenceKind

#: the gateway's own messages; a notice replaces an answer at its place, and R1 and R2 judge it
_NO_ANSWERS = (IntentKind.ANNOUNCE, IntentKind.NOTICE, IntentKind.SECOND)
#: seconds within which the gateway must use a new token
_TO_LEARN = 0.5
#: seconds by which the event of a commit may be later than the commit
_SLACK = 5.0
#: receipts of misplaced chunks, and of chunks that only an operator vouches for
_NOT_THERE = (Reason.MISPLACED, Reason.OPERATOR_SENT)
_IN_ORDER = "one turn at a time in a session, in order of admission"


class FrozenRoute(Checker, symptoms=("wrong place",)):
    """R3: Route is frozen at admission.

    The answers to a message go to its own place, as decided at admission; tool sends, other messages and other places
    of the session do not change that.
    """

    from_anywhere = True
    evidence = EvidenceKind.MISPLACED

    def on_routed(self, event: Event, body: gateway.RouteDecided) -> None:
        """The decision looks at the message, not at what the session did before."""
        origin = self.run.origin(event.inbound)
        if origin is None or body.reply_to is None:
            return
        self.exercised += 1
        place = origin[0]
        if body.reply_to == place:
            return
        room = place.parent or place.conversation
        hangs = room in (body.reply_to.parent, body.reply_to.conversation)
        if body.reply_to.lane == place.lane or (hangs and body.reply_reason is Reason.REPLY_IN_OPENED_THREAD):
            return
        self._astray(event, f"the route of {event.inbound} was taken from elsewhere", place, body.reply_to)

    def on_prepared(self, event: Event, body: delivery.IntentPrepared) -> None:
        routed = self.run.routed.get(event.inbound or "")
        if routed is None or body.targeted or body.intent_kind in _NO_ANSWERS:
            return
        assert isinstance(routed.body, gateway.RouteDecided)
        frozen = routed.body.reply_to
        self.exercised += 1
        left = frozen is not None and frozen != body.address and frozen.lane != body.address.lane
        if frozen is None or not left or self.run.hooks.may_go(event.intent, body.address):
            return
        _, message = self.run.origin(event.inbound) or (None, None)
        if not self.run.answered.in_thread(event.turn, frozen, body.address, message):
            self._astray(event, f"{event.intent} left its route", frozen, body.address, routed)

    def _astray(self, event: Event, summary: str, right: Address, wrong: Address, *causes: Event) -> None:
        self.accuse(event, summary, f"at {self.run.name(right)}", *causes, shown=f"at {self.run.name(wrong)}")


class OneSession(Checker, symptoms=("late", "forgot")):
    """S4: Concurrency of sessions.

    One session for each key and generation, however events interleave; one turn at a time, in order; and results and
    messages of a session that was reset start no turn in the session that has its key now.
    """

    from_anywhere = True

    _created: dict[str, Event] = {}
    #: session -> admitted work that has not ended, in order
    _waiting: dict[str, list[str]] = {}
    _running: dict[str, Event] = {}
    #: work whose turn has not begun -> its admission, and the first turn that began before it
    _overtaken: dict[str, tuple[Event, Event]] = {}
    _admissions: dict[str, Event] = {}
    #: session key -> its last reset
    _resets: dict[str, Event] = {}

    def on_session(self, event: Event, body: gateway.SessionCreated) -> None:
        self.exercised += 1
        first = self._created.setdefault(body.session_key, event)
        if first is event:
            return
        summary = f"session {body.session_key} was created twice"
        expected = f"#{first.seq} {getattr(first.body, 'session_id', '')}, and no other"
        self.accuse(event, summary, expected, first, shown=[f"#{event.seq} {body.session_id}"])

    def on_key_free(self, event: Event, body: gateway.SessionReset | gateway.SessionMoved) -> None:
        """A key that its session left may get another one."""
        if isinstance(body, gateway.SessionMoved):
            self._created.pop(body.old_key, None)
        else:
            self._resets[body.session_key] = event

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        self._waiting.setdefault(body.session_id, []).append(event.inbound or "")
        self._admissions[event.inbound or ""] = event

    def on_started(self, event: Event, body: gateway.TurnStarted) -> None:
        session, waiting = body.session_id, self._waiting.get(body.session_id, [])
        self.exercised += 1
        other = self._running.get(session)
        if other is not None and other.turn != event.turn:
            summary = f"{event.turn} began while {other.turn} ran in the same session"
            self.accuse(event, summary, _IN_ORDER, other, shown=f"{event.turn}")
        elif event.inbound in waiting and waiting[0] != event.inbound:
            self._overtaken.setdefault(waiting[0], (self._admissions[waiting[0]], event))
        overtaken = self._overtaken.pop(event.inbound or "", None)
        if overtaken is not None:
            early = overtaken[1]
            summary = f"{early.turn} began before that of {event.inbound}, which came first"
            self.accuse(early, summary, _IN_ORDER, shown=f"{early.turn}")
        self._running[session] = event
        reset = self._resets.get(body.session_key) if self._resets else None
        if reset is not None:
            self._compare_generation(event, body, reset)

    def _compare_generation(self, event: Event, body: gateway.TurnStarted, reset: Event) -> None:
        """Compare the session of a turn with the one that its work was for."""
        if body.work is WorkKind.CALLBACK:
            belongs = self.run.delegated_in.get(self.run.callbacks.get(event.inbound or "", ""), "")
        else:
            belongs = self.run.admitted.get(event.inbound or "", "")
        if belongs not in ("", body.session_id):
            summary = f"{event.turn} belongs to session {belongs} and runs in {body.session_id}"
            expected = f"no turn in the session that began at #{reset.seq}"
            self.accuse(event, summary, expected, reset, shown=f"a turn for a {body.work.value} of {belongs}")

    def finish(self, last: Event) -> None:
        """Report turns that never began, although those of later work did."""
        for inbound, (admitted, early) in self._overtaken.items():
            summary = f"{early.turn} began before that of {inbound}, which came first"
            self.accuse(early, summary, _IN_ORDER, admitted, shown=f"{early.turn}", missing=admitted)

    def on_ended(self, event: Event, _body: gateway.TurnEnded) -> None:
        session = self.run.running.get(event.turn or "", "")
        running = self._running.get(session)
        if running is not None and running.turn == event.turn:
            del self._running[session]
        # A turn may run in another session than it was admitted to.
        waiting = self._waiting.get(self.run.admitted.get(event.inbound or "", ""), [])
        if event.inbound in waiting:
            waiting.remove(event.inbound or "")

    def on_process_gone(self, _event: Event, _body: processes.ProcessCrashed | processes.ProcessStopped) -> None:
        """Admitted work of the ended process runs again, in the same order."""
        self._running.clear()


class CurrentRoute(Checker, symptoms=("forgot",)):
    """B2: Freshness.

    After a reload, the new configuration decides every route; each request carries the newest token that the gateway
    has; and every message in a bound conversation, of bots and webhooks too, keeps it bound.
    """

    #: process -> its last reload
    _reloads: dict[int, Event] = {}
    #: binding -> when a message was in its conversation that has not touched it yet, and its commit
    _said: dict[str, tuple[float, Event]] = {}
    _tokens: dict[tuple[str, str], Event] = {}

    def on_reloaded(self, event: Event, _body: gateway.ConfigReloaded) -> None:
        self._reloads[event.generation] = event

    def on_routed(self, event: Event, body: gateway.RouteDecided) -> None:
        reload = self._reloads.get(event.generation)
        if reload is None:
            return
        assert isinstance(reload.body, gateway.ConfigReloaded)
        self.exercised += 1
        if body.revision < reload.body.revision:
            summary = f"{event.inbound} was routed by configuration {body.revision}, not {reload.body.revision}"
            expected = f"configuration {reload.body.revision}, loaded at #{reload.seq}"
            self.accuse(event, summary, expected, reload, shown=f"configuration {body.revision}, agent {body.agent}")

    def on_admitted(self, event: Event, body: gateway.InboundAdmitted) -> None:
        routed = self.run.routed.get(event.inbound or "")
        # The answer to a chat command shows whether it was received.
        if routed is not None and body.work is WorkKind.MESSAGE:
            received = self.run.received.get(event.inbound or "", event)
            self._active(routed.binding, event, received.at)

    def on_acked(self, event: Event, body: delivery.ChunkAcked, facts: IntentFacts) -> None:
        if body.reason not in _NOT_THERE:
            seen = facts.accepts[-1] if facts.accepts else event
            self._active(facts.prepared.binding, event, seen.at)

    def _active(self, binding: str | None, event: Event, at: float) -> None:
        """Expect a touch of the binding of a conversation, for the time of a message and not of its commit."""
        bound = self.run.bindings.by_id.get(binding or "")
        if bound is None or (bound.ended is not None and bound.ended.seq < event.seq):
            return
        if bound.ending is None and not bound.routes(event.at):
            return  # expired: nothing moves its deadlines
        self.exercised += 1
        # What is stored has the time of the wall clock, which the script may have set back.
        at = min(at, self.run.heartbeats.wall(event))
        self._look(bound, event.at)
        if bound.last_activity_at < at - _SLACK:
            self._said.setdefault(bound.id, (at, event))

    def on_touched(self, event: Event, body: bindings.BindingTouched) -> None:
        said = self._said.get(event.binding or "")
        bound = self.run.bindings.by_id.get(event.binding or "")
        if said is None or bound is None:
            return
        self._look(bound, event.at)
        if body.last_activity_at >= said[0] - _SLACK:
            self._said.pop(bound.id, None)

    def finish(self, last: Event) -> None:
        """Report messages that never touched their binding."""
        for binding in tuple(self._said):
            self._look(self.run.bindings.by_id[binding], None)

    def _look(self, bound: BindingFacts, now: float | None) -> None:
        """A message did not touch its binding in time, so its deadlines stayed too early."""
        at, said = self._said.get(bound.id, (0.0, None))
        if said is None or (now is not None and now <= said.at + _SLACK):
            return
        del self._said[bound.id]
        summary = f"a message in {self.run.name(bound.body.conversation)} did not touch {bound.id}"
        seen = f"{said.kind}, and nothing for {_SLACK:g} s"
        self.accuse(said, summary, f"binding.touched of {bound.id} at {at:.3f}s", bound.bound, shown=seen, missing=said)

    def on_rotated(self, event: Event, body: world.CredentialRotated) -> None:
        self._tokens[body.channel, body.account] = event

    @on(wire.WireAccepted, wire.WireRefused, after=(world.CredentialRotated,))
    def _used(self, event: Event, body: wire.WireAccepted | wire.WireRefused) -> None:
        newest = self._tokens.get((body.address.channel, body.address.account))
        if newest is None or not body.credential or not isinstance(newest.body, world.CredentialRotated):
            return
        self.exercised += 1
        given = newest.at + newest.body.tell
        facts = self.run.intents.get(event.intent or "")
        left = None if facts is None else facts.started
        # The network is slow: what counts is when the request left. A late one is of an earlier attempt.
        since = event.at if left is None else left.at if getattr(left.body, "attempt", 0) == body.attempt else given
        if body.credential >= newest.body.number or since <= given + _TO_LEARN:
            return
        summary = f"{event.intent} was sent with token {body.credential} of {body.address.channel}"
        expected = f"token {newest.body.number}, which the gateway has had since {given:.3f}s"
        self.accuse(event, summary, expected, newest, shown=f"token {body.credential}")
