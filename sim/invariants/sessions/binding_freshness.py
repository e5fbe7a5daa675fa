"""What B2 and R2 say of bound conversations: activity, tokens, and who speaks."""

from __future__ import annotations

from trunkline.core.events import Event
from trunkline.core.events.bindings import BindingTouched
from trunkline.core.events.delivery import ChunkAcked, IntentPrepared
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.reasons import Reason
from trunkline.core.values import WorkKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import CredentialRotated
from trunkline.sim.index.binding_facts import BindingFacts
from trunkline.sim.index.projection import Handlers
from trunkline.sim.index.run_facts import RunFacts
from trunkline.sim.invariants.base import Checker

#: seconds within which a gateway that was given a new token is to use it
_TO_LEARN = 0.5
#: seconds by which the story of a commit may be later than what it tells
_SLACK = 5.0
#: acks of what people see elsewhere, or of what nobody but an operator says that they see
_NOT_THERE = (Reason.MISPLACED, Reason.OPERATOR_SENT)


class FreshActivity(Checker):
    """The part of B2 that is about bindings: what is said there keeps it bound, and each token is the newest."""

    def __init__(self, run: RunFacts) -> None:
        super().__init__(run)
        #: binding -> what was said there, that it has not been told of
        self._said: dict[str, Event] = {}
        self._tokens: dict[tuple[str, str], Event] = {}

    def handlers(self) -> Handlers:
        """What is said by both sides, what bindings are told of it, and what platforms say of tokens."""
        return {
            InboundAdmitted: self._admitted,
            ChunkAcked: self._acked,
            BindingTouched: self._touched,
            CredentialRotated: self._rotated,
            WireAccepted: self._used,
            WireRefused: self._used,
        }

    def _admitted(self, event: Event) -> None:
        body, routed = event.body, self.run.routed.get(event.inbound or "")
        assert isinstance(body, InboundAdmitted)
        # What is said to the gateway itself is seen by its answer.
        if routed is not None and body.work is WorkKind.MESSAGE:
            self._active(routed.binding, event)

    def _acked(self, event: Event) -> None:
        body, facts = event.body, self.run.intents.get(event.intent or "")
        assert isinstance(body, ChunkAcked)
        if facts is not None and body.reason not in _NOT_THERE:
            self._active(facts.prepared.binding, event)

    def _active(self, binding: str | None, event: Event) -> None:
        """Something is said in a conversation, for its binding."""
        bound = self.run.bindings.by_id.get(binding or "")
        if bound is None or (bound.ended is not None and bound.ended.seq < event.seq):
            return
        if bound.ending is None and not bound.routes(event.at):
            return  # over by its deadlines, which nothing moves any more
        self.exercised += 1
        self._look(bound, event.at)
        if bound.last_activity_at < event.at - _SLACK:
            self._said.setdefault(bound.id, event)

    def _touched(self, event: Event) -> None:
        body, said = event.body, self._said.get(event.binding or "")
        assert isinstance(body, BindingTouched)
        bound = self.run.bindings.by_id.get(event.binding or "")
        if said is None or bound is None:
            return
        self._look(bound, event.at)
        if body.last_activity_at >= said.at - _SLACK:
            self._said.pop(bound.id, None)

    def finish(self, last: Event) -> None:
        """Bindings that were never told."""
        for binding in tuple(self._said):
            self._look(self.run.bindings.by_id[binding], None)

    def _look(self, bound: BindingFacts, now: float | None) -> None:
        """Something was said, and the binding was not told in time: the deadlines that it had were too early."""
        said = self._said.get(bound.id)
        if said is None or (now is not None and now <= said.at + _SLACK):
            return
        del self._said[bound.id]
        self.violate(
            at=said.seq,
            summary=f"something was said in {self.run.name(bound.body.conversation)}, and {bound.id} was not told",
            expected=[f"binding.touched of {bound.id} at {said.at:.3f}s"],
            actual=[f"#{said.seq} {said.at:.3f}s {said.kind}, and nothing for {_SLACK:g} s"],
            evidence=[bound.bound.seq, said.seq],
            first_wrong=said.seq,
        )

    def _rotated(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, CredentialRotated)
        self._tokens[body.channel, body.account] = event

    def _used(self, event: Event) -> None:
        body = event.body
        assert isinstance(body, WireAccepted | WireRefused)
        newest = self._tokens.get((body.address.channel, body.address.account))
        if newest is None or not body.credential or not isinstance(newest.body, CredentialRotated):
            return
        self.exercised += 1
        given = newest.at + newest.body.tell
        if body.credential >= newest.body.number or event.at <= given + _TO_LEARN:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was sent with token {body.credential} of {body.address.channel}",
            expected=[f"token {newest.body.number}, which the gateway has since {given:.3f}s"],
            actual=[f"#{event.seq} {event.at:.3f}s token {body.credential}"],
            evidence=[newest.seq, event.seq],
            first_wrong=event.seq,
        )


class IdentityFidelity(Checker):
    """The part of R2 that is about who speaks: who was meant to, or an event says so before."""

    def meant(self, event: Event) -> None:
        """A binding that has lost its identity is spoken for by the bot: that was told once."""
        facts = self.run.bindings.by_id.get(event.binding or "")
        body = event.body
        assert isinstance(body, IntentPrepared)
        if facts is None or facts.body.identity is None or body.identity is not None or facts.degraded is not None:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} is meant to be said by the bot in a conversation of {facts.body.identity}",
            expected=[f"{facts.body.identity}, or binding.degraded before"],
            actual=[f"#{event.seq} {event.at:.3f}s intent.prepared without an identity"],
            evidence=[facts.bound.seq, event.seq],
            first_wrong=event.seq,
        )

    def spoken(self, event: Event) -> None:
        """Who has said it, as people see it."""
        body, facts = event.body, self.run.intents.get(event.intent or "")
        assert isinstance(body, WireAccepted)
        if facts is None or (facts.body.identity is None and body.identity is None):
            return
        self.exercised += 1
        since = self.run.bindings.by_bot.get(event.intent or "")
        told = since is not None and since <= body.chunk
        if body.identity == facts.body.identity or (body.identity is None and told):
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was said by {body.identity or 'the bot'}, in silence",
            expected=[f"{facts.body.identity or 'the bot'}, or a fallback.identity before"],
            actual=[f"#{event.seq} {event.at:.3f}s “{body.text}” by {body.identity or 'the bot'}"],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=event.seq,
        )
