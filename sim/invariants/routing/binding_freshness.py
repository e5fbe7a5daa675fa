"""The parts of B2 and R2 about bound conversations: activity, tokens and identities."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.bindings import BindingTouched
from trunkline.core.events.delivery import AttemptStarted, ChunkAcked, IntentPrepared
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.reasons import Reason
from trunkline.core.values import WorkKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import CredentialRotated
from trunkline.sim.index.binding_facts import BindingFacts
from trunkline.sim.index.projection import on
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker, cited

#: seconds within which the gateway must use a new token
_TO_LEARN = 0.5
#: seconds by which the event of a commit may be later than the commit
_SLACK = 5.0
#: receipts of misplaced chunks, and of chunks that only an operator vouches for
_NOT_THERE = (Reason.MISPLACED, Reason.OPERATOR_SENT)


class FreshActivity(Checker):
    """The part of B2 about bindings: messages keep a conversation bound, and each token is the newest."""

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: binding -> when a message was in its conversation that has not touched it yet, and its commit
        self._said: dict[str, tuple[float, Event]] = {}
        self._tokens: dict[tuple[str, str], Event] = {}

    @on(InboundAdmitted)
    def _admitted(self, event: Event, body: InboundAdmitted) -> None:
        routed = self.run.routed.get(event.inbound or "")
        # The answer to a chat command shows whether it was received.
        if routed is not None and body.work is WorkKind.MESSAGE:
            received = self.run.received.get(event.inbound or "", event)
            self._active(routed.binding, event, received.at)

    @on(ChunkAcked)
    def _acked(self, event: Event, body: ChunkAcked) -> None:
        facts = self.run.intents.get(event.intent or "")
        if facts is not None and body.reason not in _NOT_THERE:
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
        self._look(bound, event.at)
        if bound.last_activity_at < at - _SLACK:
            self._said.setdefault(bound.id, (at, event))

    @on(BindingTouched)
    def _touched(self, event: Event, body: BindingTouched) -> None:
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
        self.violate(
            at=said.seq,
            summary=f"a message in {self.run.name(bound.body.conversation)} did not touch {bound.id}",
            expected=[f"binding.touched of {bound.id} at {at:.3f}s"],
            actual=[cited(said, f"{said.kind}, and nothing for {_SLACK:g} s")],
            evidence=[bound.bound.seq, said.seq],
            missing_after=said.seq,
        )

    @on(CredentialRotated)
    def _rotated(self, event: Event, body: CredentialRotated) -> None:
        self._tokens[body.channel, body.account] = event

    @on(WireAccepted, WireRefused)
    def _used(self, event: Event, body: WireAccepted | WireRefused) -> None:
        newest = self._tokens.get((body.address.channel, body.address.account))
        if newest is None or not body.credential or not isinstance(newest.body, CredentialRotated):
            return
        self.exercised += 1
        given = newest.at + newest.body.tell
        facts = self.run.intents.get(event.intent or "")
        left = None if facts is None else facts.started
        # The network is slow: what counts is when the request left. A late one is of an earlier attempt.
        since = event.at if left is None else left.at if _attempt(left) == body.attempt else given
        if body.credential >= newest.body.number or since <= given + _TO_LEARN:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was sent with token {body.credential} of {body.address.channel}",
            expected=[f"token {newest.body.number}, which the gateway has had since {given:.3f}s"],
            actual=[cited(event, f"token {body.credential}")],
            evidence=[newest.seq, event.seq],
        )


def _attempt(started: Event) -> int:
    return started.body.attempt if isinstance(started.body, AttemptStarted) else 0


class IdentityFidelity(Checker):
    """The part of R2 about identities: the intended one posts, or an event announces another before."""

    @on(IntentPrepared)
    def meant(self, event: Event, body: IntentPrepared) -> None:
        """The bot may post for a binding that lost its identity, after that was recorded once."""
        facts = self.run.bindings.by_id.get(event.binding or "")
        if facts is None or facts.body.identity is None or body.identity is not None or facts.degraded is not None:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was prepared for the bot in a conversation of {facts.body.identity}",
            expected=[f"{facts.body.identity}, or binding.degraded before"],
            actual=[cited(event, "intent.prepared without an identity")],
            evidence=[facts.bound.seq, event.seq],
        )

    def spoken(self, event: Event) -> None:
        """Compare the visible identity with the intended one."""
        body, facts = event.body, self.run.intents.get(event.intent or "")
        assert isinstance(body, WireAccepted)
        if facts is None or (facts.body.identity is None and body.identity is None):
            return
        self.exercised += 1
        since = self.run.bindings.by_bot.get(event.intent or "")
        recorded = since is not None and since <= body.chunk
        if body.identity == facts.body.identity or (body.identity is None and recorded):
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was posted by {body.identity or 'the bot'} without a recorded fallback",
            expected=[f"{facts.body.identity or 'the bot'}, or a fallback.identity before"],
            actual=[cited(event, f"“{body.text}” by {body.identity or 'the bot'}")],
            evidence=[facts.prepared.seq, event.seq],
        )
