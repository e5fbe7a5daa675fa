"""What the tests of bindings share."""

from typing import Any

from tests.support.event_stories import Story
from tests.support.factories import room
from trunkline.core.events.bindings import (
    BindingBound,
    BindingEnded,
    BindingEnding,
    BindingRefused,
    BindingTouched,
    RouterDecided,
)
from trunkline.core.events.delivery import IntentPrepared, MirrorAppended
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, RouteDecided
from trunkline.core.events.hands import CompletionPlanned, CompletionStep
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentKind, IntentState, Peer, WorkKind
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import ThreadOpened, WorldPlace

ROOM = room("500")
THREAD = room("600", parent="500")
OTHER = room("700")


#: the session of the bound work, and the one that the thread has without a binding
WORK, DEFAULT = "main:subagent:m1.hand1", "main:discord:default:channel:600"


HAND: dict[str, Any] = {"delegation": "m1.hand1"}


class Author(Story):
    """Stories of one conversation and whatever is bound there."""

    said = 0

    def bound(
        self, place: Address = THREAD, key: str = WORK, binding: str = "b1", until: float | None = None, **ids: Any
    ) -> int:
        body = BindingBound(
            conversation=place, session_key=key, target_kind="subagent", placement="child", by="spawn", expires_at=until
        )
        return self.tell(body, binding=binding, **(ids or HAND))

    def ending(self, binding: str = "b1", place: Address = THREAD) -> int:
        body = BindingEnding(conversation=place, session_key=WORK, reason=Reason.UNBOUND, under_way=1)
        return self.tell(body, binding=binding)

    def over(self, binding: str = "b1", place: Address = THREAD) -> int:
        return self.tell(BindingEnded(conversation=place, session_key=WORK, reason=Reason.UNBOUND), binding=binding)

    def touched(self, until: float, binding: str = "b1") -> int:
        return self.tell(BindingTouched(by="inbound", last_activity_at=self.now, expires_at=until), binding=binding)

    def received(self, place: Address = THREAD, inbound: str = "") -> str:
        self.said += 1
        inbound = inbound or f"i{self.said}"
        body = InboundReceived(address=place, peer=Peer(id="100"), message_id=inbound, text="hello")
        self.tell(body, inbound=inbound)
        return inbound

    def routed(self, key: str, place: Address = THREAD, binding: str | None = None, after: float = 0.0) -> int:
        """Something is said, and goes to a session."""
        self.now += after
        inbound = self.received(place)
        body = RouteDecided(
            agent="main",
            session_key=key,
            matched_by="default" if binding is None else "binding.session",
            binding=binding,
            candidates=(),
            reply_to=place,
            reply_reason=Reason.REPLY_TO_ORIGIN,
        )
        return self.tell(body, inbound=inbound, binding=binding)

    def chosen(self, mode: str = "bound", binding: str | None = "b1", after: float = 0.0) -> int:
        """The router has decided of a completion."""
        body = RouterDecided(
            event_kind="task_completion",
            target_session_key=WORK,
            requester=ROOM,
            fail_closed=True,
            mode=mode,
            reason=Reason.REQUESTER_MATCH,
        )
        return self.tell(body, after=after, binding=binding, **HAND)

    def opened(self, name: str = "ops/m1.hand1", on_message: str | None = None, place: Address = THREAD) -> int:
        self.tell(WorldPlace(address=place, name=name, under="ops"), node="discord")
        return self.tell(ThreadOpened(address=place, name="codex", on_message=on_message), node="discord")

    def refused_binding(self, key: str = WORK) -> int:
        body = BindingRefused(
            verb="bind",
            conversation=str(ROOM),
            session_key=key,
            reason=Reason.BINDING_CREATE_FAILED,
            detail="no",
            by="spawn",
        )
        return self.tell(body)

    # ------------------------------------------------------------ completions

    def asked(self, place: Address = ROOM) -> None:
        """The work was asked for here, and is done."""
        self.received(place, "m1")
        planned = CompletionPlanned(
            steps=(CompletionStep(mode="turn", reason=Reason.BOUND_DESTINATION, address=THREAD),), requester_busy=False
        )
        self.tell(planned, inbound="m1", **HAND)

    def told(
        self,
        place: Address,
        kind: IntentKind = IntentKind.REPLY,
        intent: str = "d1.reply",
        seen: Address | None = None,
        **ids: Any,
    ) -> int:
        """A text because of it."""
        body = IntentPrepared(
            intent_kind=kind,
            address=place,
            targeted=False,
            text="42",
            chunks=1,
            key=intent,
            reason=Reason.BOUND_DESTINATION,
            mirror_key=WORK,
        )
        self.tell(body, **{"intent": intent, "inbound": "m1", **HAND, **ids})
        accepted = WireAccepted(
            address=seen or place, requested=place, text="42", provider_id=f"p-{intent}", key=intent, chunk=0, attempt=1
        )
        return self.tell(accepted, node="discord", intent=intent)

    def remembered(self, key: str, intent: str = "d1.reply") -> int:
        body = MirrorAppended(session_id=f"s-{key}", session_key=key, text="42")
        self.tell(body, intent=intent)
        return self.settled(IntentState.DELIVERED, intent)

    def admitted(self, key: str, inbound: str) -> int:
        body = InboundAdmitted(work=WorkKind.MESSAGE, session_id=f"s-{key}", session_key=key)
        return self.tell(body, inbound=inbound)

    @property
    def first_wrong(self) -> int | None:
        (violation,) = self.verdict.violations
        return violation.first_wrong
