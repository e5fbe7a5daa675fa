"""Turns, their sessions and their routes: R3, S4, S5, B2."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import (
    ConfigReloaded,
    InboundAdmitted,
    RouteDecided,
    SessionCreated,
    SessionMoved,
    SessionReset,
    TurnEnded,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, WorkKind
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker, EvidenceKind, cited
from trunkline.sim.invariants.routing.binding_freshness import FreshActivity

#: the gateway's own messages; a notice replaces an answer at its place, and R1 and R2 judge it
_NO_ANSWERS = (IntentKind.ANNOUNCE, IntentKind.NOTICE, IntentKind.SECOND)


class FrozenRoute(Checker):
    """R3: the message itself decides where answers go, once, and nothing changes that later."""

    id = "R3"
    from_anywhere = True
    title = "Route is frozen at admission"
    evidence = EvidenceKind.MISPLACED
    sentence = (
        "The answers to a message go to its own place, as decided at admission; tool sends, other messages and other "
        "places of the session do not change that."
    )

    @on(RouteDecided)
    def _routed(self, event: Event, body: RouteDecided) -> None:
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
        self._astray(event, f"the route of {event.inbound} was taken from elsewhere", place, body.reply_to, [event.seq])

    @on(IntentPrepared)
    def _prepared(self, event: Event, body: IntentPrepared) -> None:
        routed = self.run.routed.get(event.inbound or "")
        if routed is None or body.targeted or body.intent_kind in _NO_ANSWERS:
            return
        assert isinstance(routed.body, RouteDecided)
        frozen = routed.body.reply_to
        self.exercised += 1
        left = frozen is not None and frozen != body.address and frozen.lane != body.address.lane
        if frozen is None or not left or self.run.hooks.may_go(event.intent, body.address):
            return
        if not self.run.answered.in_thread(event.turn, frozen, body.address):
            self._astray(event, f"{event.intent} left its route", frozen, body.address, [routed.seq, event.seq])

    def _astray(self, event: Event, summary: str, right: Address, wrong: Address, evidence: list[int]) -> None:
        self.violate(
            at=event.seq,
            summary=summary,
            expected=[f"at {self.run.name(right)}"],
            actual=[cited(event, f"at {self.run.name(wrong)}")],
            evidence=evidence,
        )


class OneSession(Checker):
    """S4: each generation has one session; its turns never overlap, and run in the order of admission."""

    id = "S4"
    from_anywhere = True
    title = "Concurrency of sessions"
    sentence = "One session for each key and generation, however events interleave; one turn at a time, in order."

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._created: dict[str, Event] = {}
        #: session -> admitted work that has not ended, in order
        self._waiting: dict[str, list[str]] = {}
        self._running: dict[str, Event] = {}
        #: work whose turn has not begun -> its admission, and the first turn that began before it
        self._overtaken: dict[str, tuple[Event, Event]] = {}
        self._admissions: dict[str, Event] = {}

    @on(SessionCreated)
    def _session(self, event: Event, body: SessionCreated) -> None:
        self.exercised += 1
        first = self._created.setdefault(body.session_key, event)
        if first is event:
            return
        self.violate(
            at=event.seq,
            summary=f"session {body.session_key} was created twice",
            expected=[f"#{first.seq} {getattr(first.body, 'session_id', '')}, and no other"],
            actual=[f"#{event.seq} {body.session_id}"],
            evidence=[first.seq, event.seq],
        )

    @on(SessionReset, SessionMoved)
    def _key_free(self, event: Event, _body: SessionReset | SessionMoved) -> None:
        """A key that its session left may get another one."""
        if isinstance(event.body, SessionMoved):
            self._created.pop(event.body.old_key, None)

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        self._waiting.setdefault(body.session_id, []).append(event.inbound or "")
        self._admissions[event.inbound or ""] = event

    @on(TurnStarted)
    def _started(self, event: Event, body: TurnStarted) -> None:
        session, waiting = body.session_id, self._waiting.get(body.session_id, [])
        self.exercised += 1
        other = self._running.get(session)
        if other is not None and other.turn != event.turn:
            self._report(
                event, f"{event.turn} began while {other.turn} ran in the same session", [other.seq, event.seq]
            )
        elif event.inbound in waiting and waiting[0] != event.inbound:
            self._overtaken.setdefault(waiting[0], (self._admissions[waiting[0]], event))
        overtaken = self._overtaken.pop(event.inbound or "", None)
        if overtaken is not None:
            early = overtaken[1]
            self._report(early, f"{early.turn} began before that of {event.inbound}, which came first", [early.seq])
        self._running[session] = event

    def finish(self, last: Event) -> None:
        """Report turns that never began, although those of later work did."""
        for inbound, (admitted, early) in self._overtaken.items():
            summary = f"{early.turn} began before that of {inbound}, which came first"
            self._report(early, summary, [admitted.seq, early.seq], missing_after=admitted.seq)

    def _report(self, event: Event, summary: str, evidence: list[int], missing_after: int | None = None) -> None:
        self.violate(
            at=event.seq,
            summary=summary,
            expected=["one turn at a time in a session, in order of admission"],
            actual=[cited(event, f"{event.turn}")],
            evidence=evidence,
            missing_after=missing_after,
        )

    @on(TurnEnded)
    def _ended(self, event: Event, _body: TurnEnded) -> None:
        session = self.run.running.get(event.turn or "", "")
        running = self._running.get(session)
        if running is not None and running.turn == event.turn:
            del self._running[session]
        # S5 judges a turn that runs in another session than it was admitted to.
        waiting = self._waiting.get(self.run.admitted.get(event.inbound or "", ""), [])
        if event.inbound in waiting:
            waiting.remove(event.inbound or "")

    @on(ProcessCrashed, ProcessStopped)
    def _process_gone(self, _event: Event, _body: ProcessCrashed | ProcessStopped) -> None:
        """Admitted work of the ended process runs again, in the same order."""
        self._running.clear()


class GenerationFence(Checker):
    """S5: results and messages of a reset session are not applied to the new one."""

    id = "S5"
    title = "Generation fence"
    sentence = "Results and messages of a session that was reset start no turn in the session that has its key now."

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        self._resets: dict[str, Event] = {}

    @on(SessionReset)
    def _reset(self, event: Event, body: SessionReset) -> None:
        self._resets[body.session_key] = event

    @on(TurnStarted)
    def _started(self, event: Event, body: TurnStarted) -> None:
        reset = self._resets.get(body.session_key)
        if reset is None:
            return
        self.exercised += 1
        if body.work is WorkKind.CALLBACK:
            delegation = self.run.callbacks.get(event.inbound or "", "")
            belongs = self.run.delegated_in.get(delegation, "")
        else:
            belongs = self.run.admitted.get(event.inbound or "", "")
        if belongs and belongs != body.session_id:
            self.violate(
                at=event.seq,
                summary=f"{event.turn} belongs to session {belongs} and runs in {body.session_id}",
                expected=[f"no turn in the session that began at #{reset.seq}"],
                actual=[cited(event, f"a turn for a {body.work.value} of {belongs}")],
                evidence=[reset.seq, event.seq],
            )


class CurrentRoute(FreshActivity):
    """B2: routes follow the newest configuration, requests carry the newest token, and activity is recorded."""

    id = "B2"
    title = "Freshness"
    sentence = (
        "After a reload, the new configuration decides every route; each request carries the newest token that the "
        "gateway has; and every message in a bound conversation, of bots and webhooks too, keeps it bound."
    )

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: process -> its last reload
        self._reloads: dict[int, Event] = {}

    @on(ConfigReloaded)
    def _reloaded(self, event: Event, _body: ConfigReloaded) -> None:
        self._reloads[event.generation] = event

    @on(RouteDecided)
    def _routed(self, event: Event, body: RouteDecided) -> None:
        reload = self._reloads.get(event.generation)
        if reload is None:
            return
        assert isinstance(reload.body, ConfigReloaded)
        self.exercised += 1
        if body.revision < reload.body.revision:
            self.violate(
                at=event.seq,
                summary=f"{event.inbound} was routed by configuration {body.revision}, not {reload.body.revision}",
                expected=[f"configuration {reload.body.revision}, loaded at #{reload.seq}"],
                actual=[cited(event, f"configuration {body.revision}, agent {body.agent}")],
                evidence=[reload.seq, event.seq],
            )
