"""What the tests of binding freshness share."""

from typing import Any

from tests.support.event_stories import PLACE, Story
from tests.support.factories import direct
from trunkline.core.events.bindings import BindingBound, BindingEnded, BindingTouched, IdentityFallback
from trunkline.core.events.delivery import ChunkAcked, IntentPrepared
from trunkline.core.events.gateway import (
    InboundAdmitted,
    InboundDropped,
    InboundReceived,
    RouteDecided,
    TranscriptAppended,
    TurnStarted,
)
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, Peer, WorkKind
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import CredentialRotated, PeerSaid

ELSEWHERE = direct("200", channel="telegram")
OTHER_ACCOUNT = direct("100", channel="telegram", account="other")
HOOK = "webhook 7 as codex"


class Author(Story):
    """Writes stories of a bound conversation."""

    # ------------------------------------------------------------ what comes in

    def said(self, inbound: str = "m1", place: Address = PLACE, seen: Address | None = None, **who: Any) -> None:
        """Somebody says something, and the gateway receives it."""
        message = f"id-{inbound}"
        body = PeerSaid(address=place, peer=Peer(id="5", name="somebody"), message_id=message, text="hello", **who)
        self.tell(body, node="telegram", inbound=inbound)
        self.tell(
            InboundReceived(address=seen or place, peer=Peer(id="5"), message_id=message, text="hello"), inbound=inbound
        )

    def echoed(self, inbound: str = "m1", **where: Any) -> None:
        """The gateway's own webhook has said it."""
        self.said(inbound, bot=True, echo_of="7", **where)

    def dropped(self, reason: Reason, inbound: str = "m1") -> int:
        return self.tell(InboundDropped(reason=reason), inbound=inbound)

    def admitted(self, inbound: str = "m1", work: WorkKind = WorkKind.MESSAGE) -> int:
        body = InboundAdmitted(work=work, session_id="s", session_key="k")
        return self.tell(body, inbound=inbound)

    def routed(self, inbound: str = "m1", binding: str | None = "b1") -> int:
        body = RouteDecided(
            agent="main",
            matched_by="binding.session",
            binding=None,
            candidates=(),
            session_key="k",
            reply_to=PLACE,
            reply_reason=Reason.REPLY_TO_ORIGIN,
        )
        return self.tell(body, inbound=inbound, binding=binding)

    def line(self, inbound: str = "m1") -> int:
        body = TranscriptAppended(session_id="s", session_key="k", role="user", text="hello")
        return self.tell(body, inbound=inbound)

    def turn(self, inbound: str = "m1") -> int:
        body = TurnStarted(agent="main", session_id="s", session_key="k", work=WorkKind.MESSAGE, origin=PLACE)
        return self.tell(body, inbound=inbound, turn=f"t-{inbound}")

    # ------------------------------------------------------------ what is bound, and said there

    def bound(self, name: str = "b1", identity: str | None = HOOK, place: Address = PLACE) -> int:
        body = BindingBound(
            conversation=place,
            session_key="k",
            target_kind="session",
            placement="current",
            by="operator",
            expires_at=60.0,
            identity=identity,
        )
        return self.tell(body, binding=name)

    def meant(self, intent: str = "i1", identity: str | None = HOOK, binding: str | None = "b1") -> int:
        """Something is to be said by somebody."""
        body = IntentPrepared(
            intent_kind=IntentKind.REPLY,
            address=PLACE,
            targeted=False,
            text="hello",
            chunks=2,
            key=intent,
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key="k",
            identity=identity,
        )
        return self.tell(body, intent=intent, binding=binding)

    def spoken(self, identity: str | None = HOOK, intent: str = "i1", chunk: int = 0, **more: Any) -> int:
        """The platform takes it, and shows it as somebody's."""
        place = more.pop("place", PLACE)
        body = WireAccepted(
            address=place,
            requested=place,
            text="hello",
            provider_id=f"p-{intent}-{chunk}",
            key=f"{intent}/{chunk}",
            chunk=chunk,
            attempt=1,
            identity=identity,
            credential=more.pop("credential", 0),
        )
        return self.tell(body, node="telegram", intent=intent, **more)

    def instead(self, intent: str = "i1", chunk: int = 0) -> int:
        body = IdentityFallback(chunk=chunk, attempt=1, instead_of=HOOK, used="bot", reason=Reason.IDENTITY_GONE)
        return self.tell(body, intent=intent, binding="b1")

    def stored(self, intent: str = "i1", *, after: float = 0.0) -> int:
        body = ChunkAcked(chunk=0, address=PLACE, provider_id="p", reason=Reason.ACCEPTED)
        return self.tell(body, intent=intent, after=after)

    def touched(self, at: float | None = None, binding: str = "b1", *, after: float = 0.0, by: str = "outbound") -> int:
        when = self.now + after if at is None else at
        body = BindingTouched(by=by, last_activity_at=when, expires_at=when + 60)
        return self.tell(body, binding=binding, after=after)

    def over(self, binding: str = "b1") -> int:
        body = BindingEnded(conversation=PLACE, session_key="k", reason=Reason.UNBOUND)
        return self.tell(body, binding=binding)

    # ------------------------------------------------------------ tokens

    def rotated(self, number: int = 2, **fields: Any) -> int:
        fields = {"channel": "telegram", "account": "default", **fields}
        return self.tell(CredentialRotated(number=number, **fields), node="telegram")

    def turned_down(self, credential: int, *, after: float = 0.0) -> int:
        body = WireRefused(address=PLACE, reason=Reason.UNAUTHORIZED, chunk=0, attempt=1, credential=credential)
        return self.tell(body, node="telegram", intent="i1", after=after)

    @property
    def first_wrong(self) -> int | None:
        (violation,) = self.verdict.violations
        return violation.first_wrong

    @property
    def missing_after(self) -> int | None:
        """The event that nothing followed; no event is wrong then."""
        (violation,) = self.verdict.violations
        assert violation.first_wrong is None
        return violation.missing_after
