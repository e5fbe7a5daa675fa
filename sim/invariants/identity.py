"""What B2 and R2 say of bound conversations: activity, tokens, and who speaks."""

from __future__ import annotations

from collections.abc import Callable

from core.events import Body, Event
from core.events.bodies import ChunkAcked, CredentialRotated, IntentPrepared, WireAccepted, WireRefused
from sim.invariants.base import Checker
from sim.invariants.story import Story

#: seconds within which a gateway that was given a new token is to use it
_TO_LEARN = 0.5
#: seconds by which the story of a commit may be later than what it tells
_SLACK = 5.0


class FreshActivity(Checker):
    """The part of B2 that is about bindings: what is said there keeps it bound, and each token is the newest."""

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        #: binding -> the last ack for it
        self._acked: dict[str, Event] = {}
        self._tokens: dict[tuple[str, str], Event] = {}

    def handlers(self) -> dict[type[Body], Callable[[Event], None]]:
        """Acks, and what platforms say of tokens."""
        return {
            ChunkAcked: self._ack,
            CredentialRotated: self._rotated,
            WireAccepted: self._used,
            WireRefused: self._used,
        }

    def _ack(self, event: Event) -> None:
        facts = self.story.intents.get(event.intent or "")
        if facts is not None and facts.prepared.binding is not None:
            self.exercised += 1
            self._acked[facts.prepared.binding] = event

    def finish(self, last: Event) -> None:
        """Bindings that were not told of the last thing that was said in them."""
        for binding, acked in self._acked.items():
            facts = self.story.bound.by_id.get(binding)
            if facts is None or facts.last_activity_at >= acked.at - _SLACK:
                continue
            if facts.ended is not None and facts.ended.seq < acked.seq:
                continue
            self.violate(
                at=acked.seq,
                summary=f"something was said in {self.story.name(facts.body.conversation)}, and {binding} was not told",
                expected=[f"binding.touched of {binding} at {acked.at:.3f}s"],
                actual=[f"its last activity is {facts.last_activity_at:.3f}s"],
                evidence=[facts.bound.seq, acked.seq],
                first_wrong=acked.seq,
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
        if body.credential >= newest.body.number or event.at <= newest.at + _TO_LEARN:
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was sent with token {body.credential} of {body.address.channel}",
            expected=[f"token {newest.body.number}, which the gateway has since {newest.at:.3f}s"],
            actual=[f"#{event.seq} {event.at:.3f}s token {body.credential}"],
            evidence=[newest.seq, event.seq],
            first_wrong=event.seq,
        )


class SpokenAsMeant(Checker):
    """The part of R2 that is about who speaks: who was meant to, or an event says so before."""

    def meant(self, event: Event) -> None:
        """A binding that has lost its identity is spoken for by the bot: that was told once."""
        facts = self.story.bound.by_id.get(event.binding or "")
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
        body, facts = event.body, self.story.intents.get(event.intent or "")
        assert isinstance(body, WireAccepted)
        if facts is None or (facts.body.identity is None and body.identity is None):
            return
        self.exercised += 1
        other = (event.intent or "", body.chunk) in self.story.bound.other_identity
        if body.identity == facts.body.identity or (body.identity is None and other):
            return
        self.violate(
            at=event.seq,
            summary=f"{event.intent} was said by {body.identity or 'the bot'}, in silence",
            expected=[f"{facts.body.identity or 'the bot'}, or a fallback.identity before"],
            actual=[f"#{event.seq} {event.at:.3f}s “{body.text}” by {body.identity or 'the bot'}"],
            evidence=[facts.prepared.seq, event.seq],
            first_wrong=event.seq,
        )
